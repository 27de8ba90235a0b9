// Reads the movements of the native coin in blocks, and who sent the transactions, which the same answers say. The
// traces of a node show all movements, including internal ones. If the node cannot trace, or no longer has the state of
// a block, only the values of the transactions themselves are known: those of the successful ones by their receipts.
// Which tracer the node has is found out once.

import type { Hex } from '../chain.ts'
import { type Answer, type Question, question, RPC_PARALLEL_LIMIT, type Rpc } from '../node/rpc.ts'
import { hash, listOf, nullable, quantity, rawAddress, record, toQuantity } from '../node/wire.ts'
import { type BlockHeader, headerQuestion } from './blocks.ts'
import { isBlockMissing, isMethodMissing, isStateMissing } from './node-errors.ts'
import { blockReceiptsQuestion, type Receipt, receiptQuestion } from './receipts.ts'
import { type CoinMove, type Senders, TRACERS, type TracedBlock, type Tracer, traceQuestion } from './traces.ts'

/** The traces of a busy block have some megabytes, its full transactions half a megabyte. */
const TRACE_BATCH_LIMIT = 10
const FULL_BLOCK_BATCH_LIMIT = 25

/** A node answers the questions of one request one by one, so even a few blocks are split into several requests. */
const chooseBatchLimit = (blocks: number, most: number): number =>
  Math.max(1, Math.min(most, Math.ceil(blocks / (2 * RPC_PARALLEL_LIMIT))))

/** The moves of a block's transactions by hash, in order. A transaction without moves may be missing. */
type BlockMoves = ReadonlyMap<Hex, readonly CoinMove[]>

type BlockSent = { readonly moves: BlockMoves; readonly senders: Senders }

/** `isTraced`: the moves include those inside transactions. */
export type BlockCoins = BlockSent & { readonly isTraced: boolean }

/** What was found out about the node. `none`: it cannot trace. */
export type Tracing = { tracer: Tracer | 'none' | 'unknown'; noBlockReceipts: boolean }

export type NativesContext = { readonly rpc: Rpc; readonly tracing: Tracing }

const findTracer = async ({ rpc }: NativesContext, number: bigint): Promise<Tracer | 'none'> => {
  for (const tracer of TRACERS) {
    const answer = await rpc.try(traceQuestion(tracer, number), { size: 'bulk' })
    if (answer.ok || isStateMissing(answer.error)) return tracer
    if (!isMethodMissing(answer.error)) throw rpc.refusal(answer.error)
  }
  return 'none'
}

/**
 * Whether a trace belongs to a block. It may belong to another one if another node behind the URL answered, or the
 * chain changed. The trees of callTracer do not name the block, and some have more transactions (bor's state syncs).
 */
const belongsTo = ({ blockHash, moves }: TracedBlock, header: BlockHeader): boolean =>
  blockHash === null
    ? moves.size === 0 || header.transactionHashes.some((each) => moves.has(each))
    : blockHash === header.hash

const isComplete = ({ moves }: TracedBlock, header: BlockHeader): boolean =>
  header.transactionHashes.every((each) => moves.has(each))

/** reth answers null for a block that it lacks, other nodes if they cannot trace it. One node answers a batch. */
const hasButCannotTrace = async (
  { rpc }: NativesContext,
  { header, tracer }: { readonly header: BlockHeader; readonly tracer: Tracer },
): Promise<boolean> => {
  const { number } = header
  const [known, again] = await rpc.tryAll([headerQuestion(number), traceQuestion(tracer, number)], { size: 'bulk' })
  return known.ok && known.value?.hash === header.hash && again.ok && again.value === null
}

/** A block that the node cannot trace is missing in the result. null as for `readNatives`. */
const readTraced = async (
  context: NativesContext,
  headers: readonly BlockHeader[],
): Promise<ReadonlyMap<Hex, BlockSent> | null> => {
  const { rpc, tracing } = context
  const [first] = headers
  if (first !== undefined && tracing.tracer === 'unknown') tracing.tracer = await findTracer(context, first.number)
  const { tracer } = tracing
  if (tracer === 'none' || tracer === 'unknown') return new Map()
  const answers = await rpc.tryAll(
    headers.map(({ number }) => traceQuestion(tracer, number)),
    { size: 'bulk', batchLimit: chooseBatchLimit(headers.length, TRACE_BATCH_LIMIT) },
  )
  const found = new Map<Hex, BlockSent>()
  for (const [index, header] of headers.entries()) {
    const answer = answers[index]
    if (answer === undefined) continue
    if (!answer.ok) {
      if (isStateMissing(answer.error)) continue
      if (isBlockMissing(answer.error)) return null
      throw rpc.refusal(answer.error)
    }
    const { value } = answer
    if (value === null) {
      if (await hasButCannotTrace(context, { header, tracer })) continue
      return null
    }
    if (!belongsTo(value, header)) return null
    if (isComplete(value, header)) found.set(header.hash, value)
  }
  return found
}

type FullTransaction = { readonly hash: Hex; readonly from: Hex; readonly to: Hex | null; readonly value: bigint }
type FullBlock = { readonly hash: Hex; readonly transactions: readonly FullTransaction[] }

const parseTransaction = (value: unknown): FullTransaction => {
  const transaction = record(value)
  return {
    hash: hash(transaction.hash),
    from: rawAddress(transaction.from),
    to: nullable(rawAddress)(transaction.to),
    value: quantity(transaction.value),
  }
}

const parseFullBlock = (value: unknown): FullBlock => {
  const block = record(value)
  return { hash: hash(block.hash), transactions: listOf(parseTransaction)(block.transactions) }
}

type OwnBlock = {
  readonly header: BlockHeader
  readonly carrying: readonly FullTransaction[]
  readonly senders: Senders
}
type Outcome = Omit<Receipt, 'logs'>

const outcomesQuestion = (number: bigint): Question<readonly Outcome[]> => {
  const { method, params, parse } = blockReceiptsQuestion(number)
  return question(method, params, (result) => (parse(result) ?? []).map(({ logs: _, ...outcome }) => outcome))
}

/** The outcomes of the transactions with a value, by hash. Others of the same blocks may be included. */
const readOutcomes = async (
  { rpc, tracing }: NativesContext,
  blocks: readonly OwnBlock[],
): Promise<ReadonlyMap<Hex, Outcome>> => {
  const byHash = (outcomes: readonly (Outcome | null)[]) =>
    new Map(outcomes.flatMap((outcome) => (outcome === null ? [] : [[outcome.transactionHash, outcome]])))
  if (!tracing.noBlockReceipts) {
    const answers: readonly Answer<readonly Outcome[]>[] = await rpc.tryAll(
      blocks.map(({ header }) => outcomesQuestion(header.number)),
      { size: 'bulk', batchLimit: chooseBatchLimit(blocks.length, TRACE_BATCH_LIMIT) },
    )
    tracing.noBlockReceipts = answers.some((answer) => !answer.ok && isMethodMissing(answer.error))
    if (!tracing.noBlockReceipts) return byHash(answers.flatMap((answer) => rpc.need(answer)))
  }
  const hashes = blocks.flatMap(({ carrying }) => carrying.map((each) => each.hash))
  return byHash(await rpc.askAll(hashes.map(receiptQuestion), { size: 'bulk' }))
}

/** null if the node's answers do not belong to the same block. */
const findOwnMoves = (
  { header, carrying, senders }: OwnBlock,
  outcomes: ReadonlyMap<Hex, Outcome>,
): BlockSent | null => {
  const moves = new Map<Hex, readonly CoinMove[]>()
  for (const { hash: transactionHash, from, to, value } of carrying) {
    const outcome = outcomes.get(transactionHash)
    if (outcome?.blockHash !== header.hash) return null
    const target = to ?? outcome.contractAddress
    if (outcome.success && target !== null) {
      moves.set(transactionHash, [{ from, to: target, amount: value, isOwn: true }])
    }
  }
  return { moves, senders }
}

/** In the order of the headers; null as for `readNatives`. */
const readOwnMoves = async (
  context: NativesContext,
  headers: readonly BlockHeader[],
): Promise<readonly BlockSent[] | null> => {
  const found: readonly (FullBlock | null)[] = await context.rpc.askAll(
    headers.map(({ number }) => question('eth_getBlockByNumber', [toQuantity(number), true], nullable(parseFullBlock))),
    { size: 'bulk', batchLimit: chooseBatchLimit(headers.length, FULL_BLOCK_BATCH_LIMIT) },
  )
  const blocks: OwnBlock[] = []
  for (const [index, header] of headers.entries()) {
    const block = found[index] ?? null
    if (block?.hash !== header.hash) return null
    const { transactions } = block
    const senders = new Map(transactions.map((each) => [each.hash, each.from]))
    blocks.push({ header, carrying: transactions.filter(({ value }) => value > 0n), senders })
  }
  const outcomes = await readOutcomes(
    context,
    blocks.filter(({ carrying }) => carrying.length > 0),
  )
  const moves = blocks.flatMap((block) => findOwnMoves(block, outcomes) ?? [])
  return moves.length === blocks.length ? moves : null
}

/** The moves of each block by its hash; null if the node lacks some of these blocks, or has other ones. */
export const readNatives = async (
  context: NativesContext,
  headers: readonly BlockHeader[],
): Promise<ReadonlyMap<Hex, BlockCoins> | null> => {
  const busy = headers.filter(({ transactionHashes }) => transactionHashes.length > 0)
  const traced = await readTraced(context, busy)
  if (traced === null) return null
  const coins = new Map<Hex, BlockCoins>(
    [...traced].map(([hash, { moves, senders }]) => [hash, { moves, senders, isTraced: true }]),
  )
  const untraced = busy.filter((header) => !coins.has(header.hash))
  const own = await readOwnMoves(context, untraced)
  if (own === null) return null
  for (const [index, { hash }] of untraced.entries()) {
    const { moves, senders } = own[index] ?? { moves: new Map(), senders: new Map() }
    coins.set(hash, { moves, senders, isTraced: false })
  }
  return coins
}
