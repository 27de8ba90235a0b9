// What the statements of a guess return is compared with what they were to write, by themselves: no other check stands
// in for it here.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type Db, openDb } from '../../db/client.ts'
import { readGuesses, writeCharge, writeReleased } from '../../db/queries/vault/guesses.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

let database: TestDatabase
let db: Db
const projectId = randomUUID()

beforeAll(async () => {
  database = await createDatabase()
  db = openDb({ url: database.vaultUrl, maxConnections: 2, applicationName: 'written-guesses' })
  await database.sql`insert into projects (id, name) values (${projectId}, 'Test')`
})

afterAll(async () => {
  await db.close({ timeoutSeconds: 5 })
  await database.close()
})

const lease = randomUUID()
const lockedUntil = new Date('2030-01-02T03:04:05.678Z')
const mac = new Uint8Array([1, 2, 3])

/** An owner with a leased count, and the count that follows on it. */
const ownerWithNext = async (leased: string | null) => {
  const ownerId = randomUUID()
  await database.sql`
    insert into user_keys (project_id, owner_id, salt, sealed, version) values (${projectId}, ${ownerId}, '\\x00', '\\x00', 1)`
  await database.sql`
    insert into pin_guesses (project_id, owner_id, revision, mac, lease) values (${projectId}, ${ownerId}, 7, '\\x00', ${leased})`
  return { projectId, ownerId, fails: 1, total: 2, lockedUntil, revision: 1_900_000_000_000, mac, was: 7, lease }
}

const WRITES = [
  ['writeCharge', writeCharge, null],
  ['writeReleased', writeReleased, lease],
] as const

const ALTERED = [
  'fails = 0',
  'total = 0',
  'locked_until = null',
  `locked_until = '2030-01-02T03:04:05.677Z'`,
  'revision = 1900000000001',
  `mac = '\\x010204'`,
  `owner_id = 'another'`,
  `lease = '00000000-0000-4000-8000-000000000000'`,
] as const

/** Plants a trigger that changes a column of each row as it is written. */
const altering = async (column: string, act: () => Promise<unknown>) => {
  await database.sql.unsafe(`
    create function altered() returns trigger language plpgsql as $$ begin new.${column.replace(' = ', ' := ')}; return new; end $$;
    alter table pin_guesses drop constraint pin_guesses_user_key;
    create trigger altered before update on pin_guesses for each row execute function altered()`)
  try {
    return await act()
  } finally {
    await database.sql.unsafe(`
      drop trigger altered on pin_guesses; drop function altered; delete from pin_guesses;
      alter table pin_guesses add constraint pin_guesses_user_key
        foreign key (project_id, owner_id) references user_keys (project_id, owner_id)`)
  }
}

for (const [name, write, leased] of WRITES) {
  describe(name, () => {
    test('returns the image of what it wrote, without the lease', async () => {
      const next = await ownerWithNext(leased)
      const image = await write(db, next)
      expect(JSON.parse(image?.text ?? '')).toEqual({
        ...{
          project_id: projectId,
          owner_id: next.ownerId,
          fails: 1,
          total: 2,
          revision: next.revision,
          mac: '\\x010203',
        },
        locked_until: expect.stringContaining('2030-01-02T03:04:05.678'),
      })
      const { row } = (await readGuesses(db, { ...next, limits: [] })) ?? {}
      const { was: _, ...written } = next
      expect({ ...row, mac: new Uint8Array(row?.mac ?? []) }).toEqual({
        ...written,
        lease: leased === null ? lease : null,
      })
    })

    test('writes nothing if the count has changed', async () => {
      expect(await write(db, { ...(await ownerWithNext(leased)), was: 6 })).toBeNull()
    })

    test.each(ALTERED)('refuses a row that the database wrote with %s', async (column) => {
      const next = await ownerWithNext(leased)
      const refused = altering(column, () => write(db, next)).then(
        () => 'accepted',
        (error: Error) => error.name,
      )
      expect(await refused).toBe('NotWritten')
    })
  })
}
