// A bundle: calls that see each other's effects, of one sender but where they say otherwise; one that fails fails alone.
// Nodes run a failing call within eth_simulateV1, but refuse the whole request for one that they would not even start (too
// little balance for its value, too little gas, …). So: what no node would run is set aside beforehand; after a refusal the
// elements to blame are found and set aside, and the rest runs again.
// - For balance, all culprits are found by one run in which the sender is rich: its native Transfer logs tell what the
//   sender really had before each call.
// - For anything else, the first culprit ends the shortest prefix that is refused: a binary search.
// All elements share the gas of one block (go-ethereum, and its cap for RPC), so one that fails by using up what there is
// would take it from those behind it. What failed has no effect but on the nonce: it is set aside with its end, and the rest
// runs again, with a call that does nothing in its place, as the nonce decides where a contract is created. (What no node
// would start uses no nonce.)

import { type Answer, NodeUnavailable, question, type Rpc, type RpcError } from '../node/rpc.ts'
import { quantity } from '../node/wire.ts'
import type { Call } from './call.ts'
import { runWithCreations } from './creations.ts'
import { hopeless } from './intrinsic.ts'
import type { SimulationLimits } from './limits.ts'
import { transfersOf } from './logs.ts'
import { cannotSimulateCreation, isExecutionFailure, isMethodMissing, isNoFunds } from './node-errors.ts'
import { failureOf } from './reverts.ts'
import { notFunded, type Overrides, refused, type SimulatedCall, simulateQuestion } from './simulate.ts'

/** Rounds of setting aside; a bundle that still is refused is refused as a whole. */
const ROUND_LIMIT = 8
/** No further question is asked after so long: with the last one's own time limit, a slow node is given up then. */
const PATIENCE_MS = 30_000
/** What the sender is given to find out what it could not pay: no coin's supply comes near. */
const RICH = 2n ** 200n
/** A third of the smallest block gas limit of the networks: a failed call that used less leaves enough for others. */
const GREEDY_GAS = 10_000_000n

/** The precompile that gives back what it is given: of nothing, nothing, for 15 gas. */
const IDENTITY = '0x0000000000000000000000000000000000000004'

/** For a call that has run and failed: it uses the nonce. */
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

/** The indexes of calls whose value the sender did not have when their turn came. */
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
    for (const { standard, from: source, to, amount } of (rich.value[index]?.logs ?? []).flatMap(transfersOf)) {
      if (standard !== 'native') continue
      if (source === sender) left -= amount
      if (to === sender) left += amount
    }
  }
  return unfunded
}

/** Failed calls that may have taken the gas of one behind them: of the run's `length`, more than `ends` were to run. */
const greedyIn = (ends: readonly SimulatedCall[], length: number): readonly number[] => {
  const lastFailure = length > ends.length ? length : ends.findLastIndex(({ failure }) => failure !== null)
  return ends.flatMap(({ failure, gasUsed }, at) =>
    failure !== null && gasUsed >= GREEDY_GAS && at < lastFailure ? [at] : [],
  )
}

/** The call for which the node refuses the run, its words, and the ends of those before it. */
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
 * The end of each call, in order, on top of the newest block; null where the node cannot simulate.
 * One round trip where the node runs all of them. @throws NodeUnavailable.
 */
export const runBundle = async (
  rpc: Rpc,
  limits: SimulationLimits,
  input: {
    readonly from: string
    readonly calls: readonly Call[]
    /** On top of an older block, there may be no creation among the calls. */
    readonly block?: string
    /** A clock that only goes forward, in milliseconds. */
    readonly nowMs?: () => number
  },
): Promise<readonly SimulatedCall[] | null> => {
  if (limits.lacks('simulation')) return null
  const { from, block = 'latest' } = input
  const run = runner(rpc, limits, { nowMs: input.nowMs ?? (() => performance.now()), block })
  const ends: (SimulatedCall | undefined)[] = input.calls.map((call) => {
    const reason = hopeless(call)
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
    // Not about any call: too many requests, no such block.
    if (!isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    if (round === ROUND_LIMIT) {
      for (const at of open.keys()) setAside(at, refused(failureOf(answer.error)))
      break
    }
    const unfunded = isNoFunds(answer.error) ? await findUnfunded(rpc, run, from, calls, block) : []
    for (const at of unfunded) setAside(at, notFunded)
    if (unfunded.length > 0) continue
    const { index, error, before } = await findFirstCulprit(run, from, calls, answer.error)
    const greedy = greedyIn(before, calls.length)
    for (const at of greedy) replace(at, before[at])
    // Where even a stand-in is refused, it goes.
    if (greedy.length === 0 && !standIns.delete(open[index] ?? -1)) setAside(index, refused(failureOf(error)))
  }
  return ends.map((end) => end ?? refused('execution failed: not simulated'))
}
