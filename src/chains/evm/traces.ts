// Movements of the native coin within transactions, from the two kinds of traces that nodes offer: `trace_block` (erigon,
// nethermind, reth, anvil: a flat list) and `debug_traceBlockByNumber` with callTracer (go-ethereum: a tree). Both are read
// into the same frames, in the order of execution; what moves the coin is a call, a creation or a self-destruction with a
// value, unless it or anything around it failed. A delegate call names a value that it only inherits.

import type { Hex } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import {
  hash,
  isHex,
  type JsonRecord,
  list,
  listOf,
  MalformedAnswer,
  nullable,
  quantity,
  rawAddress,
  record,
  smallQuantity,
  toQuantity,
} from '../node/wire.ts'

/** One movement; the first frame of a transaction is its own value. */
export type CoinMove = { readonly from: Hex; readonly to: Hex; readonly amount: bigint; readonly isOwn: boolean }

/** Moves of the transactions of one block by hash; every transaction that was traced has an entry. */
export type TracedBlock = { readonly blockHash: Hex | null; readonly moves: ReadonlyMap<Hex, readonly CoinMove[]> }

type Frame = {
  readonly path: readonly number[]
  readonly failed: boolean
  readonly move: Omit<CoinMove, 'isOwn'> | null
}

const isBelow = (path: readonly number[], other: readonly number[]): boolean =>
  other.every((step, index) => path[index] === step)

/** Frames come in order, so a failed one is directly followed by all that it undid. */
const movesOf = (frames: readonly Frame[]): readonly CoinMove[] => {
  const moves: CoinMove[] = []
  let undone: readonly number[] | null = null
  for (const { path, failed, move } of frames) {
    if (undone !== null && isBelow(path, undone)) continue
    undone = failed ? path : null
    if (!failed && move !== null && move.amount > 0n) moves.push({ ...move, isOwn: path.length === 0 })
  }
  return moves
}

const parseFlatMove = (trace: JsonRecord): Frame['move'] => {
  const action = record(trace.action)
  switch (trace.type) {
    case 'call':
      if (action.callType !== 'call') return null
      return { from: rawAddress(action.from), to: rawAddress(action.to), amount: quantity(action.value) }
    case 'create': {
      const created = nullable(rawAddress)(nullable(record)(trace.result)?.address)
      return created === null ? null : { from: rawAddress(action.from), to: created, amount: quantity(action.value) }
    }
    case 'suicide':
    case 'selfdestruct':
      return {
        from: rawAddress(action.address),
        to: rawAddress(action.refundAddress),
        amount: quantity(action.balance),
      }
    default:
      return null
  }
}

const parsePath = (value: unknown): readonly number[] =>
  list(value).map((step) => (typeof step === 'number' ? step : smallQuantity(step)))

const parseFlatTraces = (value: unknown): TracedBlock => {
  const frames = new Map<Hex, Frame[]>()
  let blockHash: Hex | null = null
  for (const item of list(value)) {
    const trace = record(item)
    blockHash ??= hash(trace.blockHash)
    // Rewards of a block belong to no transaction.
    if (trace.transactionHash === null || trace.transactionHash === undefined) continue
    const failed = trace.error !== null && trace.error !== undefined
    const frame = { path: parsePath(trace.traceAddress), failed, move: failed ? null : parseFlatMove(trace) }
    const transactionHash = hash(trace.transactionHash)
    const others = frames.get(transactionHash)
    if (others === undefined) frames.set(transactionHash, [frame])
    else others.push(frame)
  }
  return { blockHash, moves: new Map([...frames].map(([key, each]) => [key, movesOf(each)])) }
}

/** Frames of callTracer whose value is moved. */
export const MOVING_TYPES: readonly string[] = ['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT']

/** The node bounds the depth of calls at 1024 (EIP-150 makes it less), so the recursion is bounded too. */
const parseTree = (value: unknown, path: readonly number[], frames: Frame[]): void => {
  const call = record(value)
  const failed = call.error !== null && call.error !== undefined
  const moves = !failed && typeof call.type === 'string' && MOVING_TYPES.includes(call.type)
  frames.push({
    path,
    failed,
    move:
      moves && isHex(call.to)
        ? { from: rawAddress(call.from), to: rawAddress(call.to), amount: nullable(quantity)(call.value) ?? 0n }
        : null,
  })
  for (const [index, inner] of (nullable(list)(call.calls) ?? []).entries()) parseTree(inner, [...path, index], frames)
}

const parseTrees = (value: unknown): TracedBlock => {
  // A node without the state of that block says so for each transaction, in place of its trace.
  const traced = listOf(record)(value).filter(({ result }) => result !== undefined)
  const entries = traced.map((entry): readonly [Hex, readonly CoinMove[]] => {
    const frames: Frame[] = []
    parseTree(entry.result, [], frames)
    return [hash(entry.txHash), movesOf(frames)]
  })
  return { blockHash: null, moves: new Map(entries) }
}

/** The ways to trace, in the order in which they are tried: the first costs the node least. */
export const TRACERS = ['trace_block', 'debug_traceBlockByNumber'] as const
/** One of them. */
export type Tracer = (typeof TRACERS)[number]

/** Traces are not specified as blocks and logs are: one that cannot be read is none, and not the node's failure. */
export const orNull =
  <T>(parse: (value: unknown) => T) =>
  (value: unknown): T | null => {
    try {
      return parse(value)
    } catch (error) {
      if (error instanceof MalformedAnswer) return null
      throw error
    }
  }

/** The moves of one block; null where its traces cannot be read. */
export const traceQuestion = (tracer: Tracer, number: bigint): Question<TracedBlock | null> =>
  tracer === 'trace_block'
    ? question(tracer, [toQuantity(number)], orNull(parseFlatTraces))
    : question(tracer, [toQuantity(number), { tracer: 'callTracer' }], orNull(parseTrees))
