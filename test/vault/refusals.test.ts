// What the vault refuses is in its audit before the answer, and who tries without end fills neither the audit nor its
// memory.

import { beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { auditVerifier } from '../../src/platform/audit/audit.ts'
import { AppError, type SecurityEvent } from '../../src/platform/errors.ts'
import { createRefusals } from '../../src/vault/rooms/refusals.ts'
import { openAudit } from '../audit/support.ts'
import { shared } from '../support/shared.ts'
import { TEST_DEPLOYMENT_KEY } from './support.ts'

let errors: object[]

const world = await shared(openAudit())
const { sql } = world.database
await sql`alter table audit disable trigger user`
beforeEach(async () => {
  errors = []
  await sql`delete from audit`
})

const open = (windowMs = 3_600_000) => {
  const log = { error: (facts: object) => void errors.push(facts) }
  const { vault: db, audit } = world
  const refusals = createRefusals({ db, audit, log, windowMs, now: () => world.clock.now })
  return {
    flush: refusals.flush,
    refuse: async (subject: string, change: Partial<SecurityEvent> = {}) => {
      const event = { kind: 'wrong_pin', projectId: world.one, actor: 'api_key:1', subject, ...change } as const
      const refusal = new AppError('INVALID_SECRET', 'The credential is wrong.', { event })
      const refused = refusals.recording(() => refusals.recording(() => Promise.reject(refusal)))
      await expect(refused).rejects.toBe(refusal)
    },
  }
}

const rows = async () => {
  const found = await sql`select * from audit order by id`
  return found.map(({ action, subject, details }) => [action, subject, Number(details.count)])
}
const sumOf = (of: Awaited<ReturnType<typeof rows>>) => of.reduce((sum, [, , count]) => sum + Number(count), 0)

test('a refusal is in the audit once, under the key of vaults, before its error is returned', async () => {
  const { refuse } = open()
  await refuse('alice', { details: { from: '192.0.2.1' } })
  const [row] = await sql`select project_id as "projectId", at, actor, action, subject, details, mac from audit`
  const at = world.clock.now.toISOString()
  expect(row).toMatchObject({
    ...{ projectId: world.one, actor: 'api_key:1', action: 'wrong_pin', subject: 'alice' },
    details: { from: '192.0.2.1', count: '1', since: at, until: at },
  })
  expect(auditVerifier(TEST_DEPLOYMENT_KEY)(row as never)).toBe(true)
  expect(await rows()).toHaveLength(1)
})

test('the first refusal of a group has a row at once, and later ones share a row', async () => {
  const { refuse, flush } = open()
  for (let tries = 0; tries < 50; tries += 1) await refuse('alice')
  await refuse('alice', { kind: 'owner_locked' })
  await refuse('bob')
  expect(await rows()).toEqual([
    ['wrong_pin', 'alice', 1],
    ['owner_locked', 'alice', 1],
    ['wrong_pin', 'bob', 1],
  ])
  await flush()
  expect((await rows()).slice(3)).toEqual([['wrong_pin', 'alice', 49]])
  // What goes on is counted on.
  await refuse('alice')
  expect(await rows()).toHaveLength(4)
  await flush()
  expect((await rows()).slice(4)).toEqual([['wrong_pin', 'alice', 1]])
  await flush()
  await refuse('alice')
  expect(await rows()).toHaveLength(6)
})

test('every refusal is counted exactly once over a long time', async () => {
  const { refuse, flush } = open(20)
  let sent = 0
  while ((await rows()).length < 4) {
    await refuse('alice')
    sent += 1
  }
  await flush()
  expect(sumOf(await rows())).toBe(sent)
})

test('attempts with ever new owners and names neither fill the audit nor hide other kinds of refusals', async () => {
  const { refuse, flush } = open()
  await Promise.all(Array.from({ length: 2_000 }, (_, n) => refuse(`owner ${n}`, { actor: `api_key:${n}` })))
  await refuse('alice', { kind: 'owner_locked' })
  expect(await rows()).toHaveLength(11)
  expect(await rows()).toContainEqual(['owner_locked', 'alice', 1])
  await flush()
  const all = await rows()
  expect(all.length).toBeLessThan(40)
  expect(sumOf(all)).toBe(2_001)
})

describe('a refusal that cannot be written', () => {
  test('because its project does not exist is recorded for the deployment, and does not affect others', async () => {
    const { refuse } = open()
    const projectId = randomUUID()
    const signed = Array.from({ length: 20 }, () => world.audit.commit(world.act()))
    await Promise.all([...signed, refuse('w', { kind: 'wallet_forged', projectId })])
    const [row] = await sql`select project_id, details from audit where action = 'wallet_forged'`
    expect(row).toMatchObject({ project_id: null, details: { project: projectId, count: '1' } })
    expect(errors).toEqual([])
  })

  test('is logged, kept and written later', async () => {
    const { refuse, flush } = open()
    await sql`alter table audit add constraint refuse check (false) not valid`
    try {
      await refuse('alice')
    } finally {
      await sql`alter table audit drop constraint refuse`
    }
    expect(errors).toMatchObject([{ kind: 'wrong_pin', count: 1 }])
    await refuse('alice')
    expect(await rows()).toEqual([])
    await flush()
    expect(await rows()).toEqual([['wrong_pin', 'alice', 2]])
  })
})

test('of a very long text only the beginning is kept, without half a character', async () => {
  const refusals = open()
  // A character of two UTF-16 units lies across the cut.
  const long = `${'x'.repeat(511)}😀${'y'.repeat(1_000_000)}`
  await refusals.refuse(long, { actor: long, details: { from: long } })
  await refusals.flush()
  const kept = `${'x'.repeat(511)}\ufffd`
  const rows = await sql`select actor, subject, details->>'from' as "from" from audit`
  expect([...rows]).toEqual([{ actor: kept, subject: kept, from: kept }])
})
