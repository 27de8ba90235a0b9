// Activity of wallets on a Substrate network, from the block to the HTTP answer.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { Keyring } from '@polkadot/keyring'
import { generateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { writeFacts } from '../../db/queries/facts.ts'
import { createTasks, startBackfills } from '../../jobs/tasks/index.ts'
import { backfillStep } from '../../src/assets/activity/backfill.ts'
import { indexStep } from '../../src/assets/activity/index-blocks.ts'
import { type Chain, type Hex, RangeTooWide } from '../../src/chains/chain.ts'
import { readRuntime } from '../../src/chains/substrate/runtime.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { substrateNetworkRow } from '../../src/platform/networks.ts'
import { trackStep } from '../../src/signing/transactions/track.ts'
import { bytesToSign } from '../../src/vault/rooms/keys/payloads.ts'
import { startFakeNode } from '../chains/evm/fake-node.ts'
import { longTest } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'
import type { WorkerCtx } from '../support/worker-here.ts'

const NETWORK = 'Polkadot'
const UNIT = 10n ** 10n
const developer = { control_mode: 'developer', developer_secret: 'testnet-secret' }

const local = await shared(startSubstrateChain(NETWORK))
const alice = await devAccount('Alice')
await local.fund(alice.address)
await local.newBlock()
const service = await shared(startService({ variables: { POLKADOT_RPC_URL: local.wsUrl } }))
const rights = { VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl }
const worker = await createWorkerCtx({ config: readConfig({ ...service.variables, ...rights }), process: 'test' })
afterTests(() => worker.close({ timeoutSeconds: 2 }))
const chain = worker.chains.withNode(NETWORK)
const metadata = (await local.rpc('state_getMetadata')) as Hex
const runtime = readRuntime(
  { specName: 'statemine', specVersion: 900, transactionVersion: 1 },
  { metadata, ss58Prefix: 0 },
)
const { sql } = service.database

/** Sends a call signed by Alice and waits until it is in a block. @returns the extrinsic's hash */
const send = async (...calls: readonly [pallet: string, name: string, ...values: unknown[]][]): Promise<Hex> => {
  const made = calls.map(([pallet, name, ...values]) => runtime.calls[pallet]?.[name]?.(...values))
  const input = runtime.calls.utility?.batchAll?.(made).toHex()
  if (input === undefined) throw new Error('expected a batch')
  const intent = { to: null, value: 0n, input }
  const { unsigned } = await chain.prepare(intent, chain.addressOf(alice.publicKey), { pending: async () => [] })
  const { raw, hash } = chain.assemble(unsigned, alice.sign(bytesToSign('substrate', chain.payloadOf(unsigned))))
  expect(await chain.broadcast(raw)).toEqual({ kind: 'accepted' })
  await local.included(raw)
  return hash
}

const index = async (of = chain): Promise<void> => {
  for (let steps = 0; steps < 100; steps += 1) if ((await indexStep(worker, of)) === 'caught_up') return
  throw new Error('the indexer did not catch up')
}

const activityOf = async (address: string) => {
  const { status, json } = await service.get(`/activity?network=${NETWORK}&wallet_address=${address}`)
  expect(status).toBe(200)
  return json as readonly {
    readonly type: string
    readonly transaction_hash: string
    readonly initiated_by?: string
    readonly metadata: { readonly amount: string; readonly token_id?: string }
    readonly token: { readonly contract_address: string; readonly symbol: string; readonly decimals: number }
  }[]
}

test('lists received and sent coins, assets and NFTs', async () => {
  const { json } = await service.post('/wallets', {
    network: NETWORK,
    name: 'Ann',
    owner_id: randomUUID(),
    ...developer,
  })
  const hash = await send(
    ['balances', 'transferKeepAlive', json.address, 15n * UNIT],
    ['assets', 'create', 7, alice.address, 1],
    ['assets', 'setMetadata', 7, 'Tin', 'TIN', 2],
    ['assets', 'mint', 7, json.address, 250],
    ['uniques', 'create', 3, alice.address],
    ['uniques', 'mint', 3, 9, json.address],
    ['uniques', 'burn', 3, 9, null],
  )
  await index()
  const items = await activityOf(json.address)
  expect(items.every(({ transaction_hash }) => transaction_hash === hash)).toBe(true)
  expect(new Set(items.map(({ initiated_by }) => initiated_by))).toEqual(
    new Set([new Keyring({ ss58Format: 0 }).encodeAddress(alice.publicKey)]),
  )
  expect(items.map(({ type, metadata, token }) => [type, metadata, token.contract_address, token.symbol])).toEqual([
    ['send_nft', { amount: '1', token_id: '9' }, '3', ''],
    ['receive_nft', { amount: '1', token_id: '9' }, '3', ''],
    ['receive_token', { amount: '2.5' }, 'asset:7', 'TIN'],
    ['receive_token', { amount: '15' }, 'DOT', 'DOT'],
  ])
  const [item] = await service
    .get(`/activity?network=${NETWORK}&wallet_address=${json.address}&page=2&page_size=3`)
    .then((answer) => answer.json)
  expect(item.token.decimals).toBe(10)
})

longTest('keeps and lists a foreign asset, however long its Location is', async () => {
  const wallet = { network: NETWORK, name: 'Eve', owner_id: randomUUID(), ...developer }
  const { address } = (await service.post('/wallets', wallet)).json
  // Eight junctions of the longest kind: AccountId32 with a network identified by its fork.
  const contract = `foreign:0x${randomBytes(2 + 8 * 75).toString('hex')}`
  const ether = { standard: 'erc20', name: 'Ether', symbol: 'ETH', decimals: 18 } as const
  await writeFacts(worker.db, [{ network: NETWORK, address: contract, ...ether, mac: null }])
  const { number } = (await chain.head()).latest
  await local.newBlock()
  const moved = {
    standard: 'erc20',
    contract,
    tokenId: null,
    from: substrateNetworkRow({ network: NETWORK, environment: 'testnet', devnet: true }).nobody,
    to: address,
  } as const
  const place = { amount: 5n * 10n ** 17n, logIndex: 1_000, itemIndex: 0, initiatedBy: null }
  await index({
    ...chain,
    movements: async (range) =>
      (await chain.movements(range))?.map((block) =>
        block.number <= number ? block : { ...block, movements: [{ ...moved, ...place, transactionHash: block.hash }] },
      ) ?? null,
  })
  const items = (await activityOf(address)).map(({ type, metadata, token }) => [type, metadata, token])
  const token = { contract_address: contract, symbol: 'ETH', decimals: 18 }
  expect(items).toEqual([['receive_token', { amount: '0.5' }, expect.objectContaining(token)]])
  const [coin, ...more] = (await service.get('/tokens/balances', { network: NETWORK, wallet_address: address })).json
  expect([coin.symbol, more]).toEqual(['DOT', []])
})

longTest(
  'reads all past blocks for an imported key, and says how far it is',
  async () => {
    const phrase = generateMnemonic(wordlist)
    const imported = { network: NETWORK, name: 'Old', owner_id: randomUUID(), mnemonic_phrase: phrase, ...developer }
    const address = chain.addressOf(new Keyring({ type: 'sr25519' }).addFromMnemonic(phrase).publicKey)
    const place = { network: NETWORK, address } as const
    const hash = await send(['balances', 'transferKeepAlive', address, 4n * UNIT])
    await local.newBlock(2)
    await index()
    expect((await service.post('/wallets/import', imported)).json.address).toBe(address)
    expect(await activityOf(address)).toEqual([])
    /** Small, so that it takes more than one step. */
    const narrow: Chain = {
      ...chain,
      movements: async (range) => {
        if (range.toBlock > range.fromBlock + 1n) throw new RangeTooWide('two blocks at most')
        return chain.movements(range)
      },
    }
    const progress = () => sql`
    select from_block, reached_block, coins_reached_block, traced_reached_block, state
    from strongroom_views.backfills where address = ${address}`
    for (let steps = 0; steps < 10 && (await progress())[0]?.coins_reached_block == null; steps += 1) {
      expect(await backfillStep(worker, { chain: narrow, address })).toBe('advanced')
    }
    const [half] = await progress()
    expect(half).toMatchObject({ state: 'walking', coins_reached_block: half?.reached_block })
    expect(Number(half?.reached_block)).toBeGreaterThan(0)
    const task = createTasks(worker).backfill_wallet
    await task(place, {} as Parameters<typeof task>[1])
    expect(await progress()).toMatchObject([
      { state: 'done', reached_block: '0', coins_reached_block: '0', traced_reached_block: '0' },
    ])
    expect(await activityOf(address)).toMatchObject([
      { type: 'receive_token', transaction_hash: hash, metadata: { amount: '4' } },
    ])
  },
  30_000,
)

test('activity of a new key on a network without a node is read once there is a node', async () => {
  const { json } = await service.post('/wallets', {
    network: 'Vara',
    name: 'Vic',
    owner_id: randomUUID(),
    ...developer,
  })
  const place = { network: 'Vara', address: json.address } as const
  const rows = () =>
    sql`select key_made_at is not null as since, begun_at from backfills where address = ${json.address}`
  expect(await rows()).toMatchObject([{ since: true, begun_at: null }])
  const task = createTasks(worker).backfill_wallet
  await task(place, {} as Parameters<typeof task>[1])
  const key = `backfill:Vara:${json.address}`
  await sql`delete from graphile_worker._private_jobs where key = ${key}`
  await startBackfills(worker)
  expect([...(await sql`select from graphile_worker.jobs where key = ${key}`)]).toEqual([])
  expect(await rows()).toMatchObject([{ begun_at: null }])
})

describe('blocks that a node has pruned', () => {
  /** By number and by hash. */
  const gone = new Set<unknown>()
  let node: ReturnType<typeof startFakeNode>
  let pruned: WorkerCtx
  let there: Chain

  beforeAll(async () => {
    node = startFakeNode({
      behind: local.rpcUrl,
      behaviour: ({ method, params }) =>
        /^chain_get(Block|BlockHash|Header)$/.test(method) && gone.has(params[0]) ? { result: null } : undefined,
    })
    const variables = { ...service.variables, VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl }
    const config = readConfig({ ...variables, POLKADOT_RPC_URL: node.rpcUrl })
    pruned = await createWorkerCtx({ config, process: 'test' })
    there = pruned.chains.withNode(NETWORK)
  })

  afterAll(async () => {
    await pruned.close({ timeoutSeconds: 2 })
    await node.stop()
  })

  const track = async (): Promise<void> => {
    for (let steps = 0; steps < 100; steps += 1) if ((await trackStep(pruned, there)) === 'caught_up') return
    throw new Error('the tracker did not catch up')
  }
  const stands = async () => {
    const [row] =
      await sql`select block_number::int as at from cursors where purpose = 'track' and network = ${NETWORK}`
    return row?.at
  }
  const lose = async (number: number) => gone.add(number).add(await local.rpc('chain_getBlockHash', [number]))
  const refusal = (number: number) => ({
    code: 'node_unavailable',
    message: expect.stringContaining(`no longer has the next block, ${number}:`),
  })

  longTest(
    'are skipped by the tracker if no waiting transaction can be in them; the indexer says what it waits for',
    async () => {
      await track()
      await index()
      const at = Number(await stands())
      await local.newBlock(3)
      await lose(at + 1)
      await lose(at + 2)
      await expect(indexStep(pruned, there)).rejects.toMatchObject(refusal(at + 1))
      await track()
      expect(await stands()).toBe(at + 3)
      gone.clear()
      for (let steps = 0; (await indexStep(pruned, there)) !== 'caught_up'; steps += 1) expect(steps).toBeLessThan(10)
    },
    30_000,
  )

  test('stop the tracker if a waiting transaction could be in them: its result is not guessed', async () => {
    const { address } = await service.newWallet({ network: NETWORK })
    const to = chain.addressOf(alice.publicKey)
    await local.fund(address)
    const { json } = await service.post('/transactions/sign-and-send', {
      ...{ network: NETWORK, signer_wallet_address: address, unsigned_transaction: { to, value: '1' } },
      developer_secret: developer.developer_secret,
    })
    const [attempt] = await sql`select raw from tests.attempts where transaction_id = ${json.transaction_id}`
    await local.rpc('author_submitExtrinsic', [attempt?.raw])
    const { number } = await local.included(attempt?.raw)
    await lose(number)
    await local.newBlock(2)
    const status = async () =>
      (await service.get('/transactions/status-by-id', { id: json.transaction_id })).json.status
    await expect(track()).rejects.toMatchObject(refusal(number))
    await expect(track()).rejects.toMatchObject(refusal(number))
    expect([await stands(), await status()]).toEqual([number - 1, 'submitted'])
    gone.clear()
    await track()
    expect(await status()).toBe('success')
    const counts = [number - 1, number].map((at) => there.transactionCountAt({ address, blockNumber: BigInt(at) }))
    expect(await Promise.all(counts)).toEqual([0, 1])
  }, 30_000)
})
