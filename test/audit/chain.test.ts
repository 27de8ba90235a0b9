import { beforeEach, describe, expect, test } from 'bun:test'
import { createHmac, hkdfSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { isLong, longTest } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { openAudit } from './support.ts'

const audit = await shared(openAudit())
const begun = audit.clock.now

beforeEach(async () => {
  await audit.tamper((sql) => sql`truncate audit_chain, audit restart identity cascade`)
  audit.clock.now = begun
  audit.lines.length = 0
})

type Row = Readonly<Record<'chain' | 'position' | 'audit_id' | 'actor' | 'action' | 'subject', string>> & {
  readonly project_id: string | null
  readonly at: Date
  readonly details: Readonly<Record<string, string>>
  readonly head: Buffer
  readonly mac: Buffer
}

const links = (chain?: string) =>
  audit.superuser<
    Row[]
  >`select c.chain, c.position, c.audit_id, c.head, a.mac, a.project_id, a.at, a.actor, a.action, a.subject, a.details from audit_chain c
    join audit a on a.id = c.audit_id where ${chain ?? null}::text is null or c.chain = ${chain ?? null}
    order by c.chain, c.position`

const joined = (parts: readonly (string | Uint8Array)[]): Buffer =>
  Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )

/** The chain by hand, written from its description, without code of src. */
const headByHand = (deploymentKey: Uint8Array, previous: Uint8Array, row: Row): string => {
  const { chain, position, audit_id, mac, project_id, at, actor, action, subject, details } = row
  const named = Object.keys(details)
    .sort()
    .flatMap((name) => [name, details[name] ?? ''])
  const content = joined([project_id ?? '', at.toISOString(), actor, action, subject, ...named])
  const key = Buffer.from(hkdfSync('sha256', deploymentKey, new Uint8Array(), joined(['audit chain']), 32))
  return createHmac('sha256', key)
    .update(joined([chain, position, previous, audit_id, mac, content]))
    .digest('hex')
}

describe('the chain', () => {
  test("has each project's rows, and the deployment's, in order and without a gap", async () => {
    const { one, other } = audit
    await audit.write(one, null, other, one, null, one)
    await audit.chain()
    const rows = await links()
    expect(rows.map(({ chain, position, audit_id }) => [chain, position, audit_id])).toEqual(
      [
        [one, '1', '1'],
        [one, '2', '4'],
        [one, '3', '6'],
        [other, '1', '3'],
        ['deployment', '1', '2'],
        ['deployment', '2', '5'],
      ].sort(([a = '', b = ''], [c = '', d = '']) => (a + b < c + d ? -1 : 1)),
    )
  })

  test('binds each row to all before it, as described', async () => {
    await audit.write(audit.one, audit.one, null)
    await audit.chain()
    const deploymentKey = new Uint8Array(32).fill(0x33)
    for (const chain of [audit.one, 'deployment']) {
      let previous: Uint8Array = new Uint8Array()
      for (const row of await links(chain)) {
        expect(row.head.toString('hex')).toBe(headByHand(deploymentKey, previous, row))
        previous = row.head
      }
    }
  })

  test('continues where it ended, in any process, and does nothing without new rows', async () => {
    await audit.write(audit.one)
    await audit.chain()
    await audit.write(audit.one, audit.one)
    expect(await audit.chainer().step()).toBe('caught_up')
    const rows = await links()
    expect(rows.map(({ position }) => position)).toEqual(['1', '2', '3'])
    expect(await audit.chainer().step()).toBe('caught_up')
    expect(await links()).toEqual(rows)
    expect((await audit.verify()).broken).toEqual([])
  })

  longTest('adds a limited number of rows in each step', async () => {
    await Promise.all(Array.from({ length: 600 }, () => audit.audit.commit(audit.act())))
    const { step } = audit.chainer()
    const counts: number[] = []
    for (let steps = 0; steps < 3; steps += 1) {
      await step()
      counts.push((await links()).length)
    }
    expect(counts).toEqual([250, 500, 600])
    expect(await audit.verify()).toMatchObject({ rows: 600n, broken: [], unchained: { rows: 0, oldest: null } })
  })

  test('takes no larger rows from anybody, and reads those of an earlier table by their bytes', async () => {
    const { superuser, api, worker, vault } = audit
    const insert = (details: string, { also = '', rows = 1 } = {}) =>
      `insert into audit (project_id, at, actor, action, subject, details, mac)
        select null, date_trunc('milliseconds', now()), 'x', 'api_key_created', 'x'${also}, ${details}, '\\x00' from generate_series(1, ${rows})`
    const parts = { k: (bytes: number) => `jsonb_build_object('k', repeat('x', ${bytes}))` }
    const large = [insert(parts.k(65_536)), insert(`'{}'`, { also: ` || repeat('x', 8192)` })]
    for (const db of [api, worker, vault]) {
      for (const text of large) {
        const refused = await db.execute(sql.raw(text)).catch((error: unknown) => error)
        expect(refused).toMatchObject({ cause: { constraint: 'audit_size' } })
      }
      await db.execute(sql.raw(insert(parts.k(65_000))))
    }
    await superuser.unsafe('alter table audit drop constraint audit_size')
    // Compressed they take a few kilobytes each, and random ones do not get smaller.
    await superuser.unsafe(insert(parts.k(1_000_000), { rows: 2 }))
    const random = `(select jsonb_build_object('k', string_agg(md5(n::text), '')) from generate_series(1, 62_500) n)`
    const randomRows = isLong ? 2 : 1
    await superuser.unsafe(insert(random, { rows: randomRows }))
    const { step } = audit.chainer()
    const counts: number[] = []
    do counts.push((await links()).length)
    while ((await step()) === 'advanced')
    counts.push((await links()).length)
    const most = Math.max(...counts.map((count, at) => count - (counts[at - 1] ?? 0)))
    const all = 5 + randomRows
    expect([most < all, counts.at(-1)]).toEqual([true, all])
    expect(await audit.verify()).toMatchObject({ rows: BigInt(all), broken: [], unchained: { rows: 0 } })
  })

  test('gives a row that was committed late the next position, without waiting for it', async () => {
    const release = Promise.withResolvers<void>()
    const inserted = Promise.withResolvers<void>()
    const slow = audit.vault.transaction(async (tx) => {
      await audit.audit.record(tx, audit.act())
      inserted.resolve()
      await release.promise
    })
    await inserted.promise
    await audit.write(audit.one)
    const { step } = audit.chainer()
    await step()
    expect((await links()).map((row) => row.audit_id)).toEqual(['2'])
    release.resolve()
    await slow
    await step()
    expect((await links()).map((row) => row.audit_id)).toEqual(['2', '1'])
    expect(await audit.verify()).toMatchObject({ broken: [], unchained: { rows: 0 } })
  })

  test('finds a row that was committed after thousands of others', async () => {
    const release = Promise.withResolvers<void>()
    const inserted = Promise.withResolvers<void>()
    const slow = audit.vault.transaction(async (tx) => {
      await audit.audit.record(tx, audit.act(null))
      inserted.resolve()
      await release.promise
    })
    await inserted.promise
    // The chain looks at the ids alone, so these stand for all the rows between them.
    for (const id of [5_750, 11_500]) {
      await audit.superuser`select setval('audit_id_seq', ${id})`
      await audit.write(audit.one)
    }
    await audit.chain()
    release.resolve()
    await slow
    const { step } = audit.chainer()
    let steps = 0
    while ((await links('deployment')).length === 0 && steps < 10) {
      await step()
      steps += 1
      // Constant new rows do not prevent the search.
      await audit.write(audit.one)
    }
    expect(steps).toBeLessThanOrEqual(3)
    expect((await links('deployment')).map((row) => row.audit_id)).toEqual(['1'])
  })

  test('is never extended twice by two processes: the slower one does nothing', async () => {
    await Promise.all(
      Array.from({ length: 240 }, (_, index) => audit.audit.commit(audit.act(index % 3 ? audit.one : null))),
    )
    const results = await Promise.all([audit.chainer().step(), audit.chainer().step(), audit.chainer().step()])
    expect(results.filter((result) => result === 'caught_up').length).toBeGreaterThanOrEqual(1)
    expect(results.every((result) => result === 'caught_up' || result === 'overtaken')).toBe(true)
    expect((await links()).length).toBe(240)
    expect((await audit.verify()).broken).toEqual([])
  })

  longTest('can be written and verified while rows are written', async () => {
    let writing = true
    const { step } = audit.chainer()
    const chaining = (async () => {
      while (writing) {
        await step()
        expect((await audit.verify()).broken).toEqual([])
      }
    })()
    const writers = Array.from({ length: 6 }, async (_, index) => {
      for (let count = 0; count < 60; count += 1) {
        if (count % 3 > 0) await audit.write(index % 2 ? audit.one : audit.other)
        else {
          await audit.vault.transaction(async (tx) => {
            await audit.audit.record(tx, audit.act(null))
            await sleep(index * 3)
          })
        }
      }
    })
    await Promise.all(writers)
    writing = false
    await chaining
    await audit.chain()
    expect(await audit.verify()).toMatchObject({ rows: 360n, broken: [], unchained: { rows: 0 } })
  })

  test('raises an alarm for a row of a vault that no vault wrote, but chains it too', async () => {
    await audit.superuser`insert into audit (project_id, at, actor, action, subject, details, mac)
      values (${audit.one}, now(), 'operator', 'transaction_signed', 'x', '{}', '\\x00')`
    await audit.chain()
    expect(await links()).toHaveLength(1)
    expect(audit.lines.filter(({ level }) => level >= 50)).toMatchObject([
      { msg: 'an audit row says that a vault wrote it, and none did', rows: 1, auditId: '1' },
    ])
  })

  test('can be extended by a vault, not changed, and by no other process', async () => {
    await audit.write(audit.one)
    await audit.chain()
    const changes = ["update audit_chain set head = ''", 'delete from audit_chain', 'truncate audit_chain']
    const additions = ["insert into audit_chain values ('x', 1, 1, '')"]
    for (const role of ['api', 'worker', 'vault'] as const) {
      for (const statement of role === 'vault' ? changes : [...changes, ...additions]) {
        const run = async () => audit[role].execute(statement)
        await expect(run()).rejects.toMatchObject({ cause: { code: '42501' } })
      }
    }
    const read = async () => audit.api.execute('select head from audit_chain')
    await expect(read()).rejects.toMatchObject({ cause: { code: '42501' } })
    await expect(audit.superuser`delete from audit_chain`.then(() => 'done')).rejects.toThrow('append-only')
  })
})

describe('heads in the log', () => {
  const published = () => audit.lines.filter(({ msg }) => msg === 'audit head').map(({ head }) => head)
  const heads = async () => (await audit.verify()).heads

  test('appear when they move, one line for each chain, and can be verified', async () => {
    await audit.write(audit.one, audit.one, null)
    const { step } = audit.chainer()
    await step()
    expect(published().sort()).toEqual((await heads()).toSorted())
    await step()
    expect(published()).toHaveLength(2)
    const [line] = audit.lines
    expect(line).toMatchObject({ chain: audit.one, position: '2', level: 30 })
  })

  longTest('of a chain that moves constantly appear once in ten seconds, with the newest one', async () => {
    const { step } = audit.chainer()
    for (let second = 0; second < 25; second += 1) {
      await audit.write(audit.one)
      await step()
      audit.clock.now = new Date(audit.clock.now.getTime() + 1_000)
    }
    expect(published().map((head) => String(head).split(':')[1])).toEqual(['1', '11', '21'])
    await step()
    expect(published()).toHaveLength(3)
    audit.clock.now = new Date(audit.clock.now.getTime() + 10_000)
    await step()
    expect(published().at(-1)).toBe((await heads())[0])
    expect(published()).toHaveLength(4)
  })

  longTest('of many chains appear a few at a time, each in its turn', async () => {
    const projects = Array.from({ length: 50 }, () => crypto.randomUUID())
    await audit.superuser`insert into projects ${audit.superuser(projects.map((id) => ({ id, name: 'P' })))}`
    await audit.write(...projects)
    const { step } = audit.chainer()
    const counts: number[] = []
    for (let steps = 0; steps < 4; steps += 1) {
      await step()
      counts.push(published().length)
    }
    expect(counts).toEqual([20, 40, 50, 50])
    expect(new Set(published()).size).toBe(50)
  })

  longTest('that a process did not publish are published by the next one', async () => {
    await audit.write(audit.one)
    await audit.chain()
    audit.lines.length = 0
    await audit.chainer().step()
    expect(published()).toEqual([...(await heads())])
  })
})
