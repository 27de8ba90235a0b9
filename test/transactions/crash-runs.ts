// The vault, the API, the worker or PostgreSQL is killed between two steps of the submission, started again, and left
// alone until nothing is left to do. Then the chain is compared with our tables. Every message of a process to the
// database, to the node or to the vault is a step boundary, where the process or PostgreSQL is killed. Undisturbed runs
// measure which boundaries there are, and the crashes are spread over them. Only a process that is killed, or starts
// without PostgreSQL, may end.
//
// `STRONGROOM_CRASH_SEED=17 bun test test/transactions/crash.long.test.ts` repeats one run. If other boundaries are
// measured, set `STRONGROOM_CRASH_POINT` too, as a failed run prints it, to get the same point.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { isLong } from '../support/long.ts'
import type { Point } from '../support/mortal.ts'
import type { Moment, Wire } from '../support/wire.ts'
import type { Ground, Intent, IntentKind, Signer } from './crash-ground.ts'
import { type CrashWorld, startCrashWorld } from './crash-world.ts'

const ONLY_SEED = process.env.STRONGROOM_CRASH_SEED
const ONLY_POINT = process.env.STRONGROOM_CRASH_POINT

/** The number of intents from a new signer, besides the others. */
const NEW_SIGNERS_INTENTS = 2
const MESSAGES_OF_A_START = 40
const GOLDEN_RATIO = 0.618

type ProcessName = 'vault' | 'api' | 'worker'

/** Who is killed at a message of the process, and whether it is working then or just starting. */
type Spot = Point & {
  readonly process: ProcessName
  readonly phase: 'work' | 'start'
  readonly victim: 'process' | 'postgres'
}

type Wish = {
  readonly kind: IntentKind
  readonly signer: number
  /** With an idempotency key its client asks until it gets an answer, otherwise once. */
  readonly hasKey: boolean
}

type Plan = {
  readonly wishes: readonly Wish[]
  readonly pauseMs: number
  /** Which message of the kind, in thousandths of their number. */
  readonly place: number
  readonly restartAfterMs: number
  /** Which sending of a transaction, or its answer, is lost. */
  readonly lost: { readonly nth: number; readonly moment: Moment } | null
  /** Whether it is killed once more during the recovery. */
  readonly again: { readonly message: number; readonly moment: Moment } | null
}

const moments = fc.constantFrom<Moment>('before', 'after')

const sometimes = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

const plansOf = ({ kinds: intents, awayMs }: Ground): fc.Arbitrary<Plan> =>
  fc
    .record({
      kinds: fc.shuffledSubarray([...intents], { minLength: intents.length }),
      signers: fc.array(fc.nat({ max: 3 }), { minLength: intents.length, maxLength: intents.length }),
      isOneSigner: fc.boolean(),
      pauseMs: fc.constantFrom(0, 0, 10, 40),
      keys: fc.array(fc.boolean(), { minLength: intents.length, maxLength: intents.length }),
      place: fc.nat({ max: 999 }),
      restartAfterMs: fc.constantFrom(...awayMs),
      lost: sometimes(fc.record({ nth: fc.integer({ min: 1, max: intents.length }), moment: moments })),
      again: sometimes(fc.record({ message: fc.integer({ min: 1, max: MESSAGES_OF_A_START }), moment: moments })),
    })
    .map(({ kinds, signers, isOneSigner, keys, ...rest }) => ({
      ...rest,
      wishes: kinds.map((kind, index) => ({
        kind,
        signer: signers[isOneSigner ? 0 : index] ?? 0,
        hasKey: keys[index] === true,
      })),
    }))

const planOf = (ground: Ground, seed: number): Plan => {
  const [plan] = fc.sample(plansOf(ground), { seed, numRuns: 1 })
  if (plan === undefined) throw new Error('there is no plan')
  return plan
}

const LOST = { nth: 2, moment: 'before' } as const

const undisturbed = ({ kinds }: Ground): Plan => ({
  wishes: kinds.map((kind, index) => ({ kind, signer: index % 2, hasKey: index % 3 === 0 })),
  ...{ pauseMs: 0, place: 0, restartAfterMs: 0, again: null, lost: LOST },
})

let lastValue = 0n

const intentOf = (ground: Ground, signer: Signer | undefined, { kind, hasKey }: Omit<Wish, 'signer'>): Intent => {
  lastValue += 1n
  return {
    kind,
    signer: signer?.address ?? '0x',
    recipient: ground.newRecipient(),
    value: ground.leastValue + lastValue,
    idempotencyKey: hasKey ? randomUUID() : null,
    answer: null,
  }
}

/** Sends the planned intents, and then one more from each signer, after which no gap may be left. */
const sendAll = async (world: CrashWorld, plan: Plan, newSigner: Signer): Promise<readonly Intent[]> => {
  const intents: Intent[] = []
  const sent: Promise<void>[] = []
  const { ground } = world
  const signerOf = ({ signer }: Wish) => ground.signers[signer]
  const send = (signer: Signer | undefined, wish: Omit<Wish, 'signer'>) => {
    const intent = intentOf(ground, signer, wish)
    intents.push(intent)
    const asked = world.send(intent)
    // Reported below, when all of them have ended.
    asked.catch(() => {})
    sent.push(asked)
  }
  world.worker.lose(plan.lost && { ...plan.lost, kind: ground.sending })
  for (const [index, wish] of plan.wishes.entries()) {
    send(signerOf(wish), wish)
    if (index < NEW_SIGNERS_INTENTS) send(newSigner, { kind: 'pay', hasKey: wish.hasKey })
    if (plan.pauseMs > 0) await sleep(plan.pauseMs)
  }
  await Promise.all(sent)
  const senders = new Set(plan.wishes.map(signerOf))
  for (const signer of [...senders, newSigner]) send(signer, { kind: 'pay', hasKey: false })
  await Promise.all(sent)
  // A client that repeats an answered request gets the same answer.
  await Promise.all(intents.filter(({ idempotencyKey }) => idempotencyKey !== null).map(world.send))
  return intents
}

type Outcome = {
  readonly spot: Spot
  readonly kills: number
  readonly isHit: boolean
  readonly troubles: readonly string[]
}

/** Kills at the point, waits until nothing is left to do, and checks the result. */
const crash = async (world: CrashWorld, plan: Plan, spot: Spot): Promise<Outcome> => {
  const newSigner = await world.ground.newSigner()
  const process = world[spot.process]
  const victim = spot.victim === 'postgres' ? world.server : process
  const troubles: string[] = []
  const halves: Promise<readonly string[]>[] = []
  let kills = 0
  let isSettled = false
  let isOver = false
  const strike = (): Promise<void> => {
    kills += 1
    return victim.kill()
  }
  const aim = () => {
    if (isSettled) process.spare()
    else if (kills === 0) process.killAt(spot, strike)
    else if (kills === 1 && plan.again !== null) process.killAtMessage(plan.again, strike)
    else process.spare()
  }
  const revive = async (name: ProcessName | 'server'): Promise<void> => {
    for (const each = world[name]; ; ) {
      await each.ended()
      if (isOver) return
      // PostgreSQL itself is asked when it runs again.
      if (name !== 'server') troubles.push(...(await world.halves()))
      if (each === victim) await sleep(plan.restartAfterMs)
      else if (spot.phase === 'work' || each !== process)
        troubles.push(`${name} ended by itself: ${name === 'server' ? 'see its log' : world[name].lastWords()}`)
      if (each === victim || each === process) aim()
      await (name === 'server' ? world.server.start() : world.start(world[name]))
      // It may be killed once more before it answers.
      if (name === 'server') halves.push(world.halves())
    }
  }
  if (spot.phase === 'work') aim()
  for (const name of [...PROCESSES, 'server'] as const) void revive(name)
  const sending = sendAll(world, plan, newSigner)
  if (spot.phase === 'start') await process.kill()
  const intents = await sending
  halves.push(world.halves())
  await world.settle()
  const isHit = kills > 0
  // The point was not reached, so it happens now.
  if (!isHit) {
    await strike()
    await world.settle()
  }
  isSettled = true
  process.spare()
  // It may have been struck after the last look.
  await world.settle()
  isOver = true
  troubles.push(...(await Promise.all(halves)).flat())
  return { spot, kills, isHit, troubles: [...troubles, ...(await world.account(intents))] }
}

/**
 * Some points occur only while a process has nothing cached, or after a lost sending: they are reached the second time.
 */
const crashForSure = async (world: CrashWorld, plan: Plan, spot: Spot): Promise<Outcome> => {
  const first = await crash(world, plan, spot)
  if (first.isHit || first.troubles.length > 0) return first
  const second = await crash(world, { ...plan, lost: LOST }, { ...spot, nth: 1 })
  return { ...second, kills: first.kills + second.kills }
}

const nameOf = ({ victim, process, phase, wire, moment, nth, kind }: Spot): string =>
  [...(victim === 'postgres' ? [victim] : []), process, phase, wire, moment, nth, kind].join(' ')

const parseSpot = (text: string): Spot => {
  const victim = text.startsWith('postgres ') ? 'postgres' : 'process'
  const [process, phase, wire, moment, nth, ...kind] = text.replace(/^postgres /, '').split(' ')
  return { victim, process, phase, wire, moment, nth: Number(nth), kind: kind.join(' ') } as Spot
}

/** The number of messages of a kind. Each one is a step boundary, before and after it, for each victim. */
type Measured = Omit<Spot, 'nth'> & { readonly count: number }

const PROCESSES: readonly ProcessName[] = ['vault', 'api', 'worker']
const MOMENTS: readonly Moment[] = ['before', 'after']
/** After some deaths of PostgreSQL work waits half a minute for the reconciler: the short run has only chosen ones. */
const VICTIMS: readonly Spot['victim'][] = isLong ? ['process', 'postgres'] : ['process']

const wireIn = (text: string | undefined): Wire => {
  if (text === 'db' || text === 'node' || text === 'vault') return text
  throw new Error(`there is no wire ${text}`)
}

const spotsOf = (world: CrashWorld, phase: Spot['phase']): readonly Measured[] =>
  PROCESSES.flatMap((process) =>
    [...world[process].counted()].flatMap(([name, count]) => {
      const [wire, ...kind] = name.split(' ')
      return MOMENTS.flatMap((moment) =>
        VICTIMS.map((victim) => ({
          ...{ victim, process, phase, moment, count, kind: kind.join(' ') },
          wire: wireIn(wire),
        })),
      )
    }),
  )

/** Starts the processes again and lets them work undisturbed. */
const measure = async (world: CrashWorld): Promise<readonly Measured[]> => {
  for (const _ of ['first', 'again']) {
    for (const each of PROCESSES) {
      await world[each].kill()
      world[each].spare()
    }
    await Promise.all(PROCESSES.map((each) => world.start(world[each])))
    await world.listens()
  }
  const starts = spotsOf(world, 'start')
  await world.looksAround()
  for (const each of PROCESSES) world[each].spare()
  const intents = await sendAll(world, undisturbed(world.ground), await world.ground.newSigner())
  await world.settle()
  await world.chained()
  const works = spotsOf(world, 'work')
  expect(await world.account(intents)).toEqual([])
  const byName = (spot: Measured) => nameOf({ ...spot, nth: 0 })
  return [...works, ...starts].sort((a, b) => (byName(a) < byName(b) ? -1 : 1))
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b))

/**
 * Steps of the golden ratio are spread evenly in any number, and reach every index if they share no divisor with the
 * count.
 */
const strideOf = (count: number): number => {
  let stride = Math.round(count * GOLDEN_RATIO)
  while (greatestCommonDivisor(stride, count) > 1) stride += 1
  return stride
}

const spotOf = (seed: number, plan: Plan, measured: readonly Measured[]): Spot => {
  if (ONLY_POINT !== undefined) return parseSpot(ONLY_POINT)
  const found = measured[(seed * strideOf(measured.length)) % measured.length]
  if (found === undefined) throw new Error('nothing was measured')
  const { count, ...spot } = found
  return { ...spot, nth: 1 + Math.floor((plan.place / 1_000) * count) }
}

type CrashPlace = {
  readonly world: CrashWorld
  readonly measured: readonly Measured[]
  readonly seeds: readonly number[]
}

/** Lets the processes work, and records the step boundaries by name: `nth` is the number of each kind. */
const startAt = async (world: CrashWorld, points: readonly string[]): Promise<readonly Measured[]> => {
  await Promise.all(PROCESSES.map((each) => world.start(world[each])))
  await world.listens()
  return points.map((point) => {
    const { nth: count, ...spot } = parseSpot(point)
    return { ...spot, count }
  })
}

/**
 * The worlds with their runs; a world without runs is not started.
 * @param input.points the step boundaries, as a failed run prints one; without any, they are measured.
 */
const startCrashPlaces = async (
  grounds: readonly (() => Promise<Ground>)[],
  { runs, points }: { readonly runs: number; readonly points?: readonly string[] | undefined },
): Promise<readonly CrashPlace[]> => {
  const all = Array.from({ length: runs }, (_, index) => index + 1)
  const chosen = ONLY_SEED === undefined ? all : [Number(ONLY_SEED)]
  const startPlace = async (start: () => Promise<Ground>, index: number): Promise<CrashPlace[]> => {
    const seeds = chosen.filter((seed) => seed % grounds.length === index)
    if (seeds.length === 0) return []
    const world = await startCrashWorld(await start())
    return [{ world, measured: await (points === undefined ? measure(world) : startAt(world, points)), seeds }]
  }
  return (await Promise.all(grounds.map(startPlace))).flat()
}

/** Does all runs, prints them, and expects no differences. */
const expectNoTroubles = async (places: readonly CrashPlace[]): Promise<void> => {
  const outcomes: Outcome[] = []
  const failures: string[] = []
  const runAll = async ({ world, measured, seeds }: CrashPlace) => {
    for (const seed of seeds) {
      const plan = planOf(world.ground, seed)
      const spot = spotOf(seed, plan, measured)
      const outcome = await crashForSure(world, plan, spot).catch((error: unknown): Outcome => {
        const trouble = error instanceof Error ? error.message : 'unknown failure'
        return { spot, kills: 0, isHit: false, troubles: [trouble] }
      })
      outcomes.push(outcome)
      if (outcome.troubles.length === 0) continue
      const how = `STRONGROOM_CRASH_SEED=${seed} STRONGROOM_CRASH_POINT='${nameOf(outcome.spot)}'`
      failures.push([how, ...outcome.troubles].join('\n  '))
      console.log(`${failures.at(-1)}\nIts log ends:\n${world[spot.process].output().slice(-3_000)}`)
      // Unfinished work would be reported for every later run too.
      return
    }
    await world.chained()
  }
  await Promise.all(places.map(runAll))

  const kills = outcomes.reduce((sum, outcome) => sum + outcome.kills, 0)
  const hit = new Set(outcomes.filter(({ isHit }) => isHit).map(({ spot }) => nameOf(spot)))
  const kinds = new Set(outcomes.filter(({ isHit }) => isHit).map(({ spot }) => nameOf({ ...spot, nth: 0 })))
  const measured = places
    .map((place) => place.measured)
    .map((all) => {
      return `${all.reduce((sum, { count }) => sum + count, 0)} points of ${all.length} kinds`
    })
  console.log(
    `      ${outcomes.length} runs, ${kills} kills; ${hit.size} points of ${kinds.size} kinds hit; measured: ${measured.join('; ')}`,
  )
  expect(failures).toEqual([])
}

/** The test of a family. Its chains are started before it and stopped after it. */
export const testCrashes = (...of: Parameters<typeof startCrashPlaces>): void => {
  let places: readonly CrashPlace[] = []
  beforeAll(async () => {
    places = await startCrashPlaces(...of)
  }, 120_000)
  afterAll(() => Promise.all(places.map(({ world }) => world.close())), 60_000)
  test(
    'a process is killed between two steps: each intent has one effect, and nothing is left over',
    () => expectNoTroubles(places),
    1_800_000,
  )
}
