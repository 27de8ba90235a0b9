// Movements of the native coin in blocks. Where the node can trace, its traces tell all of them, internal ones included.
// Elsewhere, and for blocks whose state the node no longer has, what transactions carry themselves: the value of each that
// succeeded, by its receipt. How the node traces is found out once.

import type { Hex } from '../chain.ts'
import type { BlockHeader } from './blocks.ts'
import { isMethodMissing, isStateMissing } from './nodeErrors.ts'
import { blockReceiptsQuestion, type Receipt, receiptQuestion } from './receipts.ts'
import { question, type Rpc } from './rpc.ts'
import { type CoinMove, TRACERS, type TracedBlock, type Tracer, traceQuestion } from './traces.ts'
import { hash, listOf, nullable, quantity, rawAddress, record, toQuantity } from './wire.ts'

/** A busy block's traces are some megabytes, its full transactions half of one. */
const TRACE_BATCH_LIMIT = 10
const FULL_BLOCK_BATCH_LIMIT = 25

/** Moves of a block's transactions, in order, by hash; a transaction without any may be missing. */
export type BlockMoves = ReadonlyMap<Hex, readonly CoinMove[]>

/** Learnt from the node; `none` is a node that cannot trace. */
export type Tracing = { tracer: Tracer | 'none' | 'unknown'; noBlockReceipts: boolean }

/** The node, and what was learnt of it. */
export type NativesContext = { readonly rpc: Rpc; readonly tracing: Tracing }

const findTracer = async ({ rpc }: NativesContext, number: bigint): Promise<Tracer | 'none'> => {
  for (const tracer of TRACERS) {
    const answer = await rpc.try(traceQuestion(tracer, number), { size: 'bulk' })
    if (answer.ok || isStateMissing(answer.error)) return tracer
    if (!isMethodMissing(answer.error)) throw rpc.refusal(answer.error)
  }
  return 'none'
}

/** A trace is of this very block, and of all of it, or it is not used. */
const isComplete = (traced: TracedBlock, header: BlockHeader): boolean =>
  (traced.blockHash === null || traced.blockHash === header.hash) &&
  header.transactionHashes.every((each) => traced.moves.has(each))

const readTraced = async (
  context: NativesContext,
  headers: readonly BlockHeader[],
): Promise<ReadonlyMap<Hex, BlockMoves>> => {
  const { rpc, tracing } = context
  const [first] = headers
  if (first !== undefined && tracing.tracer === 'unknown') tracing.tracer = await findTracer(context, first.number)
  const { tracer } = tracing
  if (tracer === 'none' || tracer === 'unknown') return new Map()
  const answers = await rpc.tryAll(
    headers.map(({ number }) => traceQuestion(tracer, number)),
    { size: 'bulk', batchLimit: TRACE_BATCH_LIMIT },
  )
  const moves = new Map<Hex, BlockMoves>()
  for (const [index, header] of headers.entries()) {
    const answer = answers[index]
    if (answer === undefined) continue
    if (!answer.ok) {
      if (isStateMissing(answer.error)) continue
      throw rpc.refusal(answer.error)
    }
    if (answer.value !== null && isComplete(answer.value, header)) moves.set(header.hash, answer.value.moves)
  }
  return moves
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

const readReceipts = async (
  { rpc, tracing }: NativesContext,
  block: { readonly number: bigint; readonly hashes: readonly Hex[] },
): Promise<readonly (Receipt | null)[]> => {
  const options = { size: 'bulk' } as const
  if (!tracing.noBlockReceipts) {
    const answer = await rpc.try(blockReceiptsQuestion(block.number), options)
    if (answer.ok) return answer.value ?? []
    if (!isMethodMissing(answer.error)) throw rpc.refusal(answer.error)
    tracing.noBlockReceipts = true
  }
  return rpc.askAll(block.hashes.map(receiptQuestion), options)
}

/** null where the node's answers are not of one and the same block. */
const readOwnMoves = async (
  context: NativesContext,
  header: BlockHeader,
  block: FullBlock | null,
): Promise<BlockMoves | null> => {
  if (block?.hash !== header.hash) return null
  const carrying = block.transactions.filter(({ value }) => value > 0n)
  if (carrying.length === 0) return new Map()
  const hashes = carrying.map((each) => each.hash)
  const receipts = new Map<Hex, Receipt>()
  for (const receipt of await readReceipts(context, { number: header.number, hashes })) {
    if (receipt?.blockHash === header.hash) receipts.set(receipt.transactionHash, receipt)
  }
  const moves = new Map<Hex, readonly CoinMove[]>()
  for (const { hash: transactionHash, from, to, value } of carrying) {
    const receipt = receipts.get(transactionHash)
    if (receipt === undefined) return null
    const target = to ?? receipt.contractAddress
    if (receipt.success && target !== null) {
      moves.set(transactionHash, [{ from, to: target, amount: value, isOwn: true }])
    }
  }
  return moves
}

/** The moves of each block by its hash; null where the node does not (yet) have all of them as the headers say. */
export const readNatives = async (
  context: NativesContext,
  headers: readonly BlockHeader[],
): Promise<ReadonlyMap<Hex, BlockMoves> | null> => {
  const busy = headers.filter(({ transactionHashes }) => transactionHashes.length > 0)
  const moves = new Map(await readTraced(context, busy))
  const untraced = busy.filter((header) => !moves.has(header.hash))
  const blocks: readonly (FullBlock | null)[] = await context.rpc.askAll(
    untraced.map(({ number }) =>
      question('eth_getBlockByNumber', [toQuantity(number), true], nullable(parseFullBlock)),
    ),
    { size: 'bulk', batchLimit: FULL_BLOCK_BATCH_LIMIT },
  )
  for (const [index, header] of untraced.entries()) {
    const own = await readOwnMoves(context, header, blocks[index] ?? null)
    if (own === null) return null
    moves.set(header.hash, own)
  }
  return moves
}
