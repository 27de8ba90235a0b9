// How long the parts of a call took, for a client that traces its requests and asked for it. Only waiting and what
// takes long by design is measured: no part computes with a private key alone, and all times are rounded, so that an
// API which an attacker controls learns no more than from the time of its answers.

import { AsyncLocalStorage } from 'node:async_hooks'

/** How long a part of a call took, and when it began after the call had come. */
export type Timing = { readonly name: string; readonly beganMs: number; readonly tookMs: number }

/** Runs a call, which says how long its parts took. */
export type MeasureCall = <Result>(
  method: string,
  call: (onTimings: (timings: readonly Timing[]) => void) => Promise<Result>,
) => Promise<Result>

const PRECISION_MS = 0.1
const TIMINGS_MAX = 16

type Running = { readonly begunAtMs: number; readonly timings: Timing[] }

const running = new AsyncLocalStorage<Running>()

const rounded = (ms: number): number => Math.round(ms / PRECISION_MS) / (1 / PRECISION_MS)

const add = ({ begunAtMs, timings }: Running, part: { readonly name: string; readonly fromMs: number }): void => {
  if (timings.length >= TIMINGS_MAX) return
  const { name, fromMs } = part
  timings.push({ name, beganMs: rounded(fromMs - begunAtMs), tookMs: rounded(performance.now() - fromMs) })
}

/** Runs a part of a call, and measures it if the client asked for that. */
export const part = <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
  const call = running.getStore()
  if (call === undefined) return work()
  const fromMs = performance.now()
  return work().finally(() => add(call, { name, fromMs }))
}

/** Runs a call whose parts are measured. @returns what it took until now: the whole, then its parts as they ended. */
export const measureParts = <Result>(
  work: () => Promise<Result>,
): { readonly result: Promise<Result>; readonly timings: () => readonly Timing[] } => {
  const call: Running = { begunAtMs: performance.now(), timings: [] }
  const result = running.run(call, work)
  const whole = () => ({ name: 'run', beganMs: 0, tookMs: rounded(performance.now() - call.begunAtMs) })
  return { result, timings: () => [whole(), ...call.timings] }
}
