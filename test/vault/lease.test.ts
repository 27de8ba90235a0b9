// The lease of the guess guard in every order of a few verifications that crash, are late, wrong or right. This
// explores a model, so the model is compared with the real statements: in random walks, step by step, on PostgreSQL.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { type Db, openDb } from '../../db/client.ts'
import type { ChargedGuess } from '../../src/vault/rooms/credentials/guesses.ts'
import { explore } from '../support/explore.ts'
import { isLong, longTest } from '../support/long.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import {
  type Act,
  firstGuarded,
  GUESS_RULES,
  type Guarded,
  type GuardedMove,
  type GuessRules,
  guardedMovesFrom,
  guardModel,
  type Limits,
  type Row,
} from './lease-model.ts'
import { openTestGuesses, type TestGuesses } from './support.ts'

const LIMITS: Limits = { failsMax: 5, totalMax: 100 }
const STATES_MAX = 4_000_000
const TIMEOUT_MS = 600_000

describe('in every order, each wrong PIN that is checked is charged, and only a hundred of them lock an owner for good', () => {
  const check = (input: { readonly verifications: number; readonly limits: Limits }) => {
    const { verifications, limits } = input
    const name = `${verifications} at once, a change of the PIN, ${limits.failsMax} in a row, ${limits.totalMax} ever`
    test(
      name,
      () => {
        const report = explore(guardModel({ ...input, rules: GUESS_RULES, changes: 1 }), { statesMax: STATES_MAX })
        console.log(`      ${report.states.toLocaleString('en')} states: ${name}`)
        expect(report.broken).toBeNull()
      },
      TIMEOUT_MS,
    )
  }

  check({ verifications: 2, limits: { failsMax: 2, totalMax: 3 } })
  if (!isLong) return
  check({ verifications: 2, limits: { failsMax: 2, totalMax: 4 } })
  check({ verifications: 2, limits: { failsMax: 5, totalMax: 6 } })
  check({ verifications: 3, limits: { failsMax: 2, totalMax: 3 } })
  check({ verifications: 2, limits: { failsMax: 5, totalMax: 12 } })
  check({ verifications: 3, limits: { failsMax: 5, totalMax: 7 } })
})

describe('a broken rule is found', () => {
  const finds = (name: string, rules: Partial<GuessRules>, claim: RegExp, declare: typeof longTest = test) =>
    declare(name, () => {
      const limits = { failsMax: 2, totalMax: 4 }
      const input = { rules: { ...GUESS_RULES, ...rules }, limits, verifications: 2, changes: 1 }
      expect(explore(guardModel(input), { statesMax: STATES_MAX }).broken).toMatch(claim)
    })

  /** As if it held the lease. */
  const held = (row: Row, by: number): Row => ({ ...row, lease: { of: by, isLive: true } })

  finds('a charge after the PIN was checked', { isChargedFirst: false }, /checked and is not charged/)
  finds(
    'a success clears guesses without holding the lease',
    { clear: (row, by) => GUESS_RULES.clear(held(row, by), by) },
    /a result whose lease is not ours changes something/,
  )
  finds(
    'a failure ends the lease of another',
    { keep: (row, by) => GUESS_RULES.keep(held(row, by), by) },
    /a result whose lease is not ours changes something/,
  )
  finds(
    'a charge ignores the lease',
    { charge: (row, by, limits) => GUESS_RULES.charge({ ...row, lease: null }, by, limits) },
    /two verifications at a time/,
  )
  finds(
    'a success stays charged',
    { clear: (row, by) => [{ ...row, lease: row.lease?.of === by ? null : row.lease }, row.lease?.of === by] },
    /a right PIN counts as a wrong one|a result whose lease/,
  )
  finds('a failure that gives its charge back', { keep: GUESS_RULES.takeBack }, /checked and is not charged/)
  finds(
    'a lock does not end',
    {
      charge: (row, by, limits) => (row.lock === 'past' ? [row, 'locked'] : GUESS_RULES.charge(row, by, limits)),
    },
    /no way to an end/,
    longTest,
  )
  finds(
    'a lease does not end',
    { charge: (row, by, limits) => (row.lease === null ? GUESS_RULES.charge(row, by, limits) : [row, 'taken']) },
    /no way to an end/,
  )
})

describe('the statements agree with the model at every step of a random walk', () => {
  const VERIFICATIONS = 3
  const STEPS = isLong ? 1_500 : 120
  /** All possible results of each act. A walk that misses one tests too little. */
  const COVERED = [
    ...['charge charged', 'charge taken', 'charge locked', 'clear true', 'clear false', 'keep true', 'keep false'],
    ...['takeBack true', 'takeBack false', 'unlock', 'change', 'elapse lease', 'elapse lock'],
  ]
  const covered = new Set<string>()

  let database: TestDatabase
  let sql: Sql
  let db: Db
  let guesses: TestGuesses
  const projectId = randomUUID()

  beforeAll(async () => {
    database = await createDatabase()
    sql = postgres(database.url, { max: 1, onnotice: () => {} })
    db = openDb({ url: database.vaultUrl, maxConnections: 2, applicationName: 'lease' })
    guesses = await openTestGuesses(db)
    await sql`insert into projects (id, name) values (${projectId}, 'Test')`
    await guesses.makeProjectKey(projectId)
  })

  afterAll(async () => {
    await db.close({ timeoutSeconds: 5 })
    await sql.end()
    await database.close()
  })

  const insertOwner = async (total: number): Promise<string> => {
    const ownerId = randomUUID()
    await sql`
      insert into user_keys (project_id, owner_id, salt, sealed, version)
      values (${projectId}, ${ownerId}, '\\x00', '\\x00', 0)`
    await sql`
      insert into pin_guesses (project_id, owner_id, total, mac) values (${projectId}, ${ownerId}, ${total}, '')`
    await guesses.authenticate(projectId, ownerId)
    return ownerId
  }

  type Walk = { readonly ownerId: string; readonly leases: Map<number, ChargedGuess> }

  const leaseOf = ({ leases }: Walk, by: number): ChargedGuess => {
    const lease = leases.get(by)
    if (lease === undefined) throw new Error('it has charged nothing')
    return lease
  }

  /** Applies a move of the model to the database. @returns the answer */
  const carryOut = async (of: Walk, act: Act): Promise<unknown> => {
    const { ownerId, leases } = of
    const owner = { projectId, ownerId }
    switch (act.kind) {
      case 'charge': {
        const charge = await guesses.charge({ ...owner, lease: randomUUID(), limits: [] })
        if (charge.state === 'charged') leases.set(act.by, charge)
        if (charge.state === 'locked') {
          expect(charge.retryAfterSeconds).toBeGreaterThan(0)
          expect(charge.retryAfterSeconds).toBeLessThanOrEqual(86_400)
        }
        return charge.state
      }
      case 'clear':
        return guesses.clear(leaseOf(of, act.by))
      case 'keep':
        return guesses.keep(leaseOf(of, act.by))
      case 'takeBack':
        return guesses.takeBack(leaseOf(of, act.by))
      case 'unlock':
        return db.transaction((tx) => guesses.unlock(tx, owner))
      case 'change':
        return sql`update user_keys set version = version + 1 where owner_id = ${ownerId}`
      case 'elapse': {
        const seconds = act.what === 'lease' ? 10 : 86_400
        await sql`
          update pin_guesses set lease_until = lease_until - make_interval(secs => ${seconds}),
            locked_until = locked_until - make_interval(secs => ${seconds}) where owner_id = ${ownerId}`
        return guesses.authenticate(projectId, ownerId)
      }
    }
  }

  type Found = Omit<Row, 'lease'> & { readonly lease: string | null; readonly isLive: boolean }

  const found = async (ownerId: string): Promise<Found | undefined> => {
    const [row] = await sql<Found[]>`
      select fails, total, lease, coalesce(lease_until > now(), false) as "isLive", version,
        case when locked_until is null then 'none' when locked_until > now() then 'live' else 'past' end as lock
      from pin_guesses join user_keys using (project_id, owner_id) where owner_id = ${ownerId}`
    return row === undefined ? undefined : { ...row }
  }

  /** Time passes only in steps of the walk, as the machine may be busy. */
  const holdClock = async (ownerId: string) => {
    await sql`
      update pin_guesses set
        lease_until = case when lease_until > now() then now() + interval '10 seconds' else lease_until end,
        locked_until = case when locked_until > now() then now() + interval '1 day' else locked_until end
      where owner_id = ${ownerId}`
    await guesses.authenticate(projectId, ownerId)
  }

  const compare = async ({ ownerId, leases }: Walk, { row }: Guarded): Promise<void> => {
    const { lease, ...rest } = row
    const actual = await found(ownerId)
    const isOurs = lease !== null && leases.has(lease.of)
    const expected = lease === null ? null : isOurs ? leases.get(lease.of)?.lease : actual?.lease
    expect(actual).toEqual({ ...rest, lease: expected ?? null, isLive: lease?.isLive ?? false })
  }

  const walk = async (input: {
    readonly seed: number
    readonly total: number
    readonly isUnlocked: boolean
    readonly steps?: number
  }) => {
    const random = seeded(input.seed)
    const of: Walk = { ownerId: await insertOwner(input.total), leases: new Map() }
    const first = firstGuarded({ verifications: VERIFICATIONS, changes: STEPS })
    let world: Guarded = { ...first, row: { ...first.row, total: input.total } }
    for (let step = 0; step < (input.steps ?? STEPS); step += 1) {
      const move = chosen(guardedMovesFrom(world, { rules: GUESS_RULES, limits: LIMITS }), random, input.isUnlocked)
      world = move.world
      const { act } = move
      if (act === null) continue
      await holdClock(of.ownerId)
      const answer = await carryOut(of, act)
      if ('answer' in act) {
        covered.add(`${act.kind} ${act.answer}`)
        if (act.kind !== 'takeBack') expect(answer).toBe(act.answer)
      } else {
        covered.add(act.kind === 'elapse' ? `elapse ${act.what}` : act.kind)
      }
      await compare(of, world)
    }
    return world.row
  }

  test('from an empty state', async () => {
    // The last of these reaches every result in few steps.
    for (const seed of isLong ? [1, 2] : [7353]) await walk({ seed, total: 0, isUnlocked: true })
  })

  test('up to the hundredth wrong PIN, which locks for good', async () => {
    const start = isLong ? { total: 60 } : { total: 97, steps: 100 }
    expect((await walk({ seed: 3, isUnlocked: false, ...start })).total).toBe(LIMITS.totalMax)
  })

  test('the walks reached every possible result', () => {
    expect(COVERED.filter((each) => !covered.has(each))).toEqual([])
  })

  test('a lease lasts ten seconds and a lock one day', async () => {
    const ownerId = await insertOwner(0)
    for (let fails = 1; fails <= LIMITS.failsMax; fails += 1) {
      const lease = randomUUID()
      await guesses.charge({ projectId, ownerId, lease, limits: [] })
      const [row] = await sql<{ leaseSeconds: number; lockSeconds: number | null }[]>`
        select extract(epoch from lease_until - now())::float8 as "leaseSeconds",
          extract(epoch from locked_until - lease_until)::float8 as "lockSeconds"
        from pin_guesses where owner_id = ${ownerId}`
      expect(row?.leaseSeconds).toBeLessThanOrEqual(10)
      expect(row?.leaseSeconds).toBeGreaterThan(0)
      // The lock begins when the count is read, the lease a moment later.
      const lockSeconds = row?.lockSeconds ?? null
      expect(lockSeconds === null).toBe(fails < LIMITS.failsMax)
      if (lockSeconds !== null) expect(Math.abs(lockSeconds - (86_400 - 10))).toBeLessThan(60)
      await guesses.keep({ projectId, ownerId, lease })
    }
  })
})

/** A pseudo-random sequence of numbers from 0 to 1 (mulberry32). */
const seeded = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

/** Operators, changes of a PIN, crashes and whole days are rarer than the rest. */
const chosen = (moves: readonly GuardedMove[], random: () => number, isUnlocked: boolean): GuardedMove => {
  const isRare = ({ name, act }: GuardedMove) =>
    act?.kind === 'unlock' || act?.kind === 'change' || act?.kind === 'elapse' || name.startsWith('crash')
  const open = moves.filter(({ act }) => isUnlocked || act?.kind !== 'unlock')
  const common = open.filter((move) => !isRare(move))
  const from = random() < 0.2 || common.length === 0 ? open.filter(isRare) : common
  const move = (from.length === 0 ? open : from)[Math.floor(random() * (from.length === 0 ? open : from).length)]
  if (move === undefined) throw new Error('nothing can happen')
  return move
}
