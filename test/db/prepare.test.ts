import { afterAll, beforeAll, expect, test } from 'bun:test'
import { asc, eq, sql } from 'drizzle-orm'
import { type Db, openDb } from '../../db/client.ts'
import { type Given, prepare } from '../../db/prepare.ts'
import { present } from '../../db/queries/server.ts'
import { attempts, transactions } from '../../db/schema.ts'
import { createDatabase, onServer, type TestDatabase } from '../support/postgres.ts'

const IDS = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const

const ATTEMPT = { network: 'Ethereum', transactionId: IDS[1], kind: 'rung' } as const

let database: TestDatabase
let db: Db

beforeAll(async () => {
  database = await createDatabase()
  await onServer(database.url, async (owner) => {
    // Without the rows that they refer to.
    await owner`set session_replication_role = replica`
    const rows = IDS.map((id, index) => ({
      ...{
        id,
        project_id: id,
        wallet_id: id,
        network: 'Ethereum',
        signer_address: '0x1',
        kind: 'send',
        nonce: 2 ** 33 + index,
      },
      ...{ value: String(2n ** 256n - 1n), input: '0x', gas_limit: '21000', worst_cost: '0', rungs: 1 },
      // One has a value in each column, and one in none that may be null.
      ...(index === 0 && {
        ...{ contract_wallet: '0x2', to: '0x3', fee_asset: 'asset:1', fee_asset_cost: '5', born_at_block: '7' },
        ...{ valid_until_block: '9', chosen_at: '2026-01-02T03:04:05.678901Z', shown_hash: '0x4', final: true },
        ...{ traceparent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, mined_block_number: String(2n ** 62n) },
      }),
    }))
    for (const row of rows) await owner`insert into transactions ${owner(row)}`
    await owner`update transactions set attempt_hashes = array['\\x01'::bytea], attempt_hash_keys = array[-1::bigint] where final`
    for (const id of IDS) {
      await owner`insert into attempts (network, hash, transaction_id, kind, rung) values ('Ethereum', ${id}, ${id}, 'rung', 0)`
    }
  })
  db = openDb({ url: database.url, maxConnections: 2, applicationName: 'test' })
})

afterAll(async () => {
  await db.close({ timeoutSeconds: 1 })
  await database.close()
})

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)

test('reads each column as drizzle does, with and without a value', async () => {
  const select = (from: Parameters<Parameters<typeof prepare>[0]>[0] | Db) =>
    from.select().from(transactions).orderBy(asc(transactions.id))
  const rows = await prepare((from) => select(from))(db, {})
  expect(idsOf(rows)).toEqual([...IDS])
  expect(rows).toEqual(await select(db))
  expect(rows[0]?.chosenAt).toEqual(new Date('2026-01-02T03:04:05.678Z'))
  expect(rows[0]?.value).toBe(2n ** 256n - 1n)
})

test('reads tables within a row, and SQL by what it is mapped with', async () => {
  const select = (from: Parameters<Parameters<typeof prepare>[0]>[0] | Db) =>
    from
      .select({ transaction: transactions, hash: attempts.hash, at: present, one: sql<number>`1::int` })
      .from(transactions)
      .innerJoin(attempts, eq(attempts.transactionId, transactions.id))
      .orderBy(asc(transactions.id))
  const shown = ({ at, ...row }: Awaited<ReturnType<typeof select>>[number]) => ({ ...row, isTime: at instanceof Date })
  expect((await prepare((from) => select(from))(db, {})).map(shown)).toEqual((await select(db)).map(shown))
})

test('takes other values at each use, also lists and none', async () => {
  const find = prepare((from, { ids }: Given<{ readonly ids: readonly string[] }>) =>
    from
      .select({ id: transactions.id })
      .from(transactions)
      .where(sql`${transactions.id} = any(${ids}::uuid[])`)
      .orderBy(asc(transactions.id)),
  )
  for (const ids of [[IDS[0]], [...IDS], [], [IDS[1]]]) expect(idsOf(await find(db, { ids }))).toEqual(ids)
  type Attempt = Pick<typeof attempts.$inferSelect, 'hash' | 'rung' | 'maxFeePerGas'>
  const insert = prepare((from, given: Given<Attempt>) =>
    from
      .insert(attempts)
      .values({ ...ATTEMPT, hash: given.hash, rung: given.rung, maxFeePerGas: given.maxFeePerGas })
      .returning(),
  )
  for (const [index, maxFeePerGas] of [2n ** 255n, null].entries()) {
    const row = { hash: `0x${index}`, rung: index + 1, maxFeePerGas }
    expect(await insert(db, row)).toEqual([expect.objectContaining(row)])
    await db.delete(attempts).where(eq(attempts.hash, row.hash))
  }
})

test('is part of the transaction that it is given', async () => {
  const erase = prepare((from, { id }: Given<{ readonly id: string }>) =>
    from.delete(attempts).where(eq(attempts.transactionId, id)),
  )
  const count = async () => (await db.select().from(attempts)).length
  const failing = db.transaction(async (tx) => {
    expect(await erase(tx, { id: IDS[0] })).toEqual([])
    expect(await tx.select().from(attempts)).toHaveLength(1)
    throw new Error('undo')
  })
  await expect(failing).rejects.toThrow('undo')
  expect(await count()).toBe(2)
})
