// ERC-1155 collections, through the API and a worker.

import { expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, parseAbi } from 'viem'
import { fundedAccount } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'
import type { Answer } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { startWorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = { developer_secret: 'testnet-secret' }
const RECIPIENT = fundedAccount(5).address
const PRINT = { name: 'Print', description: 'Of a door.', image: 'https://example.com/p.png' }
const ABI = parseAbi(['function balanceOf(address account, uint256 id) view returns (uint256)'])

const succeeded = async (answer: Answer) => {
  if (answer.json?.status !== 'submitted') throw new Error(`not submitted: ${answer.text}`)
  const { json } = await service.settled(answer.json.transaction_id)
  if (json.status !== 'success') throw new Error(`not successful: ${JSON.stringify(json)}`)
  return json
}

const create = (body: object = {}) => {
  const wanted = { network, from: owner, standard: 'erc1155', name: 'Prints', symbol: 'PRT', image_url: 'ipfs://p' }
  return service.post('/nfts/collections', { ...wanted, ...SECRET, ...body })
}
const mint = (body: object = {}) =>
  service.post('/nfts/mint', { network, from: owner, contract_address: collection, ...SECRET, ...body })
const piecesOf = (account: Address, id: bigint, address = collection) =>
  chain.publicClient.readContract({ address, abi: ABI, functionName: 'balanceOf', args: [account, id] })

const { chain, service } = await commonWorld()
await shared(startWorkerHere(service))
const owner = (await service.newWallet({ network })).address
await chain.fund(owner)
const collection = (await succeeded(await create())).contract_address

test('pieces of a new token and of an existing one are minted, listed and moved', async () => {
  const about = await service.get('/nfts/collection-by-address', { network, contract_address: collection })
  expect(about.json).toMatchObject({ name: 'Prints', symbol: 'PRT', image_url: 'ipfs://p' })
  await succeeded(await mint({ metadata: PRINT, amount: '5' }))
  // Without pieces, it is one of a new token.
  const [, , last] = await Promise.all([
    mint({ token_id: '1', amount: '2', recipient: RECIPIENT }).then(succeeded),
    mint({ token_id: '1' }).then(succeeded),
    mint({ metadata: { ...PRINT, name: 'Other' } }).then(succeeded),
  ])
  expect([await piecesOf(owner, 1n), await piecesOf(RECIPIENT, 1n)]).toEqual([6n, 2n])
  expect(await piecesOf(owner, 2n)).toBe(1n)

  for (let listed = 0; listed < 2; await sleep(50)) {
    const { json } = await service.get('/nfts', { network, wallet_address: owner })
    listed = json.length
    if (listed < 2) continue
    type Held = { readonly token_id: string; readonly metadata: { readonly name: string } }
    expect(json.map(({ token_id, metadata }: Held) => [token_id, metadata.name])).toEqual([
      ['1', 'Print'],
      ['2', 'Other'],
    ])
  }
  const { json: items } = await service.get('/activity', { network, wallet_address: owner })
  type Item = { readonly transaction_hash: string; readonly type: string; readonly metadata: object }
  const own = (items as Item[]).find(({ transaction_hash }) => transaction_hash === last.transaction_hash)
  expect(own).toMatchObject({ type: 'receive_nft', metadata: { amount: '1', token_id: '2' } })

  const move = { network, from: owner, contract_address: collection, recipient: RECIPIENT, token_id: '1', amount: '4' }
  await succeeded(await service.post('/nfts/transfer', { ...move, ...SECRET }))
  expect([await piecesOf(owner, 1n), await piecesOf(RECIPIENT, 1n)]).toEqual([2n, 6n])
}, 60_000)

longTest(
  'pieces of a collection with the usual mint function are minted too',
  async () => {
    const multi = await chain.deploy('MultiToken', ['', owner])
    await succeeded(await mint({ contract_address: multi.address, token_id: '7', amount: '3' }))
    expect(await piecesOf(owner, 7n, multi.address)).toBe(3n)
  },
  60_000,
)

longTest(
  'a batch mints new tokens and more pieces of others, all of them or none',
  async () => {
    const { contract_address } = await succeeded(await create())
    await succeeded(await mint({ contract_address, metadata: PRINT }))
    const batch = (mints: readonly object[], body: object = {}) =>
      service.post('/nfts/batch-mint', { network, from: owner, contract_address, mints, ...SECRET, ...body })
    const other = { ...PRINT, name: 'Other' }
    const mints = [
      { metadata: other, amount: '5', recipient: RECIPIENT },
      { token_id: '1', amount: '2' },
      { token_id: '1', recipient: RECIPIENT },
      { metadata: other },
      {},
    ]
    const { transaction_hash } = await succeeded(await batch(mints))
    const held = (account: Address, id: bigint) => piecesOf(account, id, contract_address)
    expect(await Promise.all([1n, 2n, 3n, 4n].map((id) => held(owner, id)))).toEqual([3n, 0n, 1n, 1n])
    expect(await Promise.all([1n, 2n, 3n].map((id) => held(RECIPIENT, id)))).toEqual([1n, 5n, 0n])
    const { input } = await chain.publicClient.getTransaction({ hash: transaction_hash })
    const asked = { network, from: owner, unsigned_transaction: { to: contract_address, input } }
    const { json } = await service.post('/transactions/preview', asked)
    expect([json.function_name, json.simulation.asset_changes?.length]).toEqual(['mintToBatch', 5])

    type Listed = {
      readonly contract_address: string
      readonly token_id: string
      readonly metadata: { name: string } | null
    }
    for (let listed: readonly Listed[] = []; listed.length < 3; await sleep(50)) {
      const answer = await service.get('/nfts', { network, wallet_address: owner, page_size: '100' })
      listed = answer.json.filter((each: Listed) => each.contract_address === contract_address)
      if (listed.length < 3) continue
      expect(listed.map(({ token_id, metadata }) => [token_id, metadata?.name])).toEqual([
        ['1', 'Print'],
        ['3', 'Other'],
        ['4', undefined],
      ])
    }

    expect((await batch([{}, { token_id: '9' }])).json.code).toBe('mint_unsupported')
    const single = (await succeeded(await create({ standard: 'erc721' }))).contract_address
    const pieces = await batch([{}, { amount: '2' }], { contract_address: single })
    expect([pieces.status, pieces.json.code]).toEqual([400, 'invalid_input'])
    expect(pieces.json.error).toContain('"mints.1.token_id"')
    for (const [bad, field] of [
      [{ amount: '0' }, 'mints.1.amount'],
      [{ amount: String(2n ** 256n) }, 'mints.1.amount'],
      [{ token_id: String(2n ** 256n) }, 'mints.1.token_id'],
      [{ token_id: '1', metadata: PRINT }, 'mints.1.metadata'],
    ] as const) {
      const answer = await batch([{}, bad])
      expect([answer.status, answer.json.error]).toEqual([400, expect.stringContaining(`"${field}"`)])
    }
    expect(await held(owner, 5n).catch(() => 0n)).toBe(0n)
  },
  60_000,
)

const codeOf = async (body: object) => (await mint(body)).json.code

longTest('collections without pieces are refused', async () => {
  const single = (await succeeded(await create({ standard: 'erc721' }))).contract_address
  expect(await codeOf({ contract_address: single, amount: '2' })).toBe('mint_unsupported')
  expect(await codeOf({ contract_address: single, token_id: '1' })).toBe('mint_unsupported')
})

test('tokens that do not exist, and other minters, are refused', async () => {
  expect(await codeOf({ token_id: '99' })).toBe('mint_unsupported')
  const { address: other } = await service.newWallet({ network })
  await chain.fund(other)
  expect(await codeOf({ from: other, amount: '2' })).toBe('mint_unauthorized')
}, 60_000)

test('bad fields are refused with their name', async () => {
  for (const [body, field] of [
    ...['0', '-1', '1.5', '', ' 1', '1e3', 1, String(2n ** 256n)].map((amount) => [{ amount }, 'amount'] as const),
    ...['-1', '', 'x', 1, String(2n ** 256n)].map((token_id) => [{ token_id }, 'token_id'] as const),
    [{ token_id: '1', metadata: PRINT }, 'metadata'],
    [{ token_id: '1', uri: 'ipfs://x' }, 'uri'],
  ] as const) {
    const { status, json } = await mint(body)
    expect({ body, status, code: json.code }).toEqual({ body, status: 400, code: 'invalid_input' })
    expect(json.error).toContain(`"${field}"`)
  }
  for (const standard of ['erc20', 'ERC1155', '', 1155]) {
    const { status, json } = await create({ standard })
    expect([status, json.error]).toEqual([400, expect.stringContaining('"standard"')])
  }
})

longTest(
  'a royalty and soulbound hold for pieces too',
  async () => {
    const made = await succeeded(await create({ soulbound: true, royalty_basis_points: 250 }))
    const { contract_address } = made
    const abi = parseAbi(['function royaltyInfo(uint256 tokenId, uint256 salePrice) view returns (address, uint256)'])
    const asked = {
      address: contract_address as Address,
      abi,
      functionName: 'royaltyInfo',
      args: [1n, 10_000n],
    } as const
    expect(await chain.publicClient.readContract(asked)).toEqual([owner, 250n])
    await succeeded(await mint({ contract_address, amount: '2' }))
    const move = { network, from: owner, contract_address, recipient: RECIPIENT, token_id: '1', ...SECRET }
    const { json } = await service.post('/nfts/transfer', move)
    expect(json).toEqual({ code: 'execution_reverted', error: 'execution reverted: Soulbound()' })
  },
  60_000,
)
