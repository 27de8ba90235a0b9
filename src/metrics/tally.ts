// What a process counts by itself, because no row of the database changes when it happens: jobs, and nodes that fail. It is
// kept in memory and added to the table `counts` every few seconds, so that a total is of the whole deployment; a process
// that is killed takes the last seconds' counts with it.

import type { Db } from '../../db/client.ts'
import { addCounts, type Count, type Labels } from '../../db/queries/counts.ts'
import type { CounterName, HistogramName } from '../../db/words.ts'
import type { Log } from '../log.ts'

const FLUSH_INTERVAL_MS = 10_000
const LAST_FLUSH_MAX_MS = 2_000

/** Upper bounds of the buckets, in seconds; what is longer is in the last one, `+Inf`. */
export const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] as const

export type Tally = {
  /** @param amount 1 by default */
  add(name: CounterName, labels: Labels, amount?: number): void
  /** One more value of a distribution. */
  observe(name: HistogramName, labels: Labels, seconds: number): void
  /** Adds what was counted since the last time to the table; where that fails, it is kept for the next. Never rejects. */
  flush(): Promise<void>
}

const bucketOf = (seconds: number): string => String(BUCKETS_SECONDS.find((bound) => seconds <= bound) ?? '+Inf')

/** @param labels of few values each: every combination is a row. */
const keyOf = (name: string, labels: Labels): string => JSON.stringify([name, labels])

export const createTally = (ctx: { readonly db: Db; readonly log: Log }): Tally => {
  let counted = new Map<string, Count>()

  const count = ({ name, labels, amount }: Count): void => {
    const key = keyOf(name, labels)
    counted.set(key, { name, labels, amount: (counted.get(key)?.amount ?? 0) + amount })
  }

  return {
    add: (name, labels, amount = 1) => count({ name, labels, amount }),
    observe: (name, labels, seconds) => {
      count({ name, labels: { ...labels, le: bucketOf(seconds) }, amount: 1 })
      count({ name, labels, amount: seconds })
    },
    flush: async () => {
      const flushed = counted
      counted = new Map()
      try {
        await addCounts(ctx.db, [...flushed.values()])
      } catch (err) {
        ctx.log.warn({ err }, 'could not write down what was counted')
        for (const each of flushed.values()) count(each)
      }
    },
  }
}

/**
 * Flushes again and again. @param flushable whose `flush` never rejects.
 * @returns what a process calls before it closes its database: it flushes for the last time, within bounds.
 */
export const startFlushing = (
  flushable: { readonly flush: () => Promise<void> },
  intervalMs = FLUSH_INTERVAL_MS,
): (() => Promise<void>) => {
  const timer = setInterval(() => void flushable.flush(), intervalMs)
  return async () => {
    clearInterval(timer)
    const { promise: waited, resolve } = Promise.withResolvers<void>()
    const givenUp = setTimeout(resolve, LAST_FLUSH_MAX_MS)
    await Promise.race([flushable.flush(), waited])
    clearTimeout(givenUp)
  }
}
