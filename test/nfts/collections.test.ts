import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { type Address, getAddress, parseAbi } from 'viem'
import { createProject } from '../../src/operators/projects.ts'
import { startKubo } from '../metadata/kubo.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { isLong, longTest } from '../support/long.ts'
import { countRows } from '../support/rows.ts'
import { type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startWorkerHere } from '../support/worker-here.ts'

/** How many transactions the API had open at each request to pin. */
const openTransactions: number[] = []
const countOpenTransactions = async (): Promise<number> => {
  const sql = postgres(service.database.url, { max: 1 })
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and usename = 'strongroom_test_api' and state like 'idle in transaction%'`
  await sql.end()
  return row?.n ?? -1
}

const chain = await shared(startChain('Ethereum'))
const kubo = startKubo({ whileAdding: async () => void openTransactions.push(await countOpenTransactions()) })
afterTests(() => kubo.stop())
const service = await shared(
  startService({ rpcUrls: { Ethereum: chain.rpcUrl }, variables: { IPFS_API_URL: kubo.url } }),
)
await shared(startWorkerHere(service))

const ABI = parseAbi([
  'function contractURI() view returns (string)',
  'function tokenURI(uint256 tokenId) view returns (string)',
  'function balanceOf(address account, uint256 id) view returns (uint256)',
])
const SECRET = { developer_secret: 'testnet-secret' }
const DOOR = { name: 'Door #1', description: 'A red door.', image: 'https://example.com/d1.png' }

const pinnedAt = (uri: string): unknown => JSON.parse(kubo.pins.get(uri.replace(/^ipfs:\/\//, '')) ?? 'null')

const newFundedWallet = async (): Promise<Address> => {
  const { address } = await service.newWallet({ network: 'Ethereum' })
  await chain.fund(address)
  return address
}

const collections = (wallet: string) =>
  service.get('/nfts/collections', { network: 'Ethereum', wallet_address: wallet })
const at = (query: Record<string, string>, who: Pick<Service, 'get'> = service) =>
  who.get('/nfts/collection-by-address', query)

test('a collection is listed for the wallet that created it, and found by its address', async () => {
  const address = await newFundedWallet()
  expect((await collections(address)).json).toEqual([])
  const wanted = { network: 'Ethereum', name: 'Doors', symbol: 'DOOR', image_url: 'https://example.com/d.png' }
  const made = await service.post('/nfts/collections', { ...wanted, from: address, ...SECRET })
  const settled = await service.settled(made.json.transaction_id)
  expect(settled.json.status).toBe('success')
  const contract_address = settled.json.contract_address
  expect((await collections(address.toLowerCase())).json).toEqual([{ ...wanted, contract_address }])
  expect((await at({ contract_address })).json).toEqual({ ...wanted, contract_address })
  expect((await at({ contract_address, network: 'Ethereum' })).json).toEqual({ ...wanted, contract_address })

  // For another project it is any other collection of the chain.
  const stranger = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
  expect((await at({ contract_address }, stranger)).status).toBe(404)
  const seen = await at({ contract_address, network: 'Ethereum' }, stranger)
  expect(seen.json).toEqual({ ...wanted, contract_address })
  const foreign = await stranger.get('/nfts/collections', { network: 'Ethereum', wallet_address: address })
  expect(foreign.json.code).toBe('wallet_forbidden')
}, 60_000)

test('an address without a collection is not found', async () => {
  const contract_address = fundedAccount(1).address
  for (const query of [{ contract_address }, { contract_address, network: 'Ethereum' }]) {
    const { status, json } = await at(query)
    expect({ status, code: json.code }).toEqual({ status: 404, code: 'not_found' })
  }
  expect((await at({ contract_address: '0x12' })).json.code).toBe('address_invalid')
  expect((await at({ contract_address, network: 'Vara' })).status).toBe(501)
})

/** Of the tables that a request for an NFT or a collection writes. */
const rows = async () => {
  const counts = await countRows(service.database.url)
  const kept = ['transactions', 'ladders', 'collections', 'metadata_documents', 'idempotency_keys']
  return kept.map((name) => counts[`public.${name}`])
}

test('nothing is recorded of a collection whose metadata cannot be pinned', async () => {
  const from = await newFundedWallet()
  kubo.moods.now = 'failing'
  const before = await rows()
  expect(before.every((count) => count !== undefined)).toBe(true)
  const named = { network: 'Ethereum', from, name: 'Never', symbol: 'NEV', image_url: DOOR.image, ...SECRET }
  const { status, json } = await service.post('/nfts/collections', named)
  expect([status, json.code]).toEqual([503, 'unavailable'])
  expect(await rows()).toEqual(before)
  kubo.moods.now = 'well'
})

longTest(
  'metadata is pinned before anything is recorded, and has its CID as URI',
  async () => {
    const from = await newFundedWallet()
    const named = { network: 'Ethereum', from, name: 'Pinned', symbol: 'PIN', image_url: DOOR.image, ...SECRET }
    openTransactions.length = 0
    const made = await service.settled((await service.post('/nfts/collections', named)).json.transaction_id)
    const { contract_address } = made.json
    const mint = { network: 'Ethereum', from, contract_address, metadata: DOOR, ...SECRET }
    const minted = await service.settled(
      (await service.post('/nfts/mint', mint, { 'idempotency-key': 'pinned' })).json.transaction_id,
    )
    expect(minted.json.status).toBe('success')
    expect(openTransactions).toEqual([0, 0])

    const contract = { address: contract_address, abi: ABI }
    const about = await chain.publicClient.readContract({ ...contract, functionName: 'contractURI' })
    expect(pinnedAt(about)).toEqual({ name: 'Pinned', description: '', image: DOOR.image })
    const uri = await chain.publicClient.readContract({ ...contract, functionName: 'tokenURI', args: [1n] })
    expect(pinnedAt(uri)).toEqual(DOOR)
    const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(DOOR)).digest('hex')
    expect((await service.get(`/metadata/${digest}.json`)).json).toEqual(DOOR)
    const head = await service.call(`/metadata/${digest}.json`, { method: 'HEAD' })
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', `"${digest}"`])

    // A request that fails, or that gives its own URI, pins nothing.
    kubo.asked.length = 0
    const answers = [
      await service.post('/nfts/mint', { ...mint, developer_secret: 'wrong-secret' }),
      await service.post('/nfts/mint', { ...mint, contract_address: (await chain.deploy('FaucetToken')).address }),
      await service.post('/nfts/mint', { ...mint, metadata: undefined, uri: 'ipfs://x' }),
    ]
    expect(answers.map(({ json }) => json.code ?? json.status)).toEqual([
      'INVALID_SECRET',
      'mint_unsupported',
      'submitted',
    ])
    expect(kubo.asked).toEqual([])

    kubo.moods.now = 'failing'
    const before = await rows()
    expect(before.every((count) => count !== undefined)).toBe(true)
    const metadata = { ...DOOR, name: 'Door #2' }
    for (const [path, body] of [
      ['/nfts/mint', { ...mint, metadata }],
      ['/nfts/collections', { ...named, name: 'Never' }],
    ] as const) {
      const { status, json } = await service.post(path, body, { 'idempotency-key': `pin ${path}` })
      expect({ status, json }).toEqual({ status: 503, json: { error: expect.any(String), code: 'unavailable' } })
      expect(json.error).toBe('The metadata was not pinned, and nothing was recorded: the IPFS node answered HTTP 500.')
    }
    expect(await rows()).toEqual(before)
    kubo.moods.now = 'well'
    const again = await service.post('/nfts/mint', { ...mint, metadata }, { 'idempotency-key': 'pin /nfts/mint' })
    expect(again.json.status).toBe('submitted')
  },
  60_000,
)

test('a collection that was not created here is described by its own URI, and nothing is fetched', async () => {
  let requests = 0
  const trap = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => {
      requests += 1
      return Response.json(DOOR)
    },
  })
  const carried = `data:application/json,${encodeURIComponent(JSON.stringify(DOOR))}`
  for (const [uri, image_url] of [
    [carried, DOOR.image],
    [`http://127.0.0.1:${trap.port}/c.json`, ''],
    ...(isLong ? [['', ''] as const] : []),
  ] as const) {
    const contract_address = getAddress((await chain.deploy('PaidCollection', [uri])).address)
    const { json } = await at({ contract_address, network: 'Ethereum' })
    const name = image_url === '' ? '' : DOOR.name
    expect(json).toEqual({ network: 'Ethereum', contract_address, name, symbol: '', image_url })
    const refused = await service.post('/nfts/mint', { network: 'Ethereum', contract_address, ...SECRET })
    expect([refused.status, refused.json.code]).toEqual([400, 'mint_requires_value'])
  }
  await trap.stop(true)
  expect(requests).toBe(0)
})

longTest(
  'several pieces of an ERC-1155 token can be moved at once, but only one of an ERC-721 token',
  async () => {
    const [from, recipient] = [await newFundedWallet(), fundedAccount(1).address]
    const owner = fundedAccount(0).address
    const multi = await chain.deploy('MultiToken', ['', owner])
    await chain.write({ contract: multi, functionName: 'mint', args: [from, 7n, 5n, '0x'] })
    const transfer = { network: 'Ethereum', from, recipient, contract_address: multi.address, token_id: '7', ...SECRET }
    const held = (account: Address) =>
      chain.publicClient.readContract({
        address: multi.address,
        abi: ABI,
        functionName: 'balanceOf',
        args: [account, 7n],
      })
    for (const [amount, left] of [
      ['3', 2n],
      [undefined, 1n],
    ] as const) {
      const moved = await service.post('/nfts/transfer', { ...transfer, amount })
      expect((await service.settled(moved.json.transaction_id)).json.status).toBe('success')
      expect(await held(from)).toBe(left)
    }
    expect((await service.post('/nfts/transfer', { ...transfer, amount: '2' })).json.code).toBe('execution_reverted')

    const wizard = await chain.deploy('WizardCollection', ['Doors', 'DOOR', owner])
    await chain.write({ contract: wizard, functionName: 'safeMint', args: [from, ''] })
    const one = { ...transfer, contract_address: wizard.address, token_id: '0' }
    for (const amount of ['2', '0', '00', '-1', '1.0', '0x2', '1e1', '', ` ${1}`, String(2n ** 256n), 1]) {
      const { status, json } = await service.post('/nfts/transfer', { ...one, amount })
      expect({ amount, status, code: json.code }).toEqual({ amount, status: 400, code: 'invalid_input' })
      expect(json.error).toContain('"amount"')
    }
    const moved = await service.post('/nfts/transfer', { ...one, amount: '01' })
    expect(moved.json.status).toBe('submitted')
  },
  60_000,
)

longTest(
  'a network whose collections are not created here is refused before its node is asked',
  async () => {
    // Nothing listens at this port.
    const vara = await startService({ rpcUrls: { Vara: 'http://127.0.0.1:9' } })
    try {
      const wanted = { network: 'Vara', name: 'Doors', symbol: 'DOOR', image_url: 'https://example.com/d.png' }
      const refused = await vara.post('/nfts/collections', { ...wanted, ...SECRET })
      const error = 'Collections of Vara are not created here. Use one that exists.'
      expect([refused.status, refused.json]).toEqual([501, { error, code: 'not_implemented' }])
    } finally {
      await vara.close()
    }
  },
  30_000,
)
