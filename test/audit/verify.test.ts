// The owner of the database can switch its triggers off. Each test makes a change that the owner could make, and expects it
// to be found at the changed row.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { createLinkMaker } from '../../src/audit/chain.ts'
import type { NotedHead } from '../../src/audit/verify.ts'
import { createAudit } from '../../src/custody/audit.ts'
import { openAudit, type TestAudit } from './support.ts'

let audit: TestAudit

/** Rows 1, 3, 4, 6 and 7 belong to one project, 2 to the other, 5 to the deployment; 8 is not chained. */
beforeEach(async () => {
  audit = await openAudit()
  const { one, other } = audit
  await audit.write(one, other, one, one, null, one, one)
  await audit.chain()
  await audit.write(one)
})
afterEach(() => audit.close())

const noted = async (): Promise<readonly NotedHead[]> => (await audit.verify()).ends

const found = async (input: Parameters<TestAudit['verify']>[0] = {}) =>
  (await audit.verify(input)).broken.map(({ chain, position, auditId, trouble }) => ({
    chain: chain === audit.one ? 'one' : chain === audit.other ? 'other' : chain,
    position: position === null ? null : Number(position),
    auditId: auditId === null ? null : Number(auditId),
    trouble,
  }))

const row = 'its audit row is not as it was written'
const link = 'it does not follow from what comes before it'

test('unchanged chains are valid, and the unchained rows are counted', async () => {
  const verification = await audit.verify({ heads: await noted() })
  expect(verification).toMatchObject({ rows: 7n, broken: [], unchained: { rows: 1, oldest: audit.clock.now } })
  expect(verification.ends.map(({ position }) => Number(position)).sort()).toEqual([1, 1, 5])
})

test('an empty audit is valid', async () => {
  await audit.tamper((sql) => sql`truncate audit_chain, audit`)
  expect(await audit.verify()).toMatchObject({ rows: 0n, ends: [], broken: [], unchained: { rows: 0, oldest: null } })
})

describe('an edited row', () => {
  test.each([
    ["actor = 'system'"],
    ["action = 'wallet_created'"],
    ["subject = 'x'"],
    ["at = at + interval '1 millisecond'"],
    ["at = at + interval '1 microsecond'"],
    ["at = at - interval '1 year'"],
    ['details = \'{"network": "Ethereum", "value": "2"}\''],
    ['details = \'{"network": "Ethereum", "value": 1}\''],
    ['details = \'{"network": "Ethereum", "value": "1", "more": null}\''],
    ['details = \'["network", "Ethereum"]\''],
    ["details = '{}'"],
    ["details = 'null'"],
    ["mac = '\\x00'"],
    ["mac = ''"],
  ])('is found where %s', async (change) => {
    await audit.tamper((sql) => sql.unsafe(`update audit set ${change} where id = 4`))
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble: row }])
  })

  test('is found if a list has the MAC of an object', async () => {
    // {"0": "a"} and ["a"] have the same names and values.
    await audit.audit.commit(audit.act(audit.one, { details: { 0: 'a' } }))
    await audit.chain()
    expect(await found()).toEqual([])
    await audit.tamper((sql) => sql`update audit set details = '["a"]' where id = 9`)
    expect(await found()).toMatchObject([{ position: 7, auditId: 9, trouble: row }])
  })

  test('is found if its project was changed or removed', async () => {
    await audit.tamper((sql) => sql`update audit set project_id = ${audit.other} where id = 4`)
    const trouble = 'its audit row belongs to another chain'
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble }])
    await audit.tamper((sql) => sql`update audit set project_id = null where id = 4`)
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble }])
  })

  test('is found if it is not chained yet', async () => {
    await audit.tamper((sql) => sql`update audit set actor = 'x' where id = 8`)
    const trouble = 'the audit row is not as it was written'
    expect(await found()).toEqual([{ chain: 'one', position: null, auditId: 8, trouble }])
    expect((await audit.verify()).unchained.rows).toBe(1)
  })

  test('is reported for each chain, the first one of each', async () => {
    await audit.tamper((sql) => sql`update audit set actor = 'x' where id in (2, 5, 6, 7)`)
    expect((await found()).sort((a, b) => (a.auditId ?? 0) - (b.auditId ?? 0))).toEqual([
      { chain: 'other', position: 1, auditId: 2, trouble: row },
      { chain: 'deployment', position: 1, auditId: 5, trouble: row },
      { chain: 'one', position: 4, auditId: 6, trouble: row },
    ])
  })

  test("in another project's chain is not reported if only one's own chain is verified", async () => {
    await audit.tamper((sql) => sql`update audit set actor = 'x' where id in (2, 8)`)
    expect(await found({ chain: audit.other })).toEqual([{ chain: 'other', position: 1, auditId: 2, trouble: row }])
    expect(await found({ chain: 'deployment' })).toEqual([])
  })
})

describe('a deleted row', () => {
  test('is found at its link', async () => {
    await audit.tamper((sql) => sql`delete from audit where id = 4`)
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble: 'its audit row is gone' }])
  })

  test('is found by the gap if its link was deleted too', async () => {
    await audit.tamper(async (sql) => {
      await sql`delete from audit where id in (3, 4)`
      await sql`delete from audit_chain where audit_id in (3, 4)`
    })
    const trouble = 'the links up to position 3 are gone'
    expect(await found()).toEqual([{ chain: 'one', position: 2, auditId: null, trouble }])
  })

  test('is found even if the gap was closed', async () => {
    await audit.tamper(async (sql) => {
      await sql`delete from audit_chain where audit_id = 4`
      await sql`delete from audit where id = 4`
      await sql`update audit_chain set position = position - 1 where chain = ${audit.one} and position = 4`
      await sql`update audit_chain set position = position - 1 where chain = ${audit.one} and position = 5`
    })
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 6, trouble: link }])
  })

  test('at the end of a chain is found only by a noted head', async () => {
    const heads = await noted()
    await audit.tamper(async (sql) => {
      await sql`delete from audit_chain where audit_id in (6, 7)`
      await sql`delete from audit where id in (6, 7, 8)`
    })
    expect(await found()).toEqual([])
    expect(await found({ heads })).toEqual([
      { chain: 'one', position: 4, auditId: null, trouble: 'the chain ends here, and a head was noted at position 5' },
    ])
  })

  test('is found by a noted head if the whole chain was deleted', async () => {
    const heads = await noted()
    await audit.tamper(async (sql) => {
      await sql`delete from audit_chain where chain = ${audit.other}`
      await sql`delete from audit where id = 2`
    })
    expect(await found()).toEqual([])
    const trouble = 'the chain ends here, and a head was noted at position 1'
    expect(await found({ heads })).toEqual([{ chain: 'other', position: 1, auditId: null, trouble }])
    expect(await found({ heads, chain: audit.one })).toMatchObject([{ chain: 'other' }])
  })
})

describe('swapped rows', () => {
  test('are found if their contents were swapped', async () => {
    await audit.tamper(
      (sql) => sql`update audit t set (at, actor, action, subject, details, mac) =
        (select o.at, o.actor, o.action, o.subject, o.details, o.mac from audit o where o.id = 10 - t.id)
        where t.id in (4, 6)`,
    )
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble: link }])
  })

  test('are found if their links were swapped', async () => {
    await audit.tamper(async (sql) => {
      await sql`update audit_chain set audit_id = -4 where audit_id = 4`
      await sql`update audit_chain set audit_id = 4 where audit_id = 6`
      await sql`update audit_chain set audit_id = 6 where audit_id = -4`
    })
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 6, trouble: link }])
  })

  test('are found if their links and heads were swapped', async () => {
    await audit.tamper(async (sql) => {
      await sql`update audit_chain set position = -3 where chain = ${audit.one} and position = 3`
      await sql`update audit_chain set position = 3 where chain = ${audit.one} and position = 4`
      await sql`update audit_chain set position = 4 where chain = ${audit.one} and position = -3`
    })
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 6, trouble: link }])
  })
})

test('a link with another head is found', async () => {
  await audit.tamper(
    (sql) => sql`update audit_chain set head = set_byte(head, 0, get_byte(head, 0) # 1) where audit_id = 4`,
  )
  expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble: link }])
})

test('a row written by hand is found, chained or not', async () => {
  await audit.superuser`insert into audit (project_id, at, actor, action, subject, details, mac)
    values (${audit.one}, now(), 'operator', 'transaction_signed', 'x', '{}', ${new Uint8Array(32)})`
  expect(await found()).toMatchObject([{ position: null, auditId: 9 }])
  await audit.chain()
  expect(await found()).toEqual([{ chain: 'one', position: 7, auditId: 9, trouble: row }])
})

describe('somebody who has the service key', () => {
  /** Rewrites a row with another actor and a right MAC. */
  const forgeRow = async (sql: Sql, id: number) => {
    const forger = createAudit({ db: audit.api, sealer: audit.sealer, now: () => audit.clock.now })
    await forger.commit(audit.act(audit.one, { actor: 'somebody else' }))
    await sql`update audit t set (at, actor, action, subject, details, mac) =
      (select o.at, o.actor, o.action, o.subject, o.details, o.mac from audit o order by id desc limit 1) where t.id = ${id}`
    await sql`delete from audit where id = (select max(id) from audit)`
  }

  /** Rewrites all links of a chain as the service would. */
  const forgeChain = async (sql: Sql, chain: string) => {
    const makeLink = createLinkMaker(audit.sealer)
    const rows = await sql<{ id: string; mac: Uint8Array; projectId: string }[]>`
      select a.id, a.mac, a.project_id as "projectId" from audit a join audit_chain c on c.audit_id = a.id
      where c.chain = ${chain} order by c.position`
    await sql`delete from audit_chain where chain = ${chain}`
    let previous: ReturnType<typeof makeLink> | null = null
    for (const { id, mac, projectId } of rows) {
      previous = makeLink({ previous, row: { id: BigInt(id), mac, projectId } })
      await sql`insert into audit_chain (chain, position, audit_id, head)
        values (${chain}, ${String(previous.position)}, ${id}, ${previous.head})`
    }
  }

  test('and rewrites a row is detected at its link', async () => {
    await audit.tamper((sql) => forgeRow(sql, 4))
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble: link }])
  })

  test('and rewrites everything is detected only by a noted head', async () => {
    const heads = await noted()
    await audit.tamper(async (sql) => {
      await forgeRow(sql, 4)
      await forgeChain(sql, audit.one)
    })
    expect(await found()).toEqual([])
    expect(await found({ heads })).toEqual([
      { chain: 'one', position: 5, auditId: 7, trouble: 'its head is not the one that was noted' },
    ])
  })

  test('and leaves out a row is detected by a noted head', async () => {
    const heads = await noted()
    await audit.tamper(async (sql) => {
      await sql`delete from audit_chain where audit_id = 4`
      await sql`delete from audit where id = 4`
      await forgeChain(sql, audit.one)
    })
    expect(await found()).toEqual([])
    expect(await found({ heads })).toMatchObject([{ chain: 'one', trouble: expect.stringContaining('was noted') }])
  })

  test('is not detected by a head that was noted before the forged row', async () => {
    await audit.tamper(async (sql) => {
      await forgeRow(sql, 8)
    })
    expect(await found({ heads: await noted() })).toEqual([])
  })
})

describe('a noted head', () => {
  test('is confirmed by every later state of the chain', async () => {
    const heads = await noted()
    await audit.write(audit.one, null, audit.other)
    await audit.chain()
    expect(await audit.verify({ heads })).toMatchObject({ rows: 11n, broken: [] })
  })

  test('of a chain that never existed is not confirmed', async () => {
    const head = { chain: 'deployment', position: 2n, head: new Uint8Array(32) }
    expect(await found({ heads: [head] })).toMatchObject([{ chain: 'deployment', position: 2 }])
  })

  test('with other bytes is not confirmed', async () => {
    const [first] = await noted()
    if (first === undefined) throw new Error('there is no head')
    const changed = Uint8Array.from(first.head)
    changed[31] = (changed[31] ?? 0) ^ 1
    for (const head of [changed, first.head.subarray(0, 31), new Uint8Array(0)]) {
      expect(await found({ heads: [{ ...first, head }] })).toMatchObject([
        { trouble: 'its head is not the one that was noted' },
      ])
    }
  })
})
