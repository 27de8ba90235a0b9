import { beforeEach, expect, test } from 'bun:test'
import { openDb } from '../../db/client.ts'
import { createVaultAudit } from '../../src/platform/audit/audit.ts'
import { createRefusedConnections } from '../../src/vault/rooms/refused-connections.ts'
import { createDatabase } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'
import { TEST_DEPLOYMENT_KEY as deploymentKey, NOW } from './support.ts'

let lines: object[]

const database = await shared(createDatabase())
const { sql } = database
const db = openDb({ url: database.vaultUrl, maxConnections: 2, applicationName: 'refused' })
afterTests(() => db.close({ timeoutSeconds: 5 }))
beforeEach(async () => {
  lines = []
  await sql`alter table audit disable trigger all`
  await sql`delete from audit`
})

const open = (windowMs?: number) => {
  const log = { warn: (facts: object) => lines.push(facts), error: (facts: object) => lines.push(facts) }
  const now = () => NOW
  const parts = { audit: createVaultAudit({ db, deploymentKey, now }), log, now }
  return createRefusedConnections(windowMs === undefined ? parts : { ...parts, windowMs })
}

const rows = async (least: number) => {
  for (;;) {
    const found = await sql`select details from audit where action = 'vault_connection_refused' order by id`
    if (found.length >= least) return found.map(({ details }) => [details.why, details.client, details.count])
  }
}

test('the first of a reason is in the audit at once, and the others of half a minute share a row', async () => {
  const refused = open()
  for (let each = 0; each < 1_000; each += 1) refused.record({ why: 'too large', name: `client ${each}` })
  refused.record({ why: 'unknown', name: null })
  expect((await rows(2)).sort()).toEqual([
    ['too large', 'client 0', '1'],
    ['unknown', '', '1'],
  ])
  await refused.stop()
  expect(await rows(3)).toHaveLength(3)
  expect((await rows(3))[2]).toEqual(['too large', 'client 1', '999'])
  expect(lines).toHaveLength(11)
})

test('every one is counted once, however long it goes on', async () => {
  const refused = open(20)
  let sent = 0
  while ((await rows(0)).length < 4) {
    refused.record({ why: 'too large', name: 'api' })
    sent += 1
  }
  await refused.stop()
  const counts = (await rows(4)).map(([, , count]) => Number(count))
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(sent)
  expect(counts[0]).toBe(1)
})
