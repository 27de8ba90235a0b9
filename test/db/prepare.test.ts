import { afterAll, beforeAll, expect, test } from 'bun:test'
import { asc, eq, sql } from 'drizzle-orm'
import { type Db, openDb } from '../../db/client.ts'
import { type Given, prepare } from '../../db/prepare.ts'
import { present } from '../../db/queries/server.ts'
import { ladders, transactions } from '../../db/schema.ts'
import { createDatabase, onServer, type TestDatabase } from '../support/postgres.ts'

const IDS = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const

/** The least that a ladder has. */
const EMPTY = { hashes: [], hashKeys: [], raws: null, maxFeesPerGas: null, acceptedAt: [], lastErrors: [] }

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
    for (const id of IDS) {
      await owner`insert into ladders values (${id}, 'Ethereum', '{}', '{}', null, null, '{}', '{}')`
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
      .select({ transaction: transactions, network: ladders.network, at: present, one: sql<number>`1::int` })
      .from(transactions)
      .innerJoin(ladders, eq(ladders.transactionId, transactions.id))
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
})

test('writes and reads lists', async () => {
  type Lists = Omit<typeof ladders.$inferSelect, 'transactionId' | 'network'>
  const insert = prepare((from, given: Given<Lists>) =>
    from
      .insert(ladders)
      .values({
        ...{ transactionId: IDS[1], network: 'Ethereum', hashes: given.hashes, hashKeys: given.hashKeys },
        ...{ raws: given.raws, maxFeesPerGas: given.maxFeesPerGas },
        ...{ acceptedAt: given.acceptedAt, lastErrors: given.lastErrors },
      })
      .returning(),
  )
  const whole: Lists = {
    hashes: [`0x${'ab'.repeat(32)}`, `0x${'00'.repeat(32)}`],
    hashKeys: [-(2n ** 63n), 2n ** 63n - 1n],
    raws: ['0x02', `0x${'f8'.repeat(5_000)}`],
    maxFeesPerGas: [0n, 2n ** 256n - 1n],
    acceptedAt: [null, new Date('2026-01-02T03:04:05.678Z')],
    lastErrors: [null, `a "word", a \\, {1}, NULL, null and a 'quote'`],
  }
  for (const lists of [whole, { ...EMPTY, raws: [], maxFeesPerGas: [] }, EMPTY]) {
    await db.delete(ladders).where(eq(ladders.transactionId, IDS[1]))
    expect(await insert(db, lists)).toEqual([{ transactionId: IDS[1], network: 'Ethereum', ...lists }])
  }
})

test('is part of the transaction that it is given', async () => {
  const erase = prepare((from, { id }: Given<{ readonly id: string }>) =>
    from.delete(ladders).where(eq(ladders.transactionId, id)),
  )
  const count = async () => (await db.select({ id: ladders.transactionId }).from(ladders)).length
  const failing = db.transaction(async (tx) => {
    expect(await erase(tx, { id: IDS[0] })).toEqual([])
    expect(await tx.select({ id: ladders.transactionId }).from(ladders)).toHaveLength(1)
    throw new Error('undo')
  })
  await expect(failing).rejects.toThrow('undo')
  expect(await count()).toBe(2)
})
