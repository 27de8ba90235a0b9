import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type Db, openDb } from '../../db/client.ts'
import { insertMovements, type MovementRow } from '../../db/queries/movements.ts'
import { movements } from '../../db/schema.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

/** More than two messages hold. */
const COUNT = 12_000
const LATE = 11_000

let database: TestDatabase
let db: Db

beforeAll(async () => {
  database = await createDatabase()
  db = openDb({ url: database.workerUrl, maxConnections: 2, applicationName: 'test' })
})

beforeEach(async () => {
  await db.delete(movements)
})

afterAll(async () => {
  await db.close({ timeoutSeconds: 5 })
  await database.close()
})

const rows: readonly MovementRow[] = Array.from({ length: COUNT }, (_, index) => ({
  id: randomUUID(),
  network: 'Ethereum',
  address: `0x${String(index % 50).padStart(40, '0')}`,
  direction: 'in',
  counterparty: `0x${'1'.repeat(40)}`,
  standard: 'erc20',
  contract: `0x${'2'.repeat(40)}`,
  tokenId: null,
  amount: BigInt(index),
  blockNumber: BigInt(index),
  transactionHash: `0x${'3'.repeat(64)}`,
  logIndex: index,
  itemIndex: 0,
  at: new Date(1_700_000_000_000 + index),
  ofWallet: index % 2 === 0,
}))

const stored = async () => (await db.select().from(movements)).toSorted((a, b) => a.logIndex - b.logIndex)

test('many movements are stored, although some exist', async () => {
  const some = rows.filter((_, index) => index % 4_000 === 0)
  await db.transaction((tx) => insertMovements(tx, some))
  await db.transaction((tx) => insertMovements(tx, rows))
  expect(await stored()).toEqual([...rows])
})

test('none is stored if one of the last is refused, and the error is its own', async () => {
  const wrong = rows.map((row, index) => (index === LATE ? { ...row, direction: 'across' as 'in' } : row))
  const storing = db.transaction((tx) => insertMovements(tx, wrong))
  await expect(storing).rejects.toMatchObject({ cause: { constraint: 'movements_direction' } })
  expect(await stored()).toEqual([])
})
