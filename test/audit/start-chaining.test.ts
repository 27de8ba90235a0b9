// The loop of a vault that chains audit rows.

import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import * as timers from 'node:timers/promises'
import postgres from 'postgres'
import { startChaining } from '../../src/vault/rooms/start-chaining.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong } from '../support/long.ts'
import { afterTests, shared } from '../support/shared.ts'
import { until } from '../support/until.ts'
import { TEST_DEPLOYMENT_KEY as deploymentKey } from '../vault/support.ts'
import { openAudit } from './support.ts'

type Line = { readonly level: 'info' | 'error'; readonly sentence: string }

const audit = await shared(openAudit())
const sql = postgres(audit.database.url, { max: 2, onnotice: () => {} })
afterTests(() => sql.end())
let lines: Line[]
let pauses: ReturnType<typeof shortenPauses>

/** The vault's pauses of a second. */
const shortenPauses = () => {
  const { setTimeout: pause } = timers
  const soon = (_: unknown, ...rest: unknown[]) => Reflect.apply(pause, null, [20, ...rest])
  return spyOn(timers, 'setTimeout').mockImplementation(soon as typeof pause)
}

beforeEach(async () => {
  await audit.tamper((by) => by`truncate audit_chain, audit restart identity cascade`)
  lines = []
  pauses = shortenPauses()
})
afterEach(() => pauses.mockRestore())

const start = () => {
  const told = (level: Line['level']) => (_: object, sentence: string) => void lines.push({ level, sentence })
  const log = { info: told('info'), error: told('error') }
  return startChaining({ db: audit.vault, deploymentKey, log, now: () => new Date() })
}

const chained = async () => (await sql`select from audit_chain`).length
test('it chains what comes, and ends after the step under way', async () => {
  const stop = start()
  await audit.write(audit.one)
  await until(async () => (await chained()) === 1)
  await using release = await holdTable(sql, 'audit_chain')
  await audit.write(audit.one, null)
  await untilWaiting(sql)
  let hasEnded = false
  const ended = stop().then(() => {
    hasEnded = true
  })
  await sql`select pg_sleep(0.05)`
  expect(hasEnded).toBe(false)
  await release()
  await ended
  const before = await chained()
  expect(before).toBeGreaterThan(1)
  await audit.write(audit.one)
  expect(await chained()).toBe(before)
  expect((await audit.verify()).broken).toEqual([])
})

test('it catches up without a pause where many rows wait', async () => {
  const rows = isLong ? 1_200 : 600
  await Promise.all(Array.from({ length: rows }, () => audit.audit.commit(audit.act())))
  const stop = start()
  await until(async () => (await chained()) === rows)
  await stop()
  expect(lines.every(({ level }) => level === 'info')).toBe(true)
})

test('while it cannot, it says so once, and goes on when it can', async () => {
  await sql`revoke insert on audit_chain from strongroom_vault`
  await audit.write(audit.one)
  const stop = start()
  await until(() => lines.length > 0)
  await sql`grant insert on audit_chain to strongroom_vault`
  await until(async () => (await chained()) === 1)
  await stop()
  expect(lines.filter(({ level }) => level === 'error')).toEqual([
    { level: 'error', sentence: 'audit rows cannot be chained: trying again every second' },
  ])
})
