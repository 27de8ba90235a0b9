// The owner of the database can switch its triggers off. Each test makes a change that the owner could make, and
// expects it to be found at the changed row.

import { beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import type { AuditRecord } from '../../db/queries/audit-rows.ts'
import { type AuditAct, createApiAudit, createVaultAudit, createWorkerAudit } from '../../src/platform/audit/audit.ts'
import type { Derived } from '../../src/platform/sealing/sealer.ts'
import { createLinkMaker } from '../../src/vault/rooms/chain/chain.ts'
import type { NotedHead } from '../../src/vault/rooms/chain/verify.ts'
import { someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { TEST_DEPLOYMENT_KEY } from '../vault/support.ts'
import { openAudit, type TestAudit } from './support.ts'

const audit = await shared(openAudit())
const begun = audit.clock.now

/** Rows 1, 3, 4, 6 and 7 belong to one project, 2 to the other, 5 to the deployment; 8 is not chained. */
beforeEach(async () => {
  await audit.tamper((sql) => sql`truncate audit_chain, audit restart identity cascade`)
  audit.clock.now = begun
  const { one, other } = audit
  await audit.write(one, other, one, one, null, one, one)
  await audit.chain()
  await audit.write(one)
})

const noted = async (): Promise<readonly NotedHead[]> =>
  (await audit.verify()).heads.map((text) => {
    const [chain = '', position = '', head = ''] = text.split(':')
    return { chain, position: BigInt(position), head: Uint8Array.fromHex(head) }
  })

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
  expect(verification.heads.map((head) => Number(head.split(':')[1])).sort()).toEqual([1, 1, 5])
})

test('an empty audit is valid', async () => {
  await audit.tamper((sql) => sql`truncate audit_chain, audit`)
  expect(await audit.verify()).toMatchObject({ rows: 0n, heads: [], broken: [], unchained: { rows: 0, oldest: null } })
})

describe('an edited row', () => {
  const EDITS = [
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
  ]

  test.each(someOf(EDITS, 2))('is found where %s', async (change) => {
    await audit.tamper((sql) => sql.unsafe(`update audit set ${change} where id = 4`))
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble: row }])
  })

  test('is found if its action says that another process wrote it', async () => {
    await audit.tamper((sql) => sql`update audit set action = 'token_list_imported' where id = 4`)
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble: link }])
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
    expect(await found()).toEqual([{ chain: 'one', position: null, auditId: 8, trouble: row }])
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

describe('a row of another process', () => {
  const act = {
    projectId: null,
    actor: 'operator',
    action: 'token_list_imported',
    subject: 'Ethereum',
    details: {},
  } as const
  const broken = async (chain?: string) => (await audit.verifyService(chain)).broken

  test('is checked with the identity key and counted', async () => {
    await audit.apiAudit.commit(act, { ...act, projectId: audit.one })
    expect(await audit.verifyService()).toEqual({ rows: 2, broken: [] })
    expect(await audit.verifyService(audit.one)).toEqual({ rows: 1, broken: [] })
    await audit.chain()
    expect(await found()).toEqual([])
  })

  const changes = [["actor = 'system'"], ["at = at + interval '1 microsecond'"], ["details = '[]'"], ["mac = ''"]]

  test.each(someOf(changes, 2))('is found where %s: with the identity key and by its link', async (change) => {
    await audit.apiAudit.commit(act)
    await audit.chain()
    await audit.tamper((sql) => sql.unsafe(`update audit set ${change} where id = 9`))
    const trouble = 'its audit row is not as it was written'
    expect(await broken()).toEqual([{ chain: 'deployment', position: null, auditId: 9n, trouble }])
    expect(await broken(audit.one)).toEqual([])
    expect(await found()).toMatchObject([{ chain: 'deployment', position: 2, auditId: 9 }])
  })

  test('is found if it was written without the identity key: the first such row of each chain', async () => {
    for (const project_id of [audit.one, audit.one, null]) {
      await audit.superuser`insert into audit (project_id, at, actor, action, subject, details, mac)
        values (${project_id}, now(), 'operator', 'token_list_imported', 'x', '{}', ${new Uint8Array(32)})`
    }
    expect((await broken()).map(({ chain, auditId }) => [chain, auditId])).toEqual([
      [audit.one, 9n],
      ['deployment', 11n],
    ])
  })
})

describe('a row of a worker', () => {
  const ours = [
    { projectId: null, actor: 'system', action: 'final_blocks_lost', subject: 'Ethereum', details: {} },
    { projectId: null, actor: 'stranger', action: 'row_forged', subject: 'x', details: {} },
    { projectId: null, actor: 'stranger', action: 'metrics_token_wrong', subject: 'x', details: {} },
  ] as const

  test('is checked with the service key, which checks no other rows', async () => {
    await audit.workerAudit.commit(...ours)
    expect(await audit.verifyService()).toEqual({ rows: 3, broken: [] })
    const forger = createApiAudit({ db: audit.api, identity: audit.sealer, now: () => audit.clock.now })
    await forger.commit({ ...ours[1], action: 'token_list_imported' })
    expect((await audit.verifyService()).broken).toMatchObject([{ chain: 'deployment', auditId: 12n }])
  })

  test('can have been written by an API if both kinds of process write this security event', async () => {
    await audit.apiAudit.commit(ours[1], ours[2])
    expect((await audit.verifyService()).broken).toEqual([])
    const forger = createWorkerAudit({ db: audit.api, sealer: audit.identity, now: () => audit.clock.now })
    await forger.commit(ours[0])
    expect((await audit.verifyService()).broken).toMatchObject([{ chain: 'deployment', auditId: 11n }])
  })
})

/** Rewrites a row with another actor and a MAC. */
const forgeRow = async (sql: Sql, key: Derived, id: number) => {
  const forger = createVaultAudit({ db: audit.api, deploymentKey: key, now: () => audit.clock.now })
  await forger.commit(audit.act(audit.one, { actor: 'somebody else' }))
  await sql`update audit t set (at, actor, action, subject, details, mac) =
    (select o.at, o.actor, o.action, o.subject, o.details, o.mac from audit o order by id desc limit 1) where t.id = ${id}`
  await sql`delete from audit where id = (select max(id) from audit)`
}

/** Rewrites all links of a chain. */
const forgeChain = async (sql: Sql, key: Derived, chain: string) => {
  const makeLink = createLinkMaker(key)
  const rows = await sql<AuditRecord[]>`
    select a.id, a.mac, a.project_id as "projectId", a.at, a.actor, a.action, a.subject, a.details
    from audit a join audit_chain c on c.audit_id = a.id where c.chain = ${chain} order by c.position`
  await sql`delete from audit_chain where chain = ${chain}`
  let previous: ReturnType<typeof makeLink> | null = null
  for (const row of rows) {
    previous = makeLink({ previous, row })
    await sql`insert into audit_chain (chain, position, audit_id, head)
      values (${chain}, ${String(previous.position)}, ${String(row.id)}, ${previous.head})`
  }
}

describe('somebody who has the keys of an API and the database', () => {
  const acts: readonly Partial<AuditAct>[] = [
    {},
    { action: 'control_shared' },
    { action: 'policy_revoked' },
    { action: 'wrong_pin' },
  ]

  test.each(someOf(acts, 2))('writes no row of a vault: %p', async (change) => {
    const forger = createVaultAudit({ db: audit.api, deploymentKey: audit.identity, now: () => audit.clock.now })
    await forger.commit(audit.act(audit.one, change))
    expect(await found()).toEqual([{ chain: 'one', position: null, auditId: 9, trouble: row }])
    await audit.chain()
    expect(await found()).toEqual([{ chain: 'one', position: 7, auditId: 9, trouble: row }])
  })

  test('makes no chain', async () => {
    await audit.tamper(async (sql) => {
      await sql`delete from audit_chain where audit_id = 4`
      await sql`delete from audit where id = 4`
      await forgeChain(sql, audit.identity, audit.one)
    })
    expect(await found()).toEqual([{ chain: 'one', position: 1, auditId: 1, trouble: link }])
  })

  test('rewrites a row of an API as it would be, and is detected at its link', async () => {
    const act = {
      projectId: audit.one,
      actor: 'operator',
      action: 'token_list_removed',
      subject: 'x',
      details: {},
    } as const
    await audit.apiAudit.commit(act)
    await audit.chain()
    await audit.apiAudit.commit({ ...act, actor: 'somebody else' })
    await audit.tamper(async (sql) => {
      await sql`update audit t set (actor, mac) = (select o.actor, o.mac from audit o where o.id = 10) where t.id = 9`
      await sql`delete from audit where id = 10`
    })
    expect(await audit.verifyService()).toEqual({ rows: 1, broken: [] })
    expect(await found()).toEqual([{ chain: 'one', position: 7, auditId: 9, trouble: link }])
  })
})

describe("somebody who has the deployment's key and the database", () => {
  const key = TEST_DEPLOYMENT_KEY

  test('and rewrites a row is detected at its link', async () => {
    await audit.tamper((sql) => forgeRow(sql, key, 4))
    expect(await found()).toEqual([{ chain: 'one', position: 3, auditId: 4, trouble: link }])
  })

  test('and rewrites everything is detected only by a noted head', async () => {
    const heads = await noted()
    await audit.tamper(async (sql) => {
      await forgeRow(sql, key, 4)
      await forgeChain(sql, key, audit.one)
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
      await forgeChain(sql, key, audit.one)
    })
    expect(await found()).toEqual([])
    expect(await found({ heads })).toMatchObject([{ chain: 'one', trouble: expect.stringContaining('was noted') }])
  })

  test('is not detected by a head that was noted before the forged row', async () => {
    await audit.tamper(async (sql) => {
      await forgeRow(sql, key, 8)
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
