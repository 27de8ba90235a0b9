// Many security events are counted in bounded memory and written as few rows. A count that cannot be written is kept.

import { beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { API_EVENTS, type ApiAction } from '../../db/words.ts'
import { createSecurityEvents } from '../../src/identity/security-events.ts'
import type { AuditAct } from '../../src/platform/audit/audit.ts'
import { createCounts, describeEvent, rowsOf } from '../../src/platform/audit/counted-events.ts'
import type { SecurityEvent } from '../../src/platform/errors.ts'
import { createMetrics, type Metrics } from '../../src/platform/metrics/metrics.ts'
import { createLog } from '../../src/platform/process/log.ts'
import { openAudit } from '../audit/support.ts'
import { shared } from '../support/shared.ts'

type Line = { readonly msg: string; readonly securityEvent?: object }

let lines: Line[]
let metrics: Metrics

const world = await shared(openAudit())
beforeEach(() => {
  lines = []
})

/** Security events of a process, with the audit of a real database. */
const open = (commit = (act: AuditAct<ApiAction>) => world.apiAudit.commit(act)) => {
  const write = (line: string) => void lines.push(JSON.parse(line))
  const log = createLog({ config: { logLevel: 'warn' }, process: 'test', write })
  metrics = createMetrics([])
  return createSecurityEvents({ written: API_EVENTS, audit: { commit }, metrics, log, now: () => world.clock.now })
}

/** The rows by kind. */
const counted = async () => {
  const { values } = await metrics.securityEvents.get()
  return Object.fromEntries(values.flatMap(({ labels, value }) => (value === 0 ? [] : [[labels.kind, value]])))
}
const told = () => lines.filter(({ securityEvent }) => securityEvent !== undefined)

const wrongCode = (subject: string, rest: Partial<SecurityEvent> = {}): SecurityEvent => ({
  kind: 'wrong_email_code',
  projectId: world.one,
  actor: 'api_key:1',
  subject,
  ...rest,
})

const rowsSince = async (id: bigint) => {
  const rows = await world.superuser<
    {
      id: bigint
      action: string
      actor: string
      subject: string
      project: string | null
      details: Record<string, string>
    }[]
  >`select id, action, actor, subject, project_id as project, details from audit where id > ${String(id)} order by id`
  return rows.map((row) => ({ ...row }))
}
const newest = async (): Promise<bigint> => {
  const [row] = await world.superuser`select coalesce(max(id), 0) as id from audit`
  return BigInt(row?.id)
}

describe('security events', () => {
  test('of one kind and subject make one row with a count and times', async () => {
    const events = open()
    const before = await newest()
    const start = world.clock.now
    for (let count = 0; count < 300; count += 1) {
      world.clock.now = new Date(start.getTime() + count * 10)
      events.record({ event: wrongCode('alice'), from: '192.0.2.1' })
    }
    events.record({ event: wrongCode('bob'), from: '192.0.2.1' })
    events.record({ event: wrongCode('alice'), from: '192.0.2.2' })
    events.record({
      event: { kind: 'login_failed', projectId: world.one, details: { way: 'wallet' } },
      from: '2001:db8::/64',
    })
    events.record({ event: { kind: 'login_throttled', projectId: null }, from: '' })
    await events.flush()
    const until = new Date(start.getTime() + 2_990).toISOString()
    const by = { action: 'wrong_email_code', actor: 'api_key:1', project: world.one }
    const once = { count: '1', since: until, until }
    expect((await rowsSince(before)).map(({ id: _, ...row }) => row)).toEqual([
      { ...by, subject: 'alice', details: { from: '192.0.2.1', count: '300', since: start.toISOString(), until } },
      { ...by, subject: 'bob', details: { from: '192.0.2.1', ...once } },
      { ...by, subject: 'alice', details: { from: '192.0.2.2', ...once } },
      {
        action: 'login_failed',
        actor: 'stranger',
        project: world.one,
        subject: '2001:db8::/64',
        details: { way: 'wallet', from: '2001:db8::/64', ...once },
      },
      { action: 'login_throttled', actor: 'stranger', project: null, subject: 'unknown', details: once },
    ])
    expect(told().length).toBe(5)
    expect(await counted()).toEqual({ wrong_email_code: 302, login_failed: 1, login_throttled: 1 })
  })

  test('are written once: a flush without new events writes nothing', async () => {
    const events = open()
    events.record({ event: wrongCode('alice'), from: '' })
    await events.flush()
    const before = await newest()
    await events.flush()
    expect(await rowsSince(before)).toEqual([])
  })

  test('of ever new subjects fill neither memory nor table, and all are counted', async () => {
    const events = open()
    const before = await newest()
    for (let owner = 0; owner < 5_000; owner += 1) {
      for (let times = 0; times < (owner < 3 ? 50 : 1); times += 1) {
        events.record({ event: wrongCode(`owner ${owner}`), from: '192.0.2.1' })
      }
      events.record({
        event: { kind: 'origin_refused', projectId: world.one, details: { origin: `https://${owner}.example` } },
        from: '',
      })
    }
    await events.flush()
    const rows = await rowsSince(before)
    expect(rows.length).toBeLessThanOrEqual(27)
    const sum = (action: string) =>
      rows.filter((row) => row.action === action).reduce((total, row) => total + Number(row.details.count), 0)
    expect([sum('wrong_email_code'), sum('origin_refused')]).toEqual([5_147, 5_000])
    const ownRows = rows.filter(({ subject }) => /^owner [012]$/.test(subject)).map(({ details }) => details.count)
    expect(ownRows).toEqual(['50', '50', '50'])
    const others = rows
      .filter(({ subject }) => subject === 'others')
      .map(({ action, project, details }) => [action, project, Object.keys(details)])
    expect(others.sort()).toEqual([
      ['origin_refused', world.one, ['count', 'since', 'until']],
      ['wrong_email_code', world.one, ['count', 'since', 'until']],
    ])
    expect(told().length).toBe(20)
  })

  test('of one kind cannot hide another kind, however many there are', async () => {
    const events = open()
    const before = await newest()
    const forged = (count: number, from: number) => {
      for (let number = from; number < from + count; number += 1) {
        const event = { kind: 'refresh_token_forged', projectId: null, subject: `session ${number}` } as const
        for (let times = 0; times < 3; times += 1) events.record({ event, from: '192.0.2.1' })
      }
    }
    forged(2_000, 0)
    events.record({ event: wrongCode('alice', { kind: 'session_mismatch' }), from: '192.0.2.2' })
    const reused = { kind: 'refresh_token_reused', projectId: world.one, subject: 'a session' } as const
    events.record({ event: reused, from: '192.0.2.3' })
    forged(2_000, 2_000)
    const rare = told().filter(({ securityEvent }) => !JSON.stringify(securityEvent).includes('refresh_token_forged'))
    expect(rare.length).toBe(2)
    await events.flush()
    const rows = await rowsSince(before)
    expect(rows.length).toBeLessThanOrEqual(27)
    expect(rows).toContainEqual(
      expect.objectContaining({ action: 'session_mismatch', subject: 'alice', project: world.one }),
    )
    expect(rows).toContainEqual(
      expect.objectContaining({ action: 'refresh_token_reused', subject: 'a session', project: world.one }),
    )
    const sum = rows.reduce((total, row) => total + Number(row.details.count), 0)
    expect(sum).toBe(12_002)
  })

  test('of one project cannot hide those of another, however many there are', async () => {
    const events = open()
    const before = await newest()
    const flood = (from: number) => {
      for (let number = from; number < from + 1_000; number += 1) {
        for (let times = 0; times < 3; times += 1)
          events.record({ event: wrongCode(`user ${number}`), from: '192.0.2.1' })
      }
    }
    flood(0)
    events.record({ event: wrongCode('alice', { projectId: world.other }), from: '192.0.2.2' })
    flood(1_000)
    await events.flush()
    const rows = await rowsSince(before)
    expect(rows.length).toBeLessThanOrEqual(26)
    expect(rows).toContainEqual(expect.objectContaining({ subject: 'alice', project: world.other }))
    const ofOne = rows.filter(({ project }) => project === world.one)
    expect(ofOne.reduce((total, { details }) => total + Number(details.count), 0)).toBe(6_000)
  })

  test('of more projects than there are rows are all counted, and those that have a row learn their own number', () => {
    const counts = createCounts()
    const projects = Array.from({ length: 30 }, () => randomUUID())
    const once = { count: 1, sinceMs: 0, untilMs: 1 }
    for (const subject of ['alice', 'bob', 'carol'])
      for (const projectId of projects)
        counts.add(describeEvent({ event: wrongCode(subject, { projectId }), from: '' }), once)
    const rows = rowsOf(counts.values()).map(({ projectId, subject, count }) => `${projectId} ${subject} ${count}`)
    const told = projects.slice(0, 25)
    const expected = [...told.flatMap((project) => [`${project} alice 1`, `${project} others 2`]), 'null others 15']
    expect(rows.toSorted()).toEqual(expected.toSorted())
  })

  test('of the vault are measured and logged, and the vault writes their rows', async () => {
    const events = open()
    const before = await newest()
    events.record({ event: wrongCode('alice', { kind: 'wrong_pin' }), from: '' })
    await events.flush()
    expect(await rowsSince(before)).toEqual([])
    expect([told().length, await counted()]).toEqual([1, { wrong_pin: 1 }])
  })

  test('that could not be written are kept and written later', async () => {
    let isAway = true
    const events = open(async (act) => {
      if (isAway) throw new Error('the database is away')
      await world.apiAudit.commit(act)
    })
    const before = await newest()
    events.record({ event: wrongCode('alice'), from: '' })
    await events.flush()
    events.record({ event: wrongCode('alice'), from: '' })
    isAway = false
    await events.flush()
    expect((await rowsSince(before)).map(({ subject, details }) => [subject, details.count])).toEqual([['alice', '2']])
  })

  test('are audit rows like all others: chained and verified, and a change is detected', async () => {
    const events = open()
    for (const event of [wrongCode('alice'), wrongCode('bob', { projectId: null })])
      events.record({ event, from: '192.0.2.1' })
    await events.flush()
    await world.chain()
    const broken = async () => [...(await world.verify()).broken, ...(await world.verifyService()).broken]
    expect(await broken()).toEqual([])
    await world.tamper(
      (sql) => sql`update audit set details = details || '{"count": "0"}' where subject = 'bob' and project_id is null`,
    )
    expect((await broken()).map(({ chain }) => chain)).toEqual(['deployment', 'deployment'])
  })
})
