// Reads movements of the native coin inside transactions from the two kinds of traces that nodes have: `trace_block`
// (erigon, nethermind, reth, anvil: a flat list) and `debug_traceBlockByNumber` with callTracer (go-ethereum: a tree).
// Both become the same frames, in the order of execution. A call, creation or self-destruction with a value moves the
// coin, unless it or a frame around it failed. The value of a delegate call is only inherited and moves nothing.

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

/** One movement. `isOwn`: the value of the transaction itself, which is its first frame. */
export type CoinMove = { readonly from: Hex; readonly to: Hex; readonly amount: bigint; readonly isOwn: boolean }

/** The senders of a block's transactions by hash. */
export type Senders = ReadonlyMap<Hex, Hex>

/** The moves and the senders of a block's transactions by hash. Each traced transaction has moves. */
export type TracedBlock = {
  readonly blockHash: Hex | null
  readonly moves: ReadonlyMap<Hex, readonly CoinMove[]>
  readonly senders: Senders
}

type Frame = {
  readonly path: readonly number[]
  readonly failed: boolean
  readonly move: Omit<CoinMove, 'isOwn'> | null
}

export const hasFailed = ({ error }: JsonRecord): boolean => error !== null && error !== undefined

const isBelow = (path: readonly number[], other: readonly number[]): boolean =>
  other.every((step, index) => path[index] === step)

/** Frames are in order, so the frames that a failed one undid follow it directly. */
const collectMoves = (frames: readonly Frame[]): readonly CoinMove[] => {
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

/** The first frame of a transaction is its sender's. */
const addSender = (
  senders: Map<Hex, Hex>,
  { transactionHash, from }: { readonly transactionHash: Hex; readonly from: unknown },
): void => {
  const sender = nullable(rawAddress)(from)
  if (sender !== null) senders.set(transactionHash, sender)
}

const parseFlatTraces = (value: unknown): TracedBlock => {
  const frames = new Map<Hex, Frame[]>()
  const senders = new Map<Hex, Hex>()
  let blockHash: Hex | null = null
  for (const item of list(value)) {
    const trace = record(item)
    blockHash ??= hash(trace.blockHash)
    // A block reward does not belong to a transaction.
    if (trace.transactionHash === null || trace.transactionHash === undefined) continue
    const failed = hasFailed(trace)
    const frame = { path: parsePath(trace.traceAddress), failed, move: failed ? null : parseFlatMove(trace) }
    const transactionHash = hash(trace.transactionHash)
    if (frame.path.length === 0) addSender(senders, { transactionHash, from: record(trace.action).from })
    const others = frames.get(transactionHash)
    if (others === undefined) frames.set(transactionHash, [frame])
    else others.push(frame)
  }
  return { blockHash, moves: new Map([...frames].map(([key, each]) => [key, collectMoves(each)])), senders }
}

const MOVING_TYPES: readonly string[] = ['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT']

/** The movement by a callTracer frame itself, even if the frame failed; null if it moves nothing. */
export const frameMove = ({ type, from, to, value }: JsonRecord): Frame['move'] =>
  typeof type === 'string' && MOVING_TYPES.includes(type) && isHex(to)
    ? { from: rawAddress(from), to: rawAddress(to), amount: nullable(quantity)(value) ?? 0n }
    : null

/** The recursion is bounded by the call depth limit, 1024. */
const parseTree = (value: unknown, path: readonly number[], frames: Frame[]): void => {
  const call = record(value)
  const failed = hasFailed(call)
  frames.push({ path, failed, move: failed ? null : frameMove(call) })
  for (const [index, inner] of (nullable(list)(call.calls) ?? []).entries()) parseTree(inner, [...path, index], frames)
}

const parseTrees = (value: unknown): TracedBlock => {
  // A node without the state of the block returns an error for each transaction in place of its trace.
  const traced = listOf(record)(value).filter(({ result }) => result !== undefined)
  const senders = new Map<Hex, Hex>()
  const entries = traced.map((entry): readonly [Hex, readonly CoinMove[]] => {
    const frames: Frame[] = []
    parseTree(entry.result, [], frames)
    const transactionHash = hash(entry.txHash)
    addSender(senders, { transactionHash, from: record(entry.result).from })
    return [transactionHash, collectMoves(frames)]
  })
  return { blockHash: null, moves: new Map(entries), senders }
}

/** In the order in which they are tried: the first costs the node least. */
export const TRACERS = ['trace_block', 'debug_traceBlockByNumber'] as const
export type Tracer = (typeof TRACERS)[number]

/** Parses to null if a trace has an unknown form: traces are not specified, so this is not a failure of the node. */
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

/** The moves of one block; null if its traces cannot be read. */
export const traceQuestion = (tracer: Tracer, number: bigint): Question<TracedBlock | null> =>
  tracer === 'trace_block'
    ? question(tracer, [toQuantity(number)], orNull(parseFlatTraces))
    : question(tracer, [toQuantity(number), { tracer: 'callTracer' }], orNull(parseTrees))
