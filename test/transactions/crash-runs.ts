// The API or the worker is killed between two steps of the submission pipeline, started again, and left alone until all is
// quiet; then the chain is asked what came of it. Every message of a process, to the database or to the node, is a step
// boundary: which there are is measured in a run that nobody disturbs, and the runs are spread over them.
//
// `STRONGROOM_CRASH_SEED=17 bun test test/transactions/crash.test.ts` does one run again. Where the measure comes out
// differently, `STRONGROOM_CRASH_POINT`, as a failed run prints it, makes it the same point all the same.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { Point } from '../support/mortal.ts'
import type { Moment } from '../support/wire.ts'
import type { Ground, Intent, IntentKind, Signer } from './crash-ground.ts'
import { type CrashWorld, startCrashWorld } from './crash-world.ts'

const ONLY_SEED = process.env.STRONGROOM_CRASH_SEED
const ONLY_POINT = process.env.STRONGROOM_CRASH_POINT

/** So many are sent from somebody who has sent nothing yet, beside the others. */
const NEW_SIGNERS_INTENTS = 2
const MESSAGES_OF_A_START = 40
const GOLDEN_RATIO = 0.618

type ProcessName = 'api' | 'worker'

/** Of a process that works, or of one that is just starting. */
type Spot = Point & { readonly process: ProcessName; readonly phase: 'work' | 'start' }

type Wish = {
  readonly kind: IntentKind
  readonly signer: number
  /** With an idempotency key its client asks until it is answered, else once. */
  readonly hasKey: boolean
}

type Plan = {
  readonly wishes: readonly Wish[]
  readonly pauseMs: number
  /** Which of a kind's messages, in thousandths. */
  readonly place: number
  readonly restartAfterMs: number
  /** Which sending of a transaction is lost on its way to the node, or its answer. */
  readonly lost: { readonly nth: number; readonly moment: Moment } | null
  /** Killed once more while it picks up the pieces. */
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

/** Sends what is planned, and then one more from each signer: its sequence must heal at the latest with it. */
const sendAll = async (world: CrashWorld, plan: Plan): Promise<readonly Intent[]> => {
  const intents: Intent[] = []
  const sent: Promise<void>[] = []
  const { ground } = world
  const newSigner = await ground.newSigner()
  const signerOf = ({ signer }: Wish) => ground.signers[signer]
  const send = (signer: Signer | undefined, wish: Omit<Wish, 'signer'>) => {
    const intent = intentOf(ground, signer, wish)
    intents.push(intent)
    const asked = world.send(intent)
    // Told below, when all of them have come to an end.
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
  // A client that comes again, though it was answered, gets the same answer.
  await Promise.all(intents.filter(({ idempotencyKey }) => idempotencyKey !== null).map(world.send))
  return intents
}

type Outcome = {
  readonly spot: Spot
  readonly kills: number
  readonly isHit: boolean
  readonly troubles: readonly string[]
}

/** Kills the process at the spot, lets everything come to rest, and asks what came of it. */
const crash = async (world: CrashWorld, plan: Plan, spot: Spot): Promise<Outcome> => {
  const mortal = world[spot.process]
  const killsBefore = spot.phase === 'start' ? 1 : 0
  const halves: string[] = []
  let kills = 0
  let isOver = false
  const revive = async (): Promise<void> => {
    for (;;) {
      await mortal.ended()
      if (isOver) return
      kills += 1
      halves.push(...(await world.halves()))
      await sleep(plan.restartAfterMs)
      if (kills === killsBefore) mortal.killAt(spot)
      else if (kills === killsBefore + 1 && plan.again !== null) mortal.killAtMessage(plan.again)
      else mortal.spare()
      await world.start(mortal)
    }
  }
  if (spot.phase === 'work') mortal.killAt(spot)
  void revive()
  const sending = sendAll(world, plan)
  if (spot.phase === 'start') await mortal.kill()
  const intents = await sending
  halves.push(...(await world.halves()))
  await world.settle()
  const isHit = kills > killsBefore
  // It was not met: then it dies of something else.
  if (!isHit) {
    await mortal.kill()
    await world.settle()
  }
  isOver = true
  mortal.spare()
  return { spot, kills, isHit, troubles: [...halves, ...(await world.account(intents))] }
}

/** What is met only while a process knows nothing by heart yet, or when a sending was lost, is met the second time. */
const crashForSure = async (world: CrashWorld, plan: Plan, spot: Spot): Promise<Outcome> => {
  const first = await crash(world, plan, spot)
  if (first.isHit || first.troubles.length > 0) return first
  const second = await crash(world, { ...plan, lost: LOST }, { ...spot, nth: 1 })
  return { ...second, kills: first.kills + second.kills }
}

const nameOf = ({ process, phase, wire, moment, nth, kind }: Spot): string =>
  [process, phase, wire, moment, nth, kind].join(' ')

const parseSpot = (text: string): Spot => {
  const [process, phase, wire, moment, nth, ...kind] = text.split(' ')
  return { process, phase, wire, moment, nth: Number(nth), kind: kind.join(' ') } as Spot
}

/** How many messages of a kind there were: step boundaries all of them, before and after. */
type Measured = Omit<Spot, 'nth'> & { readonly count: number }

const PROCESSES: readonly ProcessName[] = ['api', 'worker']

const spotsOf = (world: CrashWorld, phase: Spot['phase']): readonly Measured[] =>
  PROCESSES.flatMap((process) =>
    [...world[process].counted()].flatMap(([name, count]) => {
      const [wire, ...kind] = name.split(' ')
      return (['before', 'after'] as const).map((moment) => ({
        ...{ process, phase, moment, count, kind: kind.join(' ') },
        wire: wire === 'db' ? 'db' : 'node',
      }))
    }),
  )

/** Starts both processes, not for the first time, and lets them work without a disturbance. */
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
  const intents = await sendAll(world, undisturbed(world.ground))
  await world.settle()
  await world.chained()
  const works = spotsOf(world, 'work')
  expect(await world.account(intents)).toEqual([])
  const byName = (spot: Measured) => nameOf({ ...spot, nth: 0 })
  return [...works, ...starts].sort((a, b) => (byName(a) < byName(b) ? -1 : 1))
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b))

/** Steps of the golden ratio lie evenly however few there are; where they share no divisor with the count, they miss none. */
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

/** Lets both processes work, and takes the step boundaries by their names: `nth` is how many there are of a kind. */
const startAt = async (world: CrashWorld, points: readonly string[]): Promise<readonly Measured[]> => {
  await Promise.all(PROCESSES.map((each) => world.start(world[each])))
  await world.listens()
  return points.map((point) => {
    const { nth: count, ...spot } = parseSpot(point)
    return { ...spot, count }
  })
}

/**
 * Worlds with the runs of each; those without a run are not started.
 * @param input.points the step boundaries, as a failed run prints one; where there are none they are measured.
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

/** Does all runs, tells what they were, and expects nothing wrong of them. */
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
      // What was left undone would be told of every later run too.
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

/** The one test of a family: its grounds are started before, and closed after it. */
export const testCrashes = (...of: Parameters<typeof startCrashPlaces>): void => {
  let places: readonly CrashPlace[] = []
  beforeAll(async () => {
    places = await startCrashPlaces(...of)
  }, 120_000)
  afterAll(() => Promise.all(places.map(({ world }) => world.close())), 60_000)
  test(
    'a process is killed between two steps: one effect an intent, and nothing is left over',
    () => expectNoTroubles(places),
    1_800_000,
  )
}
