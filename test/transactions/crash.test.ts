// Transactions of EVM networks, and of Safes among them, through crashes: crash-runs.ts.

import { afterAll, beforeAll, test } from 'bun:test'
import { startEvmGround } from './crash-evm.ts'
import { type CrashPlace, expectNoTroubles, startCrashPlaces } from './crash-runs.ts'

const RUNS = process.env.STRONGROOM_LONG === '1' ? 200 : 20

let places: readonly CrashPlace[] = []

beforeAll(async () => {
  places = await startCrashPlaces([() => startEvmGround('at once'), () => startEvmGround('by clock')], { runs: RUNS })
}, 120_000)

afterAll(() => Promise.all(places.map(({ world }) => world.close())), 60_000)

test(
  'a process is killed between two steps: one effect an intent, and nothing is left over',
  () => expectNoTroubles(places),
  1_800_000,
)
