// Several NFTs in one transaction, and collections with a royalty or of soulbound NFTs, through the API and a worker.

import { expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, parseAbi, parseEther } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { type Kubo, startKubo } from '../metadata/kubo.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { isLong, longTest } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { startWorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = { developer_secret: 'testnet-secret' }
const RECIPIENT = fundedAccount(5).address
const ABI = parseAbi([
  'function ownerOf(uint256 tokenId) view returns (address)',
  'function tokenURI(uint256 tokenId) view returns (string)',
  'function totalMinted() view returns (uint256)',
  'function royaltyInfo(uint256 tokenId, uint256 salePrice) view returns (address, uint256)',
])

const door = (index: number) => ({
  name: `Door #${index}`,
  description: 'A red door.',
  image: `https://example.com/${index}.png`,
})

const succeeded = async (answer: Answer, on: Pick<Service, 'settled'> = service) => {
  if (answer.json?.status !== 'submitted') throw new Error(`not submitted: ${answer.text}`)
  const { json } = await on.settled(answer.json.transaction_id)
  if (json.status !== 'success') throw new Error(`not successful: ${JSON.stringify(json)}`)
  return json
}

const create = (body: object, on: Pick<Service, 'post'> = service) =>
  on.post('/nfts/collections', { network, name: 'D', symbol: 'D', image_url: 'ipfs://d', ...SECRET, ...body })
const batch = (body: object, on: Pick<Service, 'post'> = service) =>
  on.post('/nfts/batch-mint', { network, ...SECRET, ...body })

const newWallet = async (type: 'eoa' | 'contract' = 'eoa', on: Pick<Service, 'post'> = service): Promise<Address> => {
  const body = { network, name: 'A wallet', type, control_mode: 'developer', ...SECRET }
  const { address } = (await on.post('/wallets', body)).json
  await chain.fund(address)
  if (type === 'eoa') return address
  const poor = { network, signer_wallet_address: address, unsigned_transaction: { to: address, value: '0' }, ...SECRET }
  const { json } = await on.post('/transactions/sign-and-send', poor)
  await chain.fund(/^0x[0-9a-fA-F]{40}/.exec(json.error)?.[0] as Address, parseEther('1'))
  return address
}

const chain = await shared(startChain(network, { flags: ['--slots-in-an-epoch', '1'] }))
await deployCanonicalContracts(chain.rpcUrl)
const service = await shared(startService({ rpcUrls: { [network]: chain.rpcUrl } }))
await shared(startWorkerHere(service))
const owner = await newWallet()
const collection = (await succeeded(await create({ from: owner }))).contract_address

const read = (functionName: 'ownerOf' | 'tokenURI', id: bigint, address = collection) =>
  chain.publicClient.readContract({ address, abi: ABI, functionName, args: [id] })
const totalMinted = () =>
  chain.publicClient.readContract({ address: collection, abi: ABI, functionName: 'totalMinted' })

type Held = { readonly token_id: string; readonly metadata: unknown }

/** The NFTs of a wallet, once the indexer has seen so many. */
const heldBy = async (wallet: string, count: number, on: Pick<Service, 'get'> = service): Promise<readonly Held[]> => {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(50)) {
    const { json } = await on.get('/nfts', { network, wallet_address: wallet, page_size: '100' })
    if (json.length >= count) return json
  }
  throw new Error('the NFTs were not listed')
}

test('each NFT has its recipient and its metadata, and lists show them', async () => {
  const mints = [{ metadata: door(1) }, { recipient: RECIPIENT, metadata: door(2) }, { metadata: door(1) }, {}]
  const minted = await succeeded(await batch({ from: owner, contract_address: collection, mints }))
  expect(minted.contract_address).toBeNull()
  expect(await Promise.all([1n, 2n, 3n, 4n].map((id) => read('ownerOf', id)))).toEqual([owner, RECIPIENT, owner, owner])
  const uri = await read('tokenURI', 2n)
  expect(uri).toMatch(/^http:\/\/localhost:3000\/metadata\/[0-9a-f]{64}\.json$/)
  expect((await service.get(uri.replace('http://localhost:3000', ''))).json).toEqual(door(2))
  expect(await read('tokenURI', 4n)).toBe('')
  const held = await heldBy(owner, 3)
  expect(held.map(({ token_id, metadata }) => [token_id, metadata])).toEqual([
    ['1', door(1)],
    ['3', door(1)],
    ['4', null],
  ])
}, 60_000)

const MANY = isLong ? 200 : 20

test(`${MANY} NFTs are one transaction, previewed as what it does`, async () => {
  const before = await totalMinted()
  const mints = Array.from({ length: MANY }, (_, index) => ({ metadata: door(index) }))
  const { transaction_hash } = await succeeded(await batch({ from: owner, contract_address: collection, mints }))
  expect((await totalMinted()) - before).toBe(BigInt(MANY))
  const { input } = await chain.publicClient.getTransaction({ hash: transaction_hash })
  const asked = { network, from: owner, unsigned_transaction: { to: collection, input } }
  const { json } = await service.post('/transactions/preview', asked)
  expect([json.function_name, json.simulation.success]).toEqual(['safeMintBatch', true])
  expect(json.simulation.asset_changes).toHaveLength(MANY)
  expect(json.simulation.asset_changes[0]).toMatchObject({ to: owner, nft: { contract_address: collection } })
}, 120_000)

longTest(
  'a contract wallet mints in its own collection',
  async () => {
    const safe = await newWallet('contract')
    const its = (await succeeded(await create({ from: safe }))).contract_address
    const mints = [{ recipient: RECIPIENT, metadata: door(1) }, { recipient: RECIPIENT }]
    await succeeded(await batch({ from: safe, contract_address: its, mints }))
    expect([await read('ownerOf', 1n, its), await read('ownerOf', 2n, its)]).toEqual([RECIPIENT, RECIPIENT])
  },
  60_000,
)

test('all or nothing: nothing is minted or recorded if one mint fails, or for somebody else', async () => {
  const before = await totalMinted()
  const refuser = (await chain.deploy('Refuser')).address
  const some = { contract_address: collection, mints: [{ metadata: door(900) }, { recipient: refuser }] }
  expect((await batch({ ...some, from: owner })).json.code).toBe('mint_unsupported')
  const other = await newWallet()
  expect((await batch({ ...some, from: other, mints: [{}] })).json.code).toBe('mint_unauthorized')
  const foreign = await chain.deploy('WizardCollection', ['Doors', 'DOOR', owner])
  expect((await batch({ from: owner, contract_address: foreign.address, mints: [{}] })).json.code).toBe(
    'batch_unsupported',
  )
  expect((await batch({ from: owner, contract_address: RECIPIENT, mints: [{}] })).json.code).toBe('batch_unsupported')
  expect(await totalMinted()).toBe(before)
})

test('bad fields are refused with their name', async () => {
  const good = { from: owner, contract_address: collection }
  for (const [mints, field] of [
    [[], 'mints'],
    [Array.from({ length: 201 }, () => ({})), 'mints'],
    ['all', 'mints'],
    [undefined, 'mints'],
    [[{}, { uri: 'ipfs://x' }], 'mints.1.uri'],
    [[{ metadata: { name: 'x' } }], 'mints.0.metadata.description'],
    [[{}, { metadata: { ...door(1), image: 'http://example.com/x.png' } }], 'mints.1.metadata.image'],
  ] as const) {
    const { status, json } = await batch({ ...good, mints })
    expect([status, json.code, json.error]).toEqual([400, 'invalid_input', expect.stringContaining(`"${field}"`)])
  }
  const wrong = await batch({ ...good, mints: [{}, { recipient: '0x12' }] })
  expect([wrong.json.code, wrong.json.error]).toEqual(['address_invalid', expect.stringContaining('mints.1.recipient')])
  for (const [body, field] of [
    ...[0, 10_001, 2.5, '250', -1].map((value) => [{ royalty_basis_points: value }, 'royalty_basis_points'] as const),
    [{ royalty_recipient: RECIPIENT }, 'royalty_basis_points'],
    ...['true', 1, 'yes'].map((value) => [{ soulbound: value }, 'soulbound'] as const),
  ] as const) {
    const { status, json } = await create({ from: owner, ...body })
    expect([status, json.code, json.error]).toEqual([400, 'invalid_input', expect.stringContaining(`"${field}"`)])
  }
  const royalty_recipient = '0x12'
  expect((await create({ from: owner, royalty_basis_points: 1, royalty_recipient })).json.code).toBe('address_invalid')
})

longTest(
  'a collection has its royalty from the beginning',
  async () => {
    const royaltyOf = async (body: object) => {
      const { contract_address: address } = await succeeded(await create({ from: owner, ...body }))
      const asked = { address, abi: ABI, functionName: 'royaltyInfo', args: [1n, 10_000n] } as const
      return chain.publicClient.readContract(asked)
    }
    expect(await royaltyOf({ royalty_basis_points: 250 })).toEqual([owner, 250n])
    expect(await royaltyOf({ royalty_basis_points: 10_000, royalty_recipient: RECIPIENT })).toEqual([
      RECIPIENT,
      10_000n,
    ])
  },
  60_000,
)

longTest(
  'an NFT of a soulbound collection is minted, and cannot be moved',
  async () => {
    const { contract_address } = await succeeded(await create({ from: owner, soulbound: true }))
    await succeeded(await batch({ from: owner, contract_address, mints: [{}, { recipient: RECIPIENT }] }))
    const body = { network, from: owner, contract_address, recipient: RECIPIENT, token_id: '1', ...SECRET }
    const { status, json } = await service.post('/nfts/transfer', body)
    expect([status, json]).toEqual([400, { code: 'execution_reverted', error: 'execution reverted: Soulbound()' }])
  },
  60_000,
)

longTest(
  'pinned metadata is listed by the URI that the contract writes',
  async () => {
    const kubo: Kubo = startKubo()
    const pinning = await startService({ rpcUrls: { [network]: chain.rpcUrl }, variables: { IPFS_API_URL: kubo.url } })
    const its = await startWorkerHere(pinning)
    try {
      const from = await newWallet('eoa', pinning)
      const made = await succeeded(await create({ from }, pinning), pinning)
      const mints = [{ metadata: door(1) }, { metadata: door(2) }, { metadata: door(1) }]
      const body = { from, contract_address: made.contract_address, mints }
      const asked = kubo.asked.length
      await succeeded(await batch(body, pinning), pinning)
      expect(kubo.asked.length - asked).toBe(2)
      expect(await read('tokenURI', 1n, made.contract_address)).toMatch(/^ipfs:\/\/f01551220[0-9a-f]{64}$/)
      const held = await heldBy(from, 3, pinning)
      expect(held.map(({ metadata }) => metadata)).toEqual([door(1), door(2), door(1)])
    } finally {
      await its.stop()
      await pinning.close()
      await kubo.stop()
    }
  },
  60_000,
)
