// Indexing a local Asset Hub from its first block to its last, with a transfer of a wallet in every event that moves
// something; beside a bare loop that asks the node for the same things, all of them of every block, and reads none of
// them.

import postgres from 'postgres'
import { indexStep } from '../src/assets/activity/index-blocks.ts'
import type { Chain, Hex } from '../src/chains/chain.ts'
import { eventsQuestion } from '../src/chains/substrate/events.ts'
import { type Runtime, readRuntime } from '../src/chains/substrate/runtime.ts'
import { transfersOf } from '../src/chains/substrate/transfers.ts'
import { createWorkerCtx } from '../src/main/asking-contexts.ts'
import { readConfig } from '../src/platform/config.ts'
import { substrateNetworkRow } from '../src/platform/networks.ts'
import { bytesToSign } from '../src/vault/rooms/keys/payloads.ts'
import { startService } from '../test/support/service.ts'
import { devAccount, startSubstrateChain, type TestSubstrateChain } from '../test/support/substrate.ts'
import { median } from './load.ts'
import { callInBatches } from './rpc-batches.ts'

const NETWORK = 'Polkadot'
/** Not many more: the local chain answers for older ones a hundred times as slowly. */
const BLOCKS = 50
const PER_BLOCK = 40
const RUNS = 3
const STEPS_MAX = 1_000
const BATCH = { batch: 100, atOnce: 4 }
/** System.Events and Timestamp.Now. */
const KEYS = [
  '0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7',
  '0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb',
]

export type SubstrateIndexBench = {
  readonly blocks: number
  readonly perBlock: number
  readonly blocksPerSecond: number
  readonly nodeBlocksPerSecond: number
  /** For events that are there already, by one core. */
  readonly decodedBlocksPerSecond: number
}

/** @returns the chain's runtime. */
const fill = async (local: TestSubstrateChain, chain: Chain): Promise<Runtime> => {
  const [alice, bob] = [await devAccount('Alice'), await devAccount('Bob')]
  await local.fund(alice.address, 10n ** 18n)
  await local.fund(bob.address)
  await local.newBlock()
  const metadata = (await local.rpc('state_getMetadata')) as Hex
  const version = { specName: 'statemine', specVersion: 900, transactionVersion: 1 }
  const runtime = readRuntime(version, { metadata, ss58Prefix: 0 })
  const { calls } = runtime
  const transfers = Array.from({ length: PER_BLOCK }, () => calls.balances?.transferKeepAlive?.(bob.address, 1n))
  const input = calls.utility?.batchAll?.(transfers).toHex()
  if (input === undefined) throw new Error('expected a batch')
  for (let block = 0; block < BLOCKS; block += 1) {
    const intent = { to: null, value: 0n, input }
    const { unsigned } = await chain.prepare(intent, chain.addressOf(alice.publicKey), { pending: async () => [] })
    const { raw } = chain.assemble(unsigned, alice.sign(bytesToSign('substrate', chain.payloadOf(unsigned))))
    await chain.broadcast(raw)
    await local.included(raw)
  }
  return runtime
}

const DECODINGS = 300

const decodeLast = async (local: TestSubstrateChain, runtime: Runtime): Promise<number> => {
  const stored = await local.rpc('state_getStorage', [KEYS[0]])
  const row = substrateNetworkRow({ network: NETWORK, environment: 'testnet', devnet: true })
  const begun = performance.now()
  for (let time = 0; time < DECODINGS; time += 1) {
    const moved = transfersOf({ runtime, row }, eventsQuestion(runtime, '0x').parse(stored))
    if (moved.length < PER_BLOCK) throw new Error(`${moved.length} movements were decoded`)
  }
  return (DECODINGS * 1_000) / (performance.now() - begun)
}

const askBare = async (rpcUrl: string, blocks: number): Promise<number> => {
  const begun = performance.now()
  const numbers = Array.from({ length: blocks }, (_, number) => number)
  const named = numbers.map((number) => ({ method: 'chain_getBlockHash', params: [number] }))
  const hashes = await callInBatches(rpcUrl, { calls: named, ...BATCH })
  const calls = hashes.flatMap((hash) => [
    ...['chain_getHeader', 'chain_getBlock'].map((method) => ({ method, params: [hash] })),
    ...KEYS.map((key) => ({ method: 'state_getStorage', params: [key, hash] })),
  ])
  await callInBatches(rpcUrl, { calls, ...BATCH })
  return performance.now() - begun
}

export const benchSubstrateIndex = async (): Promise<SubstrateIndexBench> => {
  const local = await startSubstrateChain(NETWORK)
  const service = await startService({ variables: { POLKADOT_RPC_URL: local.wsUrl } })
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  const rights = { VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl }
  const worker = await createWorkerCtx({ config: readConfig({ ...service.variables, ...rights }), process: 'bench' })

  /** @returns milliseconds */
  const indexAll = async (): Promise<number> => {
    await sql`truncate movements, holdings, cursors, seen_blocks`
    const chain = worker.chains.withNode(NETWORK)
    const begun = performance.now()
    for (let steps = 0; (await indexStep(worker, chain)) !== 'caught_up'; steps += 1) {
      if (steps === STEPS_MAX) throw new Error(`the indexer has not caught up in ${STEPS_MAX} steps`)
    }
    const ms = performance.now() - begun
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from movements`
    if (row?.count !== BLOCKS * PER_BLOCK) throw new Error(`${row?.count} movements were kept`)
    return ms
  }

  try {
    const chain = service.ctx.chains.withNode(NETWORK)
    const runtime = await fill(local, chain)
    const bob = chain.addressOf((await devAccount('Bob')).publicKey)
    await sql`
      with keyring as (
        insert into keyrings (id, project_id, owner_id, kind, sealed)
        values (gen_random_uuid(), ${service.project.projectId}, 'bench', 'key', '\\x00') returning id)
      insert into wallets
        (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac)
      select gen_random_uuid(), ${service.project.projectId}, ${NETWORK}, 'bench', 'Bench', ${bob}, 'developer', 'eoa', id, '\\x00', '\\x00'
      from keyring`
    const last = Number((await chain.head()).latest.number)
    const costs: { readonly ours: number[]; readonly node: number[] } = { ours: [], node: [] }
    // With this the runtime's metadata is read, which takes as long as some fifty blocks.
    await indexAll()
    for (let run = 0; run < RUNS; run += 1) {
      costs.node.push(await askBare(local.rpcUrl, last + 1))
      costs.ours.push(await indexAll())
    }
    const rate = (ms: readonly number[]) => ((last + 1) * 1_000) / median(ms)
    return {
      ...{ blocks: last + 1, perBlock: PER_BLOCK },
      ...{ blocksPerSecond: rate(costs.ours), nodeBlocksPerSecond: rate(costs.node) },
      decodedBlocksPerSecond: await decodeLast(local, runtime),
    }
  } finally {
    await worker.close({ timeoutSeconds: 5 })
    await sql.end()
    await service.close()
    await local.stop()
  }
}

/** For people. */
export const substrateIndexTable = (bench: SubstrateIndexBench): readonly string[] => [
  '\nIndexing a local Asset Hub from the first block to the last     blocks/s   transfers/s',
  `  ${`${bench.blocks} blocks of ${bench.perBlock} transfers, all of a wallet`.padEnd(58)} ${bench.blocksPerSecond.toFixed(0).padStart(11)} ${(bench.blocksPerSecond * bench.perBlock).toFixed(0).padStart(13)}`,
  `  ${'the same questions to the node alone, and their bodies'.padEnd(58)} ${bench.nodeBlocksPerSecond.toFixed(0).padStart(11)}`,
  `  ${'their events, decoded on one core'.padEnd(58)} ${bench.decodedBlocksPerSecond.toFixed(0).padStart(11)}`,
]
