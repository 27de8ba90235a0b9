import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { desc, eq, sql } from 'drizzle-orm'
import { openDb } from '../../db/client.ts'
import { insertProject } from '../../db/queries/projects.ts'
import { audit as auditTable } from '../../db/schema.ts'
import {
  type AuditAct,
  auditVerifier,
  createApiAudit,
  createVaultAudit,
  createWorkerAudit,
} from '../../src/platform/audit/audit.ts'
import { verifierWith } from '../../src/platform/sealing/sealer.ts'
import { createDatabase } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'
import golden from './golden-1.json'
import {
  ACTOR,
  bytesOf,
  TEST_DEPLOYMENT_KEY as deploymentKey,
  hexOf,
  NOW,
  openTestIdentity,
  openTestSealer,
} from './support.ts'

const projectId = randomUUID()
const isAsWritten = auditVerifier(deploymentKey)

const database = await shared(createDatabase())
const api = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: 'api' })
const db = openDb({ url: database.vaultUrl, maxConnections: 5, applicationName: 'audit' })
const audit = createVaultAudit({ db, deploymentKey, now: () => NOW })
await insertProject(api, { id: projectId, name: 'Test', activatedAt: null })
afterTests(async () => {
  for (const each of [api, db]) await each.close({ timeoutSeconds: 5 })
})

const act = (change: Partial<AuditAct> = {}): AuditAct => ({
  projectId,
  actor: ACTOR,
  action: 'transaction_signed',
  subject: randomUUID(),
  details: { network: 'Ethereum', value: '1' },
  ...change,
})

const rowsOf = (subject: string) => db.select().from(auditTable).where(eq(auditTable.subject, subject))

const written = async (change: Partial<AuditAct> = {}) => {
  const of = act(change)
  await audit.commit(of)
  const [row] = await rowsOf(of.subject)
  if (row === undefined) throw new Error('the row is not there')
  return row
}

describe('an audit row', () => {
  test('says who did what to what and when, and its MAC verifies after it was read back', async () => {
    const row = await written({ subject: 'the-subject' })
    expect(row).toMatchObject({
      projectId,
      actor: ACTOR,
      action: 'transaction_signed',
      subject: 'the-subject',
      at: NOW,
    })
    expect(row.details).toEqual({ network: 'Ethereum', value: '1' })
    expect(isAsWritten(row)).toBe(true)
  })

  test.each([
    {},
    { '': '' },
    { z: '1', a: '2', é: '3', '10': '4', '9': '5' },
    { 'quote"': 'back\\slash', line: 'one\ntwo', emoji: '🔑' },
  ])('holds for details of %p', async (details) => {
    expect(isAsWritten(await written({ details }))).toBe(true)
  })

  test('has the frozen MAC', () => {
    const frozen = { verifier: () => verifierWith(bytesOf(golden.auditKey)) }
    const row = {
      projectId: golden.projectId,
      at: new Date('2025-01-02T03:04:05.678Z'),
      actor: 'operator',
      action: 'wallet_created',
      subject: golden.walletId,
      details: { b: '2', a: '1' },
      mac: bytesOf(golden.auditMac),
    } as const
    expect(auditVerifier(frozen)(row)).toBe(true)
  })

  test.each([
    ['project', { projectId: randomUUID() }],
    ['actor', { actor: 'operator' }],
    ['action', { action: 'wallet_created' }],
    ['subject', { subject: 'another' }],
    ['time', { at: new Date(NOW.getTime() + 1) }],
    ['details by one more', { details: { network: 'Ethereum', value: '1', more: '' } }],
    ['details by one less', { details: { network: 'Ethereum' } }],
    ['value of a detail', { details: { network: 'Ethereum', value: '2' } }],
    ['name of a detail', { details: { network: 'Ethereum', valu: '1' } }],
    ['details, two of them as one', { details: { networkEthereum: 'value1' } }],
    ['MAC', { mac: new Uint8Array(32) }],
    ['MAC, which is cut off', { mac: new Uint8Array(0) }],
  ] as const)('does not hold with a changed %s', async (_what, change) => {
    const row = await written()
    expect(isAsWritten({ ...row, ...change })).toBe(false)
  })

  test('does not verify if its fields are divided differently', async () => {
    const row = await written({ actor: 'ab', subject: 'cd' })
    expect(isAsWritten({ ...row, actor: 'a', subject: 'bcd' })).toBe(false)
    const moved = await written({ subject: 's', details: { a: '1', b: '2' } })
    expect(isAsWritten({ ...moved, subject: 'sa', details: { '1': 'b', '2': '' } })).toBe(false)
  })

  test('does not verify under another key', async () => {
    expect(auditVerifier(await openTestSealer(0x99))(await written())).toBe(false)
  })

  test('of an API is under the identity key, and of a worker under the service key', async () => {
    const [sealer, identity] = [await openTestSealer(), await openTestIdentity()]
    const imported = { ...act(), action: 'token_list_imported' } as const
    const lost = { ...act(), action: 'final_blocks_lost' } as const
    await createApiAudit({ db: api, identity, now: () => NOW }).commit(imported)
    await createWorkerAudit({ db: api, sealer, now: () => NOW }).commit(lost)
    const rows = [...(await rowsOf(imported.subject)), ...(await rowsOf(lost.subject))]
    const verifiers = [auditVerifier(identity), auditVerifier(sealer), isAsWritten]
    expect(rows.map((row) => verifiers.map((holds) => holds(row)))).toEqual([
      [true, false, false],
      [false, true, false],
    ])
  })

  test('can be neither changed nor removed by the process that wrote it', async () => {
    const row = await written()
    await expect(
      db.execute(sql`update audit set actor = 'x' where id = ${row.id}`).then(() => 'done'),
    ).rejects.toThrow()
    await expect(db.execute(sql`delete from audit where id = ${row.id}`).then(() => 'done')).rejects.toThrow()
  })
})

describe('recording in a transaction', () => {
  test('commits or rolls back the row together with its effect', async () => {
    const kept = act()
    await db.transaction((tx) => audit.record(tx, kept))
    expect((await rowsOf(kept.subject)).length).toBe(1)
    const lost = act()
    const failing = db.transaction(async (tx) => {
      await audit.record(tx, lost)
      throw new Error('the effect failed')
    })
    await expect(failing).rejects.toThrow('the effect failed')
    await failing.catch(() => {})
    expect(await rowsOf(lost.subject)).toEqual([])
  })
})

describe('committing', () => {
  test('is durable when it returns: another connection sees the row', async () => {
    const other = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: 'reader' })
    const seen = Array.from({ length: 20 }, async () => {
      const of = act()
      await audit.commit(of)
      return (await other.select().from(auditTable).where(eq(auditTable.subject, of.subject))).length
    })
    expect(await Promise.all(seen)).toEqual(Array(20).fill(1))
    await other.close({ timeoutSeconds: 5 })
  })

  test('many rows at once takes few transactions, and writes each row once', async () => {
    const acts = Array.from({ length: 300 }, () => act({ actor: 'many' }))
    await Promise.all(acts.map((each) => audit.commit(each)))
    const {
      rows: [count],
    } = await db.execute(
      sql`select count(*)::int as rows, count(distinct subject)::int as subjects, count(distinct xmin::text)::int as commits
          from audit where actor = 'many'`,
    )
    expect(count).toMatchObject({ rows: 300, subjects: 300 })
    expect(Number(count?.commits)).toBeLessThanOrEqual(3)
  })

  test('fails for every caller of a failed batch and writes nothing of it; the next batch works', async () => {
    const before = await db.select({ id: auditTable.id }).from(auditTable).orderBy(desc(auditTable.id)).limit(1)
    const acts = [act(), act({ projectId: randomUUID() }), act()]
    const results = await Promise.allSettled(acts.map((each) => audit.commit(each)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    const after = await db.select({ id: auditTable.id }).from(auditTable).orderBy(desc(auditTable.id)).limit(1)
    expect(after).toEqual(before)
    expect(hexOf((await written()).mac).length).toBe(64)
  })
})
