// Queues within one process, in which requests wait before they take a database connection or much memory. Four kinds:
// a limit on concurrent turns (createQueue), the same for each name (createQueues), work that begins together and ends
// in order (createOrderedQueues), and simultaneous requests that share one run (createBatcher). And a limit for those
// that had better come back later than wait (createShares).

import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from './errors.ts'

/** @returns a function that runs `work`, or gives the result of a run that began less than `intervalMs` ago. */
export const atMostEvery = <Result>(intervalMs: number, work: () => Promise<Result>): (() => Promise<Result>) => {
  let begun: { readonly atMs: number; readonly result: Promise<Result> } | null = null
  return () => {
    const nowMs = performance.now()
    if (begun === null || nowMs - begun.atMs >= intervalMs) begun = { atMs: nowMs, result: work() }
    return begun.result
  }
}

/** More waiting requests are a fault, and so is a longer wait, as the server then closes the connection. */
const WAITING_MAX = 2_000
const WAIT_MAX_MS = 45_000
const BATCHED_MAX = 10_000
/** A request that would probably wait longer is refused at once: its caller would give up and send it again. */
const EXPECTED_WAIT_MAX_MS = 5_000
/** The usual time of a turn is the median of so many: a few that stall do not count, and five slow ones in a row do. */
const RECENT_TURNS = 9
/** Fewer say nothing about what is usual. */
const TURNS_MIN = 5

const busy = (waitMs = 0): AppError =>
  new AppError('busy', 'Too many requests are waiting for the same thing: try again.', {
    retryAfterSeconds: Math.max(1, Math.ceil(Math.min(waitMs, WAIT_MAX_MS) / 1000)),
  })

type QueueLoad = { readonly running: number; readonly waiting: number }

export type Queue = {
  /**
   * Waits for a turn, first come, first served. The turn ends when it is disposed: `using turn = await queue.enter()`.
   * @param deadlineMs until when to wait, on the clock of `performance.now()`; by default the queue's own limit.
   * @throws busy if too many are waiting, if the turn would probably come too late, or if it does not come in time.
   */
  enter(deadlineMs?: number): Promise<Disposable>
  load(): QueueLoad
}

type Limits = {
  readonly atOnce?: number
  readonly waitingMax?: number
  /** Without an end if those who wait must not be refused. */
  readonly waitMaxMs?: number
  /** By default the smaller of `waitMaxMs` and 5 s, or without an end like that. */
  readonly expectedWaitMaxMs?: number
}

export const createQueue = (limits: Limits = {}): Queue => {
  const { atOnce = 1, waitingMax = WAITING_MAX, waitMaxMs = WAIT_MAX_MS } = limits
  const { expectedWaitMaxMs = Number.isFinite(waitMaxMs) ? EXPECTED_WAIT_MAX_MS : waitMaxMs } = limits
  const waiting = new Set<() => void>()
  const recentMs: number[] = []
  let usualMs = 0
  let running = 0
  let begunAtMs = 0

  const learn = (turnMs: number): void => {
    recentMs.push(turnMs)
    if (recentMs.length > RECENT_TURNS) recentMs.shift()
    const median = recentMs.toSorted((a, b) => a - b)[recentMs.length >> 1] ?? 0
    usualMs = recentMs.length < TURNS_MIN ? 0 : median
  }

  /** The time since the last turn began, and the usual time of all waiting turns. */
  const expectedWaitMs = (nowMs: number): number => nowMs - begunAtMs + (waiting.size * usualMs) / atOnce

  const takeTurn = (): Disposable => {
    const sinceMs = performance.now()
    begunAtMs = sinceMs
    let over = false
    running += 1
    const end = () => {
      if (over) return
      over = true
      running -= 1
      learn(performance.now() - sinceMs)
      const [next] = waiting
      next?.()
    }
    return { [Symbol.dispose]: end }
  }

  return {
    enter: (deadlineMs = performance.now() + waitMaxMs) =>
      new Promise((resolve, reject) => {
        if (running < atOnce) {
          resolve(takeTurn())
          return
        }
        const nowMs = performance.now()
        const waitMs = Math.max(0, deadlineMs - nowMs)
        const expectedMs = expectedWaitMs(nowMs)
        if (waiting.size >= waitingMax || expectedMs > Math.min(waitMs, expectedWaitMaxMs)) {
          reject(busy(expectedMs))
          return
        }
        const admit = () => {
          clearTimeout(timer)
          waiting.delete(admit)
          resolve(takeTurn())
        }
        const giveUp = () => {
          waiting.delete(admit)
          reject(busy())
        }
        const timer = waitMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(giveUp, waitMs)
        waiting.add(admit)
      }),
    load: () => ({ running, waiting: waiting.size }),
  }
}

/** A queue for each name, which exists only while work is in it. */
export const createQueues = (limits: Limits = {}) => {
  const queues = new Map<string, Queue>()

  const enter = async (name: string, deadlineMs?: number): Promise<Disposable> => {
    const queue = queues.get(name) ?? createQueue(limits)
    queues.set(name, queue)
    const turn = await queue.enter(deadlineMs)
    const leave = () => {
      turn[Symbol.dispose]()
      if (queue.load().running === 0 && queues.get(name) === queue) queues.delete(name)
    }
    return { [Symbol.dispose]: leave }
  }

  return {
    enter,
    run: async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
      using _turn = await enter(name)
      return await work()
    },
  }
}

/** Waits until all that entered the queue earlier has ended. @throws busy if that takes too long. */
export type Turn = () => Promise<void>

type Shared<Work> = {
  readonly work: Work
  /** Whether another's work may be done with it. */
  readonly belongs: (work: Work, next: Work) => boolean
  readonly most: number
}

export type OrderedTurn = Turn & {
  /**
   * Waits likewise, and then has something to do. Those that entered right behind it may be ready, and wait with
   * something that belongs to it: then it does that too.
   * @returns what to do, its own first; null if an earlier turn does this.
   */
  readonly share: <Work>(own: Shared<Work>) => Promise<readonly Work[] | null>
}

/** One that is in an ordered queue. */
type Entered = {
  /** What waits for its turn, if it is to be shared; `take` tells that an earlier turn does it. */
  shared: { readonly work: unknown; readonly take: () => void } | null
}

export type OrderedQueues = {
  /** Runs `work` beside other work of this name. What it does after its turn, it does before all that entered later. */
  run<Result>(name: string, work: (turn: OrderedTurn) => Promise<Result>): Promise<Result>
}

/** What a promise is fulfilled with; null if that takes longer. */
export const within = async <Value>(ms: number, promise: Promise<Value>): Promise<{ readonly value: Value } | null> => {
  const { promise: over, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(resolve, ms, null)
  return await Promise.race([promise.then((value) => ({ value })), over]).finally(() => clearTimeout(timer))
}

/**
 * A queue for each name. The first part of the work runs beside other work (`limits.atOnce`), the second, after `turn`,
 * in the order in which they entered. Work that fails lets the next one pass.
 */
export const createOrderedQueues = (limits: Limits): OrderedQueues => {
  const { waitMaxMs = WAIT_MAX_MS } = limits
  const places = createQueues(limits)
  /** Those that are in a queue, in their order, and when all of them have ended. */
  const queues = new Map<string, { readonly entered: Entered[]; ended: Promise<void> }>()

  const turnOf = (
    own: Entered,
    input: Readonly<{ entered: Entered[]; earlier: Promise<void>; deadlineMs: number }>,
  ) => {
    const { entered, earlier, deadlineMs } = input
    const turn = async () => {
      if ((await within(Math.max(0, deadlineMs - performance.now()), earlier)) === null) throw busy()
    }
    const share = async <Work>({ work, belongs, most }: Shared<Work>): Promise<readonly Work[] | null> => {
      const { promise: taken, resolve: take } = Promise.withResolvers<void>()
      own.shared = { work, take }
      try {
        await Promise.race([turn(), taken])
        if (own.shared === null) return null
      } finally {
        own.shared = null
      }
      const all = [work]
      for (const next of entered.slice(entered.indexOf(own) + 1)) {
        const { shared } = next
        // In one queue all that is shared is of one kind.
        const its = shared?.work as Work
        if (shared === null || all.length === most || !belongs(work, its)) break
        next.shared = null
        shared.take()
        all.push(its)
      }
      return all
    }
    return Object.assign(turn, { share })
  }

  return {
    run: async (name, work) => {
      const deadlineMs = performance.now() + waitMaxMs
      using _place = await places.enter(name, deadlineMs)
      const queue = queues.get(name) ?? { entered: [], ended: Promise.resolve() }
      queues.set(name, queue)
      const { entered, ended: earlier } = queue
      const own: Entered = { shared: null }
      entered.push(own)
      const { promise: over, resolve: end } = Promise.withResolvers<void>()
      queue.ended = earlier.then(() => over)
      try {
        return await work(turnOf(own, { entered, earlier, deadlineMs }))
      } finally {
        entered.splice(entered.indexOf(own), 1)
        if (entered.length === 0) queues.delete(name)
        end()
      }
    },
  }
}

/** Shares a run among simultaneous requests: it collects the next items, up to `sizeMax`, during a run. */
export const createBatcher = <Item, Result>(input: {
  readonly sizeMax: number
  readonly run: (items: readonly Item[]) => Promise<Result>
}): ((item: Item) => Promise<Result>) => {
  type Batch = { readonly items: Item[]; readonly result: Promise<Result> }
  const runs = createQueue({ waitingMax: BATCHED_MAX, waitMaxMs: Number.POSITIVE_INFINITY })
  let collecting: Batch | null = null
  let collected = 0

  const runInTurn = async (items: readonly Item[]): Promise<Result> => {
    using _turn = await runs.enter()
    // Items of the same turn of the event loop join this run; under load that saves about a fifth of the work.
    await nextTurn()
    if (collecting?.items === items) collecting = null
    collected -= items.length
    return await input.run(items)
  }

  return (item) => {
    if (collected >= BATCHED_MAX) return Promise.reject(busy())
    if (collecting === null) {
      const items: Item[] = []
      collecting = { items, result: runInTurn(items) }
    }
    const { items, result } = collecting
    items.push(item)
    collected += 1
    if (items.length === input.sizeMax) collecting = null
    return result
  }
}

export type Shares = ReturnType<typeof createShares>

/**
 * Runs at most `atOnce` of each name, so that a slow name does not take all places. More wait for `slowAfterMs`; if
 * that was in vain, or the last one took longer, none waits until one was quick again.
 */
export const createShares = (input: { readonly atOnce: number; readonly slowAfterMs: number }) => {
  const { atOnce, slowAfterMs } = input
  const queues = createQueues({ atOnce })
  const slow = new Set<string>()

  const enter = async (name: string): Promise<Disposable | null> => {
    try {
      return await queues.enter(name, performance.now() + (slow.has(name) ? 0 : slowAfterMs))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      slow.add(name)
      return null
    }
  }

  return {
    /** Runs `work`, unless this name has its share: then `crowded`, and the caller tries later. */
    run: async <Result>(name: string, work: () => Promise<Result>): Promise<Result | 'crowded'> => {
      using turn = await enter(name)
      if (turn === null) return 'crowded'
      const begunAtMs = performance.now()
      try {
        return await work()
      } finally {
        if (performance.now() - begunAtMs > slowAfterMs) slow.add(name)
        else slow.delete(name)
      }
    },
  }
}
