// A model of the guess guard (src/vault/rooms/credentials/guard.ts over db/queries/vault/guesses.ts) as a pure
// function. lease.test.ts explores it and compares it with the real statements. The clock is reduced to whether a time
// has come. Each verification behaves as if in its own process, because the queue within one process only rules out
// some orders.

import { Broken, type Model, type Move } from '../support/explore.ts'

/** One owner's row, and the version of the user key. */
export type Row = {
  readonly fails: number
  readonly total: number
  readonly lock: 'none' | 'live' | 'past'
  readonly lease: { readonly of: number; readonly isLive: boolean } | null
  readonly version: number
}

export type Limits = { readonly failsMax: number; readonly totalMax: number }

export type Charged = 'charged' | 'taken' | 'locked'

/** The statements of db/queries/vault/guesses.ts, each with its answer. `by` is the holder of the lease. */
export type GuessRules = {
  charge(row: Row, by: number, limits: Limits): readonly [Row, Charged]
  /** A right PIN; a wrong one; one that was never checked. */
  clear(row: Row, by: number): readonly [Row, boolean]
  keep(row: Row, by: number): readonly [Row, boolean]
  takeBack(row: Row, by: number): readonly [Row, boolean]
  unlock(row: Row): Row
  /** Whether a guess is charged before the PIN is checked. */
  readonly isChargedFirst: boolean
}

const ifOurs = (row: Row, by: number, change: Partial<Row>): readonly [Row, boolean] =>
  row.lease?.of === by ? [{ ...row, ...change, lease: null }, true] : [row, false]

const less = (count: number): number => Math.max(count - 1, 0)

export const GUESS_RULES: GuessRules = {
  charge: (row, by, { failsMax, totalMax }) => {
    if (row.lease?.isLive) return [row, 'taken']
    if (row.total >= totalMax || row.lock === 'live') return [row, 'locked']
    if (row.lock === 'none' && row.fails >= failsMax) return [row, 'taken']
    const fails = row.lock === 'past' ? 1 : row.fails + 1
    const lock = fails === failsMax ? 'live' : 'none'
    return [{ ...row, fails, total: row.total + 1, lock, lease: { of: by, isLive: true } }, 'charged']
  },
  clear: (row, by) => ifOurs(row, by, { fails: 0, total: less(row.total), lock: 'none' }),
  keep: (row, by) => ifOurs(row, by, {}),
  takeBack: (row, by) => ifOurs(row, by, { fails: less(row.fails), total: less(row.total), lock: 'none' }),
  unlock: (row) => ({ ...row, fails: 0, total: 0, lock: 'none' }),
  isChargedFirst: true,
}

/** Ten seconds or a day pass; leases or locks end. */
export const elapse = (row: Row, what: 'lease' | 'lock'): Row => ({
  ...row,
  lease: row.lease === null ? null : { ...row.lease, isLive: false },
  lock: what === 'lock' && row.lock === 'live' ? 'past' : row.lock,
})

type Verification = Arrived | Underway

/**
 * A verification that has read the version of the user key. Its PIN is right or wrong for it. `isSeen`: it was checked.
 */
type Arrived = { readonly at: 'arrived'; readonly version: number; readonly isRight: boolean; readonly isSeen: boolean }

type Underway = {
  readonly at: 'charged' | 'evaluated' | 'outdated'
  readonly isRight: boolean
  /** Less than ten seconds have passed since its charge. */
  readonly isLive: boolean
  /** Whether its charge counts in a row, only in all, or not any more because an operator unlocked. */
  readonly counts: 'in_row' | 'ever' | 'not'
}

export type Guarded = {
  readonly row: Row
  /** null: nothing is under way. */
  readonly verifications: readonly (Verification | null)[]
  /** Wrong PINs that were checked: since a right one or the end of a lock, and since an operator unlocked. */
  readonly wrongInRow: number
  readonly wrongEver: number
  readonly changesLeft: number
}

/** The statement to run on the database, for the comparison with the model. */
export type Act =
  | { readonly kind: 'charge' | 'clear' | 'keep' | 'takeBack'; readonly by: number; readonly answer: Charged | boolean }
  | { readonly kind: 'unlock' | 'change' }
  | { readonly kind: 'elapse'; readonly what: 'lease' | 'lock' }

export type GuardedMove = Move<Guarded> & { readonly act: Act | null }

/** This lease will not be used any more. */
const NOBODY = -1

const FRESH: Row = { fails: 0, total: 0, lock: 'none', lease: null, version: 0 }

const set = <Item>(list: readonly Item[], at: number, item: Item): readonly Item[] =>
  list.map((each, index) => (index === at ? item : each))

const ends = (world: Guarded, by: number): Guarded => ({
  ...world,
  row: world.row.lease?.of === by ? { ...world.row, lease: { ...world.row.lease, of: NOBODY } } : world.row,
  verifications: set(world.verifications, by, null),
})

const underway = (world: Guarded): readonly Underway[] =>
  world.verifications.flatMap((each) => (each === null || each.at === 'arrived' ? [] : [each]))

const eachUnderway = (world: Guarded, change: (each: Underway) => Underway): Guarded => ({
  ...world,
  verifications: world.verifications.map((each) => (each === null || each.at === 'arrived' ? each : change(each))),
})

/** From now on wrong PINs in a row are counted from zero. */
const restarted = (world: Guarded): Guarded => ({
  ...eachUnderway(world, (each) => ({ ...each, counts: each.counts === 'in_row' ? 'ever' : each.counts })),
  wrongInRow: 0,
})

type Parts = { readonly rules: GuessRules; readonly limits: Limits }

const promised = (name: string, world: Guarded, act: Act | null = null): GuardedMove => ({
  ...{ name, world, act },
  isPromised: true,
})
const chance = (name: string, world: Guarded, act: Act | null = null): GuardedMove => ({
  ...{ name, world, act },
  isPromised: false,
})

const charging = (world: Guarded, mine: Arrived, by: number, { rules, limits }: Parts): GuardedMove => {
  const [row, answer] = rules.charge(world.row, by, limits)
  const act: Act = { kind: 'charge', by, answer }
  const name = `charge ${by}: ${answer}`
  if (answer === 'taken') return promised(name, { ...world, row }, act)
  if (answer === 'locked') return promised(name, ends({ ...world, row }, by), act)
  const start = world.row.lock === 'past' ? restarted(world) : world
  const next: Underway = {
    at: mine.version !== row.version ? 'outdated' : mine.isSeen ? 'evaluated' : 'charged',
    isRight: mine.isRight,
    isLive: true,
    counts: 'in_row',
  }
  return promised(name, { ...start, row, verifications: set(start.verifications, by, next) }, act)
}

/** Runs argon2. From now on the caller may know whether the PIN was right. */
const evaluated = (world: Guarded, by: number, mine: Underway): Guarded => ({
  ...world,
  verifications: set(world.verifications, by, { ...mine, at: 'evaluated' }),
  wrongInRow: world.wrongInRow + (mine.isRight || mine.counts !== 'in_row' ? 0 : 1),
  wrongEver: world.wrongEver + (mine.isRight || mine.counts === 'not' ? 0 : 1),
})

const seenFirst = (world: Guarded, by: number, mine: Arrived): Guarded => ({
  ...world,
  verifications: set(world.verifications, by, { ...mine, isSeen: true }),
  wrongInRow: world.wrongInRow + (mine.isRight ? 0 : 1),
  wrongEver: world.wrongEver + (mine.isRight ? 0 : 1),
})

/** Records the result if the lease is still ours. @throws Broken if it changes what it must not. */
const ending = (
  world: Guarded,
  input: { readonly kind: 'clear' | 'keep' | 'takeBack'; readonly by: number; readonly rules: GuessRules },
): GuardedMove => {
  const { kind, by, rules } = input
  const [row, answer] = rules[kind](world.row, by)
  if (world.row.lease?.of !== by && (answer || row !== world.row)) {
    throw new Broken('a result whose lease is not ours changes something')
  }
  const isRight = kind === 'clear' && answer
  const isCleared = row.fails === 0 && row.lock === 'none' && row.total === less(world.row.total)
  if (isRight && !isCleared) throw new Broken('a right PIN counts as a wrong one')
  const after = ends({ ...world, row }, by)
  return promised(`${kind} ${by}`, isRight ? restarted(after) : after, { kind, by, answer })
}

const verifying = (world: Guarded, by: number, parts: Parts): readonly GuardedMove[] => {
  const mine = world.verifications[by] ?? null
  if (mine === null) {
    return [true, false].map((isRight) => {
      const arrived = { at: 'arrived', version: world.row.version, isRight, isSeen: false } as const
      const next = { ...world, verifications: set(world.verifications, by, arrived) }
      return chance(`${isRight ? 'right' : 'wrong'} PIN ${by}`, next)
    })
  }
  const crash = chance(`crash ${by}`, ends(world, by))
  const { rules } = parts
  switch (mine.at) {
    case 'arrived':
      if (!rules.isChargedFirst && !mine.isSeen) return [promised(`evaluate ${by}`, seenFirst(world, by, mine)), crash]
      return [charging(world, mine, by, parts), crash]
    case 'charged':
      // A check that fails with an internal error is kept like a wrong PIN.
      return [promised(`evaluate ${by}`, evaluated(world, by, mine)), ending(world, { kind: 'keep', by, rules }), crash]
    case 'evaluated':
      return [ending(world, { kind: mine.isRight ? 'clear' : 'keep', by, rules }), crash]
    case 'outdated':
      return [ending(world, { kind: 'takeBack', by, rules }), crash]
  }
}

const passing = (world: Guarded): readonly GuardedMove[] => {
  const after = (what: 'lease' | 'lock') => {
    const late = eachUnderway({ ...world, row: elapse(world.row, what) }, (each) => ({ ...each, isLive: false }))
    return promised(what === 'lease' ? 'ten seconds pass' : 'a day passes', late, { kind: 'elapse', what })
  }
  return [...(world.row.lease?.isLive ? [after('lease')] : []), ...(world.row.lock === 'live' ? [after('lock')] : [])]
}

/** An operator unlocks; the owner changes the PIN. */
const interfering = (world: Guarded, { rules }: Parts): readonly GuardedMove[] => {
  const free = eachUnderway(world, (each) => ({ ...each, counts: 'not' }))
  const unlocked = { ...free, row: rules.unlock(world.row), wrongInRow: 0, wrongEver: 0 }
  const row = { ...world.row, version: world.row.version + 1 }
  const changed = { ...world, row, changesLeft: world.changesLeft - 1 }
  return [
    chance('operator unlocks', unlocked, { kind: 'unlock' }),
    ...(world.changesLeft > 0 ? [chance('PIN changes', changed, { kind: 'change' })] : []),
  ]
}

const brokenIn = (world: Guarded, { failsMax, totalMax }: Limits): string | null => {
  const { row, wrongInRow, wrongEver } = world
  if (row.fails < 0 || row.fails > failsMax || row.total < 0 || row.total > totalMax) return 'the row is out of bounds'
  if (wrongInRow > failsMax) return 'too many wrong PINs in a row were checked'
  if (wrongEver > totalMax) return 'too many wrong PINs ever were checked'
  if (wrongInRow > row.fails || wrongEver > row.total) return 'a wrong PIN was checked and is not charged'
  if ((row.fails === failsMax) !== (row.lock !== 'none')) return 'locked without five in a row, or not locked with them'
  return underway(world).filter((each) => each.isLive).length > 1 ? 'two verifications at a time' : null
}

export const guardedMovesFrom = (world: Guarded, parts: Parts): readonly GuardedMove[] => [
  ...world.verifications.flatMap((_, by) => verifying(world, by, parts)),
  ...passing(world),
  ...interfering(world, parts),
]

export const firstGuarded = (input: { readonly verifications: number; readonly changes: number }): Guarded => ({
  row: FRESH,
  verifications: Array(input.verifications).fill(null),
  ...{ wrongInRow: 0, wrongEver: 0, changesLeft: input.changes },
})

/** Verifications are sorted, as it does not matter which is which. */
const keyOf = ({ row, verifications, ...counts }: Guarded): string => {
  const { lease, ...rest } = row
  const holder = lease === null ? 'none' : lease.of === NOBODY ? 'nobody' : 'one'
  const all = verifications.map((each, by) => JSON.stringify([each, lease?.of === by])).sort()
  return JSON.stringify([rest, holder, lease?.isLive, all, counts])
}

export const guardModel = (
  input: Parts & { readonly verifications: number; readonly changes: number },
): Model<Guarded> => ({
  start: firstGuarded(input),
  key: keyOf,
  movesFrom: (world) => guardedMovesFrom(world, input),
  brokenIn: (world) => brokenIn(world, input.limits),
  // The next PIN can be checked, or none until an operator unlocks.
  isEnd: ({ row }) =>
    row.total >= input.limits.totalMax || input.rules.charge(row, NOBODY, input.limits)[1] === 'charged',
})
