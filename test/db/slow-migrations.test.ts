// Migrations of a table with 10,000,000 rows, while others read and write it.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { makeSizeRows } from '../../bench/size-rows.ts'
import { isOutside, migrate, readMigrations } from '../../db/migrate.ts'
import { isLeftOut } from '../support/long.ts'
import { withMigrations } from '../support/migrations.ts'
import { type Service, startService } from '../support/service.ts'

const SIZES = { wallets: 20_000, movements: 10_000_000, attempts: 70_000, auditRows: 100_000 }
const NOT_RUN = isLeftOut('migrations of a table with 10,000,000 rows')

let service: Service
let sql: Sql

beforeAll(async () => {
  if (NOT_RUN) return
  service = await startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } })
  await makeSizeRows({ url: service.database.url, sizes: SIZES })
  sql = postgres(service.database.url, { max: 4, onnotice: () => {} })
}, 1_800_000)

afterAll(async () => {
  if (NOT_RUN) return
  await sql.end()
  await service.close()
})

/** The longest time that a statement on the table took, while `work` ran. */
const longestWaitMs = async (work: () => Promise<unknown>): Promise<number> => {
  let isOver = false
  let longestMs = 0
  const ask = async () => {
    while (!isOver) {
      const begun = performance.now()
      await sql.begin(async (tx) => {
        // The lock of a write; no row is there to be changed.
        await tx`update movements set amount = amount where block_number = -1`
      })
      longestMs = Math.max(longestMs, performance.now() - begun)
    }
  }
  const asking = ask()
  await work().finally(() => {
    isOver = true
  })
  await asking
  return longestMs
}

test.skipIf(NOT_RUN)(
  'those after the baseline, and those that our rules allow, hold up a writer far less than one that our rules forbid',
  async () => {
    const [, ...later] = readMigrations()
    const folder = await withMigrations(
      'alter table movements add column later text;--> statement-breakpoint\nalter table movements add constraint positive check (block_number > -2) not valid;',
      '-- outside of a transaction\ncreate index concurrently if not exists later on movements (later);--> statement-breakpoint\nalter table movements validate constraint positive;',
    )
    const forbiddenMs = await longestWaitMs(() => sql`create index forbidden on movements (block_number, amount)`)
    const allowedMs = await longestWaitMs(() => migrate(service.database.url, { migrationsFolder: folder }))
    console.log(
      `A writer waited at most ${Math.round(allowedMs)} ms, and ${Math.round(forbiddenMs)} ms for a forbidden one;`,
      `${later.length} migrations after the baseline, ${later.filter(isOutside).length} of them without a transaction.`,
    )
    expect(allowedMs).toBeLessThan(forbiddenMs / 5)
  },
  1_800_000,
)
