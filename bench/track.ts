// What following a chain costs while many transactions wait: the tracker's own steps, with the worker's rights, between
// two blocks. All that waits is in the node's pool, and a block's gas limit says how many of it come into the block.

import postgres from 'postgres'
import { insertLadder } from '../db/queries/attempts.ts'
import { lockSigner } from '../db/queries/transactions.ts'
import { transactions } from '../db/schema.ts'
import { startRound } from '../src/blocks/follow.ts'
import { createWorkerCtx } from '../src/main/asking-contexts.ts'
import { readConfig } from '../src/platform/config.ts'
import { reconcileTransactions } from '../src/signing/transactions/reconcile.ts'
import { trackStep } from '../src/signing/transactions/track.ts'
import type { TestChain } from '../test/support/chains.ts'
import type { Service } from '../test/support/service.ts'
import type { WorkerCtx } from '../test/support/worker-here.ts'
import { type NodeCounts, startCountingNode } from './counting-node.ts'
import { median } from './load.ts'
import { callInBatches } from './rpc-batches.ts'
import { createSigners, RECIPIENT, type SignedTransfer, TRANSFER_GAS } from './signers.ts'
import { countStatements, type StatementCounts } from './statements.ts'

const NETWORK = 'Ethereum'
const SIGNERS = 100
const PENDING = [100, 10_000] as const
const MINED = [0, 50, 500] as const
const ROUNDS = 5
const RUNGS = 6
const STEPS_MAX = 20
const RECORDED_TOGETHER = 200

type Cost = { readonly ms: number; readonly node: NodeCounts; readonly database: StatementCounts }

/** Medians. */
type Costs = {
  readonly ms: number
  readonly databaseMs: number
  readonly statements: number
  readonly requests: number
  readonly calls: number
  readonly bytes: number
  readonly longestBatch: number
}

/** The cost of a new block, with so many pending and so many of them in the block. */
export type BlockCosts = Costs & { readonly pending: number; readonly mined: number }
/** The cost of one round of the reconciler, if everything pending has been quiet for long. */
export type RoundCosts = Costs & { readonly pending: number }

export type TrackBench = { readonly blocks: readonly BlockCosts[]; readonly rounds: readonly RoundCosts[] }

type World = {
  readonly service: Service
  readonly chain: TestChain
  readonly ctx: WorkerCtx
  readonly sql: postgres.Sql
  readonly node: ReturnType<typeof startCountingNode>
  readonly statements: Awaited<ReturnType<typeof countStatements>>
  readonly signers: Awaited<ReturnType<typeof createSigners>>
  readonly walletId: string
}

/** Signed like the others, and in no pool. */
const unsent = (raw: string) => ({
  raw,
  maxFeePerGas: 1n,
  hash: `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`,
})

/** As the API and a broadcast leave them: six rungs and a cancel each, of which the first is sent. */
const record = async (
  { service, walletId }: Pick<World, 'service' | 'walletId'>,
  transfers: readonly SignedTransfer[],
): Promise<void> => {
  const { projectId } = service.project
  await service.ctx.db.transaction(async (tx) => {
    for (const { signer, nonce, hash, raw } of transfers) {
      const id = crypto.randomUUID()
      const now = new Date()
      await lockSigner(tx, { network: NETWORK, address: signer })
      await tx.insert(transactions).values({
        ...{ id, projectId, walletId, network: NETWORK, signerAddress: signer, nonce, kind: 'send' },
        ...{ to: RECIPIENT, value: 1n, input: '0x', gasLimit: TRANSFER_GAS, worstCost: 1n, rungs: RUNGS },
        ...{ status: 'pending', shownHash: hash, broadcastAt: now, clockStartedAt: now },
      })
      await insertLadder(tx, { network: NETWORK, transactionId: id }, [
        { hash, raw, maxFeePerGas: 1n },
        ...Array.from({ length: RUNGS }, () => unsent(raw)),
      ])
    }
  })
}

/** So many more, in the tables and in the node's pool. */
const addPending = async (world: World, count: number): Promise<void> => {
  const transfers = world.signers.sign(count)
  for (let at = 0; at < count; at += RECORDED_TOGETHER) {
    await record(world, transfers.slice(at, at + RECORDED_TOGETHER))
  }
  const calls = transfers.map(({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] }))
  await callInBatches(world.chain.rpcUrl, { calls, batch: 50, atOnce: 4 })
}

/** Nothing climbs or expires while it is measured. */
const chainOf = (ctx: WorkerCtx) => ({
  ...ctx.chains.withNode(NETWORK),
  patience: { climbAfterSeconds: 1_000_000, expireAfterSeconds: 1_000_000, stalledAfterSeconds: 1_000_000 },
})

/** Until every block is taken in, and what is in them is told. */
const catchUp = async ({ ctx, sql }: Pick<World, 'ctx' | 'sql'>): Promise<void> => {
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    if ((await trackStep(ctx, chainOf(ctx))) !== 'caught_up') continue
    const untold = await sql`select from transactions where mined_block_hash is not null and settled_at is null limit 1`
    if (untold.length === 0) return
  }
  throw new Error(`the tracker has not caught up in ${STEPS_MAX} steps`)
}

const measure = async ({ node, statements }: World, work: () => Promise<void>): Promise<Cost> => {
  node.take()
  await statements.take()
  const begun = performance.now()
  await work()
  const ms = performance.now() - begun
  return { ms, node: node.take(), database: await statements.take() }
}

const summary = (costs: readonly Cost[]): Costs => {
  const middle = (of: (cost: Cost) => number) => median(costs.map(of))
  return {
    ms: middle(({ ms }) => ms),
    databaseMs: middle(({ database }) => database.ms),
    statements: middle(({ database }) => database.statements),
    requests: middle(({ node }) => node.requests),
    calls: middle(({ node }) => node.calls),
    bytes: middle(({ node }) => node.bytes),
    longestBatch: Math.max(...costs.map(({ node }) => node.longestBatch)),
  }
}

/** A block with so many of what is in the pool. */
const mineBlock = async ({ chain }: World, transactions: number): Promise<void> => {
  const gasLimit = transactions === 0 ? TRANSFER_GAS - 1n : TRANSFER_GAS * BigInt(transactions)
  await chain.rpc('evm_setBlockGasLimit', [`0x${gasLimit.toString(16)}`])
  await chain.mine()
  const block = await chain.publicClient.getBlock()
  if (block.transactions.length !== transactions) {
    throw new Error(`a block has ${block.transactions.length} transactions, not ${transactions}`)
  }
}

const measureBlocks = async (
  world: World,
  input: { readonly pending: number; readonly mined: number },
): Promise<BlockCosts> => {
  const costs: Cost[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await mineBlock(world, input.mined)
    costs.push(await measure(world, () => catchUp(world)))
    await addPending(world, input.mined)
  }
  const [row] = await world.sql<{ pending: number }[]>`
    select count(*)::int as pending from transactions where status = 'pending'`
  if (row?.pending !== input.pending) throw new Error(`${row?.pending} are pending, not ${input.pending}`)
  return { ...input, ...summary(costs) }
}

const measureRounds = async (world: World, pending: number): Promise<RoundCosts> => {
  const costs: Cost[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await world.sql`update transactions set updated_at = now() - interval '1 hour' where status = 'pending'`
    costs.push(await measure(world, () => reconcileTransactions(world.ctx, startRound(chainOf(world.ctx)))))
  }
  return { pending, ...summary(costs) }
}

/** The tracker's cost of a new block, and the reconciler's of a round, with few and with many transactions pending. */
export const benchTrack = async (input: {
  readonly service: Service
  readonly chain: TestChain
}): Promise<TrackBench> => {
  const { service, chain } = input
  await chain.setAutomine(false)
  const node = startCountingNode(chain.rpcUrl)
  // Connected before anything is counted: what is looked up here is not the tracker's.
  const sql = postgres(service.database.url, { max: 1 })
  await sql`select 1`
  const statements = await countStatements({ url: service.database.url, database: service.database.name })
  const rights = { VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl }
  const variables = { ...service.variables, ...rights, ETHEREUM_RPC_URL: node.rpcUrl }
  const ctx = await createWorkerCtx({ config: readConfig(variables), process: 'bench' })
  const { id: walletId } = await service.newWallet({ network: NETWORK })
  const signers = await createSigners(chain, { count: SIGNERS })
  const world: World = { service, chain, ctx, sql, node, statements, signers, walletId }
  const blocks: BlockCosts[] = []
  const rounds: RoundCosts[] = []
  let waiting = 0
  try {
    await catchUp(world)
    for (const pending of PENDING) {
      await addPending(world, pending - waiting)
      waiting = pending
      // As autovacuum does within a minute.
      await sql`analyze`
      for (const mined of MINED) {
        if (mined < pending) blocks.push(await measureBlocks(world, { pending, mined }))
      }
      rounds.push(await measureRounds(world, pending))
    }
    return { blocks, rounds }
  } finally {
    await ctx.close({ timeoutSeconds: 5 })
    await sql.end()
    await statements.close()
    node.stop()
  }
}
