// Simulates a bundle: calls that see the effects of the calls before them. A call that fails does not fail other calls.
// eth_simulateV1 runs a call that fails, but refuses the whole request if it cannot even start one of the calls
// (balance below its value, too little gas, …). So calls that no node would start are removed first. After a refusal
// the calls that caused it are found and removed, and the rest runs again:
// - Balance too low: one run with a rich sender. Its native Transfer logs show what the sender had before each call.
// - Any other reason: a binary search for the shortest prefix that is refused; its last call is the cause.
// All calls share the gas of one block (and go-ethereum's RPC cap), so a failed call that uses it up leaves none for
// later calls. A failed call changes nothing but the nonce. Its result is kept, a call that does nothing takes its
// place (the nonce determines the addresses of created contracts), and the bundle runs again.

import { type Answer, NodeUnavailable, question, type Rpc, type RpcError } from '../node/rpc.ts'
import { quantity } from '../node/wire.ts'
import type { Call } from './call.ts'
import { runWithCreations } from './creations.ts'
import { whyInvalid } from './intrinsic.ts'
import type { SimulationLimits } from './limits.ts'
import { parseTransfers } from './logs.ts'
import { cannotSimulateCreation, isExecutionFailure, isMethodMissing, isNoFunds } from './node-errors.ts'
import { describeFailure } from './reverts.ts'
import { notFunded, type Overrides, refused, type SimulatedCall, simulateQuestion } from './simulate.ts'

/** The most runs; if the last one is refused, all remaining calls are refused. */
const ROUND_LIMIT = 8
/** After this time no further request is sent. */
const PATIENCE_MS = 30_000
/** The balance of the rich sender: far above the supply of any coin. */
const RICH = 2n ** 200n
/** A third of the smallest block gas limit of the networks: a failed call that used less leaves enough for others. */
const GREEDY_GAS = 10_000_000n

/** The identity precompile: with empty input it costs 15 gas and does nothing. */
const IDENTITY = '0x0000000000000000000000000000000000000004'

/** A call that only uses the nonce, in place of one that failed. */
const standInFor = ({ from }: Call): Call => ({
  ...(from === undefined ? {} : { from }),
  to: IDENTITY,
  value: 0n,
  input: '0x',
})

type Run = Answer<readonly SimulatedCall[]>
type Runner = (from: string, calls: readonly Call[], overrides: Overrides) => Promise<Run>

const runner = (
  rpc: Rpc,
  limits: SimulationLimits,
  { nowMs, block }: { readonly nowMs: () => number; readonly block: string },
): Runner => {
  const endMs = nowMs() + PATIENCE_MS
  return async (from, calls, overrides) => {
    if (nowMs() > endMs) {
      throw new NodeUnavailable('timeout', `The node did not simulate all of it within ${PATIENCE_MS} ms.`)
    }
    const creates = calls.some(({ to }) => to === null)
    if (!(creates && limits.lacks('creations'))) {
      const answer = await rpc.try(simulateQuestion(from, [{ overrides, calls }], block))
      if (answer.ok || !creates || !cannotSimulateCreation(answer.error)) return answer
      limits.learn('creations')
    }
    return runWithCreations(rpc, { from, calls, overrides })
  }
}

/** The indexes of the calls whose value the sender could not pay. */
const findUnfunded = async (
  rpc: Rpc,
  run: Runner,
  from: string,
  calls: readonly Call[],
  block: string,
): Promise<readonly number[]> => {
  const [balance, rich] = await Promise.all([
    rpc.ask(question('eth_getBalance', [from, block], quantity)),
    run(from, calls, { [from]: { balance: RICH } }),
  ])
  if (!rich.ok) return []
  const sender = from.toLowerCase()
  let left = balance
  const unfunded: number[] = []
  for (const [index, call] of calls.entries()) {
    if ((call.from ?? from) === from && call.value > left) {
      unfunded.push(index)
      continue
    }
    for (const { standard, from: source, to, amount } of (rich.value[index]?.logs ?? []).flatMap(parseTransfers)) {
      if (standard !== 'native') continue
      if (source === sender) left -= amount
      if (to === sender) left += amount
    }
  }
  return unfunded
}

/** The failed calls that may have used up the gas of later ones. `length`: of the run, which may have fewer `ends`. */
const greedyIn = (ends: readonly SimulatedCall[], length: number): readonly number[] => {
  const lastFailure = length > ends.length ? length : ends.findLastIndex(({ failure }) => failure !== null)
  return ends.flatMap(({ failure, gasUsed }, at) =>
    failure !== null && gasUsed >= GREEDY_GAS && at < lastFailure ? [at] : [],
  )
}

/** Finds the call for which the node refuses the run, the node's error, and the results of the calls before it. */
const findFirstCulprit = async (
  run: Runner,
  from: string,
  calls: readonly Call[],
  whole: RpcError,
): Promise<{ readonly index: number; readonly error: RpcError; readonly before: readonly SimulatedCall[] }> => {
  let runs = 0
  let before: readonly SimulatedCall[] = []
  let refusedAt = calls.length
  let error = whole
  while (refusedAt - runs > 1) {
    const middle = (runs + refusedAt) >> 1
    const answer = await run(from, calls.slice(0, middle), {})
    if (answer.ok) {
      runs = middle
      before = answer.value
    } else {
      refusedAt = middle
      error = answer.error
    }
  }
  return { index: refusedAt - 1, error, before }
}

/**
 * Simulates calls in order, by default on the newest block; null if the node cannot simulate.
 * Takes one round trip if the node runs all calls.
 */
export const runBundle = async (
  rpc: Rpc,
  limits: SimulationLimits,
  input: {
    readonly from: string
    readonly calls: readonly Call[]
    /** The block to simulate on. With an older block, the calls must not include a creation. */
    readonly block?: string
    /** A monotonic clock, in milliseconds. */
    readonly nowMs?: () => number
  },
): Promise<readonly SimulatedCall[] | null> => {
  if (limits.lacks('simulation')) return null
  const { from, block = 'latest' } = input
  const run = runner(rpc, limits, { nowMs: input.nowMs ?? (() => performance.now()), block })
  const ends: (SimulatedCall | undefined)[] = input.calls.map((call) => {
    const reason = whyInvalid(call)
    return reason === null ? undefined : refused(reason)
  })
  const standIns = new Map<number, Call>()
  for (let round = 1; ; round += 1) {
    const open = [...input.calls.keys()].filter((index) => ends[index] === undefined || standIns.has(index))
    const calls = open.flatMap((index) => standIns.get(index) ?? input.calls[index] ?? [])
    const setAside = (at: number, end: SimulatedCall): void => {
      const index = open[at]
      if (index !== undefined) ends[index] ??= end
    }
    const replace = (at: number, end: SimulatedCall | undefined): void => {
      const [index, call] = [open[at], calls[at]]
      if (index === undefined || call === undefined || end === undefined) return
      ends[index] = end
      standIns.set(index, standInFor(call))
    }
    if (ends.every((end) => end !== undefined)) break
    const answer = await run(from, calls, {})
    if (answer.ok) {
      const greedy = round === ROUND_LIMIT ? [] : greedyIn(answer.value, calls.length)
      for (const at of greedy) replace(at, answer.value[at])
      if (greedy.length > 0) continue
      for (const [at, end] of answer.value.entries()) setAside(at, end)
      break
    }
    if (isMethodMissing(answer.error)) {
      limits.learn('simulation')
      return null
    }
    // The refusal is not about a call (too many requests, no such block).
    if (!isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    if (round === ROUND_LIMIT) {
      for (const at of open.keys()) setAside(at, refused(describeFailure(answer.error)))
      break
    }
    const unfunded = isNoFunds(answer.error) ? await findUnfunded(rpc, run, from, calls, block) : []
    for (const at of unfunded) setAside(at, notFunded)
    if (unfunded.length > 0) continue
    const { index, error, before } = await findFirstCulprit(run, from, calls, answer.error)
    const greedy = greedyIn(before, calls.length)
    for (const at of greedy) replace(at, before[at])
    // If a stand-in is refused, remove it.
    if (greedy.length === 0 && !standIns.delete(open[index] ?? -1)) setAside(index, refused(describeFailure(error)))
  }
  return ends.map((end) => end ?? refused('execution failed: not simulated'))
}
