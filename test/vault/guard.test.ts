import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { type Db, openDb } from '../../db/client.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createQueue, type Queue } from '../../src/platform/queue.ts'
import { createGuard, createPinLimits, type Guard } from '../../src/vault/rooms/credentials/guard.ts'
import { isLong, longTest } from '../support/long.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { ACTOR, codeOf, openTestGuesses, TEST_DEPLOYMENT_KEY, type TestGuesses, tally } from './support.ts'

const DAY_SECONDS = 24 * 60 * 60

let database: TestDatabase
let sql: Sql
let db: Db
let otherDb: Db
let guard: Guard
/** A guard as in another process, with its own pool and queues. */
let otherGuard: Guard
let guesses: TestGuesses
let otherGuesses: TestGuesses
const projectId = randomUUID()

const guardOn = (pool: Db, by: TestGuesses, argon2: Queue = createQueue({ atOnce: 2 })) =>
  createGuard({
    guesses: by,
    argon2,
    pinLimits: createPinLimits({ db: pool, deploymentKey: TEST_DEPLOYMENT_KEY, wrongPinsPerHour: 100_000 }),
  })

beforeAll(async () => {
  database = await createDatabase()
  sql = postgres(database.url, { max: 2, onnotice: () => {} })
  db = openDb({ url: database.vaultUrl, maxConnections: 5, applicationName: 'guard' })
  otherDb = openDb({ url: database.vaultUrl, maxConnections: 5, applicationName: 'other guard' })
  guesses = await openTestGuesses(db)
  otherGuesses = await openTestGuesses(otherDb)
  guard = guardOn(db, guesses)
  otherGuard = guardOn(otherDb, otherGuesses)
  await sql`insert into projects (id, name) values (${projectId}, 'Test')`
  await guesses.makeProjectKey(projectId)
})

afterAll(async () => {
  await db.close({ timeoutSeconds: 5 })
  await otherDb.close({ timeoutSeconds: 5 })
  await sql.end()
  await database.close()
})

type Row = { fails: number; total: number; locked: boolean; leased: boolean }

/** An owner with a user key of version 1 and this many guesses. */
const owner = async (start: { fails?: number; total?: number; lockedSeconds?: number } = {}): Promise<string> => {
  const ownerId = randomUUID()
  const { fails = 0, total = fails, lockedSeconds = null } = start
  await sql`insert into user_keys (project_id, owner_id, salt, sealed) values (${projectId}, ${ownerId}, '\\x00', '\\x00')`
  await sql`
    insert into pin_guesses (project_id, owner_id, fails, total, locked_until, mac)
    values (${projectId}, ${ownerId}, ${fails}, ${total}, now() + make_interval(secs => ${lockedSeconds}), '')`
  await guesses.authenticate(projectId, ownerId)
  return ownerId
}

const stateOf = async (ownerId: string): Promise<Row> => {
  const [row] = await sql<Row[]>`
    select fails, total, coalesce(locked_until > now(), false) as locked, lease is not null as leased
    from pin_guesses where owner_id = ${ownerId}`
  if (row === undefined) throw new Error('no row')
  return { ...row }
}

const right = async () => new Uint8Array(32).fill(1)
const wrong = async () => null
const verify = async (ownerId: string, evaluate: () => Promise<Uint8Array | null>, by = guard, of = projectId) => {
  await using lease = await by.lease({ projectId: of, ownerId, actor: ACTOR, version: 1 })
  return await lease.settle(await evaluate())
}

const refusal = async (promise: Promise<unknown>): Promise<AppError> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('it was not refused')
}

describe('one guess', () => {
  test('that is right returns the key and leaves no charge', async () => {
    const ownerId = await owner()
    expect((await verify(ownerId, right))[0]).toBe(1)
    expect(await stateOf(ownerId)).toEqual({ fails: 0, total: 0, locked: false, leased: false })
  })

  test('that is right clears the wrong ones in a row, but not the total', async () => {
    const ownerId = await owner({ fails: 4, total: 37 })
    await verify(ownerId, right)
    expect(await stateOf(ownerId)).toEqual({ fails: 0, total: 37, locked: false, leased: false })
  })

  test('that is wrong is charged', async () => {
    const ownerId = await owner({ fails: 2, total: 8 })
    expect(await codeOf(verify(ownerId, wrong))).toBe('INVALID_SECRET')
    expect(await stateOf(ownerId)).toEqual({ fails: 3, total: 9, locked: false, leased: false })
  })

  test('that is the fifth wrong one in a row is refused as wrong and locks the owner for 24 hours', async () => {
    const ownerId = await owner({ fails: 4, total: 4 })
    expect(await codeOf(verify(ownerId, wrong))).toBe('INVALID_SECRET')
    expect(await stateOf(ownerId)).toEqual({ fails: 5, total: 5, locked: true, leased: false })
    const [row] =
      await sql`select extract(epoch from locked_until - now()) as seconds from pin_guesses where owner_id = ${ownerId}`
    expect(Math.abs(Number(row?.seconds) - DAY_SECONDS)).toBeLessThan(10)
  })

  test('that is the fifth and right removes the lock that its charge had set', async () => {
    const ownerId = await owner({ fails: 4 })
    let during: Row | undefined
    await verify(ownerId, async () => {
      during = await stateOf(ownerId)
      return right()
    })
    expect(during).toEqual({ fails: 5, total: 5, locked: true, leased: true })
    expect(await stateOf(ownerId)).toEqual({ fails: 0, total: 4, locked: false, leased: false })
  })

  test('is charged and committed before the PIN is checked', async () => {
    const ownerId = await owner()
    await codeOf(
      verify(ownerId, async () => {
        expect(await stateOf(ownerId)).toEqual({ fails: 1, total: 1, locked: false, leased: true })
        return null
      }),
    )
  })

  test('holds no connection while the PIN is checked', async () => {
    const narrow = openDb({ url: database.vaultUrl, maxConnections: 1, applicationName: 'narrow' })
    const ownerId = await owner()
    const evaluate = async () => {
      await narrow.execute('select 1')
      return right()
    }
    expect(await codeOf(verify(ownerId, evaluate, guardOn(narrow, await openTestGuesses(narrow))))).toBe('resolved')
    await narrow.close({ timeoutSeconds: 5 })
  })

  test('that fails with an internal error gives the lease back and stays charged', async () => {
    const ownerId = await owner()
    const evaluate = () => Promise.reject(new Error('out of memory'))
    await expect(verify(ownerId, evaluate)).rejects.toThrow('out of memory')
    expect(await stateOf(ownerId)).toEqual({ fails: 1, total: 1, locked: false, leased: false })
  })

  test('always gives back its argon2 slot and its owner’s turn', async () => {
    const argon2 = createQueue({ atOnce: 1 })
    const narrow = guardOn(db, guesses, argon2)
    const ownerId = await owner()
    const changed = await owner()
    await sql`update user_keys set version = 2 where owner_id = ${changed}`
    const ends: readonly [string, () => Promise<Uint8Array | null>, string][] = [
      [ownerId, right, 'resolved'],
      [ownerId, wrong, 'INVALID_SECRET'],
      [ownerId, () => Promise.reject(new AppError('unavailable', 'Away.')), 'unavailable'],
      [await owner({ fails: 5, lockedSeconds: 3600 }), right, 'TOO_MANY_FAILED_ATTEMPTS'],
      [changed, right, 'credential_changed'],
    ]
    for (const [of, evaluate, code] of ends) {
      expect(await codeOf(verify(of, evaluate, narrow))).toBe(code)
      expect(argon2.load()).toEqual({ running: 0, waiting: 0 })
    }
    await expect(verify('nobody', right, narrow)).rejects.toThrow('no row of guesses')
    expect(argon2.load()).toEqual({ running: 0, waiting: 0 })
    // The owner's turn is free too. Otherwise this would wait.
    expect(await codeOf(verify(ownerId, right, narrow))).toBe('resolved')
  })

  test('that is never settled, for example because its holder throws, gives the lease back and stays charged', async () => {
    const ownerId = await owner()
    {
      await using _lease = await guard.lease({ projectId, ownerId, actor: ACTOR, version: 1 })
    }
    expect(await stateOf(ownerId)).toEqual({ fails: 1, total: 1, locked: false, leased: false })
    expect(await codeOf(verify(ownerId, right))).toBe('resolved')
  })

  test('of an owner without a row of guesses is an internal error, and nothing is checked', async () => {
    await expect(verify('nobody', () => Promise.reject(new Error('it was checked')))).rejects.toThrow(
      'no row of guesses',
    )
  })
})

describe('a locked owner', () => {
  const neverChecked = () => Promise.reject(new Error('it was checked'))

  test('is refused without checking the PIN, with a Retry-After', async () => {
    const ownerId = await owner({ fails: 5, lockedSeconds: 3600 })
    const error = await refusal(verify(ownerId, neverChecked))
    expect([error.code, error.status, error.message]).toEqual([
      'TOO_MANY_FAILED_ATTEMPTS',
      403,
      'Too many wrong PINs: this owner is locked.',
    ])
    expect(error.retryAfterSeconds).toBeGreaterThan(3590)
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(3600)
    expect(await stateOf(ownerId)).toEqual({ fails: 5, total: 5, locked: true, leased: false })
  })

  test('starts again at one wrong PIN after the lock has ended', async () => {
    const ownerId = await owner({ fails: 5, total: 20, lockedSeconds: -1 })
    expect(await codeOf(verify(ownerId, wrong))).toBe('INVALID_SECRET')
    expect(await stateOf(ownerId)).toEqual({ fails: 1, total: 21, locked: false, leased: false })
  })

  test('is unlocked by a right PIN after the lock has ended', async () => {
    const ownerId = await owner({ fails: 5, lockedSeconds: -1 })
    expect(await codeOf(verify(ownerId, right))).toBe('resolved')
    expect(await stateOf(ownerId)).toEqual({ fails: 0, total: 5, locked: false, leased: false })
  })

  test('stays locked after a hundred wrong PINs in all, until an operator unlocks', async () => {
    const ownerId = await owner({ fails: 0, total: 99 })
    expect(await codeOf(verify(ownerId, wrong))).toBe('INVALID_SECRET')
    expect(await stateOf(ownerId)).toEqual({ fails: 1, total: 100, locked: false, leased: false })
    const error = await refusal(verify(ownerId, neverChecked))
    expect([error.code, error.retryAfterSeconds]).toEqual(['TOO_MANY_FAILED_ATTEMPTS', DAY_SECONDS])
    await db.transaction((tx) => guesses.unlock(tx, { projectId, ownerId }))
    expect(await codeOf(verify(ownerId, right))).toBe('resolved')
  })

  test('is not locked if the hundredth PIN is right', async () => {
    const ownerId = await owner({ fails: 0, total: 99 })
    expect(await codeOf(verify(ownerId, right))).toBe('resolved')
    expect((await stateOf(ownerId)).total).toBe(99)
  })

  test('does not affect another owner of the project, or an owner with the same id in another project', async () => {
    const ownerId = await owner({ fails: 5, lockedSeconds: 3600 })
    expect(await codeOf(verify(await owner(), right))).toBe('resolved')
    const elsewhere = randomUUID()
    await sql`insert into projects (id, name) values (${elsewhere}, 'Other')`
    await sql`insert into user_keys (project_id, owner_id, salt, sealed) values (${elsewhere}, ${ownerId}, '\\x00', '\\x00')`
    await sql`insert into pin_guesses (project_id, owner_id, mac) values (${elsewhere}, ${ownerId}, '')`
    await guesses.makeProjectKey(elsewhere)
    await guesses.authenticate(elsewhere, ownerId)
    expect(await codeOf(verify(ownerId, right, guard, elsewhere))).toBe('resolved')
  })
})

describe('many at once', () => {
  const WRONG = isLong ? 200 : 40
  test(`${WRONG} wrong PINs over two processes: five are checked, one at a time`, async () => {
    const ownerId = await owner()
    let checks = 0
    let atOnce = 0
    let most = 0
    const evaluate = async () => {
      checks += 1
      atOnce += 1
      most = Math.max(most, atOnce)
      await sleep(5)
      atOnce -= 1
      return null
    }
    const guesses = Array.from({ length: WRONG }, (_, index) =>
      verify(ownerId, evaluate, index % 2 ? guard : otherGuard),
    )
    expect(await tally(guesses)).toEqual({ INVALID_SECRET: 5, TOO_MANY_FAILED_ATTEMPTS: WRONG - 5 })
    expect([checks, most]).toEqual([5, 1])
    expect(await stateOf(ownerId)).toEqual({ fails: 5, total: 5, locked: true, leased: false })
  })

  const AT_ONCE = isLong ? 64 : 16
  test(`${AT_ONCE} right PINs over two processes all succeed, even if one more failure would lock`, async () => {
    const ownerId = await owner({ fails: 4, total: 98 })
    const evaluate = async () => {
      await sleep(5)
      return right()
    }
    const guesses = Array.from({ length: AT_ONCE }, (_, index) =>
      verify(ownerId, evaluate, index % 2 ? guard : otherGuard),
    )
    expect(await tally(guesses)).toEqual({ resolved: AT_ONCE })
    expect(await stateOf(ownerId)).toEqual({ fails: 0, total: 98, locked: false, leased: false })
  })

  test('right and wrong PINs mixed: each gets its own result', async () => {
    const ownerId = await owner()
    const guesses = Array.from({ length: 30 }, (_, index) => verify(ownerId, index % 3 === 2 ? wrong : right))
    expect(await tally(guesses)).toEqual({ resolved: 20, INVALID_SECRET: 10 })
    expect((await stateOf(ownerId)).total).toBe(10)
  })

  test('one owner’s queue does not hold up another owner', async () => {
    const [busy, other] = [await owner(), await owner()]
    let done = 0
    const slow = async () => {
      await sleep(20)
      done += 1
      return right()
    }
    const queue = Array.from({ length: 5 }, () => verify(busy, slow))
    await verify(other, right)
    expect(done).toBeLessThan(5)
    await Promise.all(queue)
  })

  test('never more run than the argon2 pool has slots, over all owners', async () => {
    const narrow = guardOn(db, guesses)
    let atOnce = 0
    let most = 0
    const evaluate = async () => {
      atOnce += 1
      most = Math.max(most, atOnce)
      await sleep(5)
      atOnce -= 1
      return right()
    }
    const owners = await Promise.all(Array.from({ length: 12 }, () => owner()))
    await Promise.all(owners.map((ownerId) => verify(ownerId, evaluate, narrow)))
    expect(most).toBe(2)
  })
})

describe('a crash after the charge', () => {
  const crash = (ownerId: string) => guesses.charge({ projectId, ownerId, lease: randomUUID(), limits: [] })
  const endLease = (ownerId: string) =>
    sql`update pin_guesses set lease_until = now() - interval '1 second' where owner_id = ${ownerId}`

  test('leaves the guess charged, and the next one waits until the lease has ended', async () => {
    const ownerId = await owner()
    await crash(ownerId)
    expect(await stateOf(ownerId)).toEqual({ fails: 1, total: 1, locked: false, leased: true })
    let checked = false
    const next = verify(ownerId, async () => {
      checked = true
      return null
    })
    const code = codeOf(next)
    await sleep(200)
    expect(checked).toBe(false)
    await endLease(ownerId)
    expect(await code).toBe('INVALID_SECRET')
    expect(await stateOf(ownerId)).toEqual({ fails: 2, total: 2, locked: false, leased: false })
  })

  test('does not save a guess: five crashes lock the owner', async () => {
    const ownerId = await owner()
    for (let count = 0; count < 5; count += 1) {
      expect(await crash(ownerId)).toMatchObject({ state: 'charged' })
      await endLease(ownerId)
    }
    expect(await codeOf(verify(ownerId, right))).toBe('TOO_MANY_FAILED_ATTEMPTS')
  })

  test('delays others until their time is over by the clock of the vault; then they get 503 busy', async () => {
    const ownerId = await owner()
    await crash(ownerId)
    const now = performance.now.bind(performance)
    let aheadMs = 0
    const clock = spyOn(performance, 'now').mockImplementation(() => now() + aheadMs)
    try {
      let isOver = false
      const refused = refusal(verify(ownerId, right)).finally(() => {
        isOver = true
      })
      for (aheadMs of [0, 5_000]) {
        await sleep(100)
        expect(isOver).toBe(false)
      }
      aheadMs = 10_000
      expect(await refused).toMatchObject({ code: 'busy', status: 503, retryAfterSeconds: 1 })
      expect((await stateOf(ownerId)).fails).toBe(1)
    } finally {
      clock.mockRestore()
    }
  })

  longTest(
    'delays others by ten seconds at most; then they get 503 busy',
    async () => {
      const ownerId = await owner()
      await crash(ownerId)
      await sql`update pin_guesses set lease_until = now() + interval '1 hour' where owner_id = ${ownerId}`
      const started = performance.now()
      const error = await refusal(verify(ownerId, right))
      expect([error.code, error.status, error.retryAfterSeconds]).toEqual(['busy', 503, 1])
      expect(performance.now() - started).toBeGreaterThan(9_900)
      expect(performance.now() - started).toBeLessThan(14_000)
      expect((await stateOf(ownerId)).fails).toBe(1)
    },
    20_000,
  )

  test('does not hold the lease for longer than ten seconds', async () => {
    const ownerId = await owner()
    await crash(ownerId)
    const [row] =
      await sql`select extract(epoch from lease_until - now()) as seconds from pin_guesses where owner_id = ${ownerId}`
    expect(Number(row?.seconds)).toBeGreaterThan(9)
    expect(Number(row?.seconds)).toBeLessThanOrEqual(10)
  })
})

describe('a lease that was lost', () => {
  const steal = (ownerId: string) => sql`update pin_guesses set lease = ${randomUUID()} where owner_id = ${ownerId}`

  test('discards a right result, zeroes its key and clears no charge', async () => {
    const ownerId = await owner({ fails: 2 })
    const key = new Uint8Array(32).fill(1)
    const guess = verify(ownerId, async () => {
      await steal(ownerId)
      return key
    })
    expect(await codeOf(guess)).toBe('busy')
    expect(key.every((byte) => byte === 0)).toBe(true)
    expect(await stateOf(ownerId)).toEqual({ fails: 3, total: 3, locked: false, leased: true })
  })

  test('discards a wrong result and leaves the lease to its new holder', async () => {
    const ownerId = await owner()
    const guess = verify(ownerId, async () => {
      await steal(ownerId)
      return null
    })
    expect(await codeOf(guess)).toBe('busy')
    expect((await stateOf(ownerId)).leased).toBe(true)
  })
})

describe('a PIN that was changed between the reading and the lease', () => {
  test.each([
    ['with no guesses', {}, { fails: 0, total: 0, locked: false, leased: false }],
    ['one before the lock', { fails: 4, total: 50 }, { fails: 4, total: 50, locked: false, leased: false }],
    ['after a lock', { fails: 5, total: 50, lockedSeconds: -1 }, { fails: 0, total: 50, locked: false, leased: false }],
  ])('is a conflict, neither checked nor charged: %s', async (_what, start, expected) => {
    const ownerId = await owner(start)
    await sql`update user_keys set version = 2 where owner_id = ${ownerId}`
    const error = await refusal(verify(ownerId, () => Promise.reject(new Error('it was checked'))))
    expect([error.code, error.status]).toEqual(['credential_changed', 409])
    expect(await stateOf(ownerId)).toEqual(expected)
  })

  test('is detected by a request that waited in the queue meanwhile', async () => {
    const ownerId = await owner()
    const change = async () => {
      await sql`update user_keys set version = 2 where owner_id = ${ownerId}`
      return right()
    }
    const [first, second] = [verify(ownerId, change), verify(ownerId, right)]
    expect([await codeOf(first), await codeOf(second)]).toEqual(['resolved', 'credential_changed'])
    expect((await stateOf(ownerId)).total).toBe(0)
  })
})

describe('a count that the owner of the database has written', () => {
  const neverChecked = () => Promise.reject(new Error('it was checked'))
  const isRefused = async (ownerId: string): Promise<void> => {
    const error = await refusal(verify(ownerId, neverChecked))
    expect([error.code, error.status, error.message, error.retryAfterSeconds]).toEqual([
      'TOO_MANY_FAILED_ATTEMPTS',
      403,
      'Too many wrong PINs: this owner is locked.',
      DAY_SECONDS,
    ])
    expect(error.event).toMatchObject({ kind: 'guess_count_forged', projectId, subject: ownerId })
    expect(await forged()).toContain(ownerId)
    // Until an operator unlocks the owner.
    await db.transaction((tx) => guesses.unlock(tx, { projectId, ownerId }))
    expect(await codeOf(verify(ownerId, right))).toBe('resolved')
    expect(await forged()).not.toContain(ownerId)
  }
  const forged = async () => (await guesses.forged(projectId)).map(({ ownerId }) => ownerId)

  test.each([
    ['fails', { fails: 0 }],
    ['total', { total: 0 }],
    ['lock', { locked_until: null }],
    ['lock, to a time in the past', { locked_until: new Date(0) }],
    ['revision', { revision: 7 }],
    ['MAC, to none', { mac: Buffer.alloc(0) }],
    ['MAC, to one of a project key that does not exist', { mac: Buffer.alloc(36, 9) }],
  ])('opens nothing after a change of its %s', async (_what, change) => {
    const ownerId = await owner({ fails: 5, total: 40, lockedSeconds: 3600 })
    await sql`update pin_guesses set ${sql(change)} where owner_id = ${ownerId}`
    await isRefused(ownerId)
  })

  test('opens nothing as the row of another owner', async () => {
    const [ownerId, other] = [await owner({ fails: 5, total: 40, lockedSeconds: 3600 }), await owner()]
    await sql`update pin_guesses set (fails, total, locked_until, revision, mac) =
      (select fails, total, locked_until, revision, mac from pin_guesses where owner_id = ${other})
      where owner_id = ${ownerId}`
    await isRefused(ownerId)
  })

  test('opens nothing after its row is deleted', async () => {
    const ownerId = await owner({ fails: 5, lockedSeconds: 3600 })
    await sql`delete from pin_guesses where owner_id = ${ownerId}`
    await isRefused(ownerId)
  })

  test('gives no guess while a PIN is being checked: what the check writes is what it had counted', async () => {
    const ownerId = await owner({ fails: 1, total: 40 })
    await verify(ownerId, async () => {
      await sql`update pin_guesses set total = 0 where owner_id = ${ownerId}`
      return right()
    })
    expect(await stateOf(ownerId)).toMatchObject({ fails: 0, total: 40 })
    expect(await forged()).not.toContain(ownerId)
  })
})
