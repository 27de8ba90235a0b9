// Extrinsics through crashes: crash-runs.ts.

import { afterAll, beforeAll, test } from 'bun:test'
import { type CrashPlace, expectNoTroubles, startCrashPlaces } from './crash-runs.ts'
import { startSubstrateGround } from './crash-substrate.ts'

const IS_LONG = process.env.STRONGROOM_LONG === '1'
const RUNS = IS_LONG ? 100 : 2

/** Where it matters most: a measure would take longer than these runs. */
const POINTS = [
  'api work db after 3 commit (select add_strongroom_job)',
  'worker work node after 3 author_submitExtrinsic',
]

let places: readonly CrashPlace[] = []

beforeAll(async () => {
  const grounds = (['by clock', 'at once'] as const).map(
    (blocks) => () => startSubstrateGround({ blocks, mints: IS_LONG }),
  )
  places = await startCrashPlaces(IS_LONG ? grounds : grounds.slice(0, 1), {
    ...{ runs: RUNS, points: IS_LONG ? undefined : POINTS },
  })
}, 120_000)

afterAll(() => Promise.all(places.map(({ world }) => world.close())), 60_000)

test(
  'a process is killed between two steps: one effect an intent, and nothing is left over',
  () => expectNoTroubles(places),
  1_800_000,
)
