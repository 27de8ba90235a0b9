// The count of an owner's wrong PINs. Each change renews the MAC of its row (sealing/row-mac.ts), so an attacker with
// the database cannot lower it. The vault reads and checks the row, computes the next one, and writes that only if the
// row is still the one that it read. A row whose MAC does not fit, or that is gone, opens nothing until an operator
// unlocks the owner. A MAC cannot detect that an attacker put back an earlier row of the same owner.

import type { Db, Tx } from '../../../../db/client.ts'
import type { TryLimit } from '../../../../db/queries/throttles.ts'
import {
  endLease,
  type GuessCount,
  type GuessesRow,
  listGuesses,
  lockGuesses,
  type NextGuesses,
  readGuesses,
  replaceGuesses,
  writeCharge,
  writeReleased,
} from '../../../../db/queries/vault/guesses.ts'
import type { RowImage } from '../../../../db/queries/vault/journal.ts'
import { newestProjectKeyVersion } from '../../../../db/queries/vault/project-keys.ts'
import { NotWritten } from '../../../../db/written.ts'
import { type Clocks, withClocks } from '../../client/clocks.ts'
import type { Journal } from '../journal/journal.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'
import { type BoundRow, macKeyIdOf } from '../sealing/row-mac.ts'
import { allPages } from './forged-keys.ts'

/** Wrong PINs in a row that lock an owner for a day, and in total for good. A CHECK has the same. */
const FAILS_MAX = 5
const TOTAL_MAX = 100
const LOCK_SECONDS = 24 * 60 * 60
const MS_A_SECOND = 1_000
/** How often a count may change while one request writes it. Only an operator changes it without its lease. */
const TRIES_MAX = 20

type Owner = { readonly projectId: string; readonly ownerId: string }
type Leased = Owner & { readonly lease: string }

export type ChargedGuess = Leased & {
  readonly version: number
  /** Whether the owner stays locked if this guess is wrong. */
  readonly locks: boolean
  readonly cleared: NextGuesses
}

/**
 * `charged`: the caller holds the lease. `taken`: another PIN is being checked, or was checked just now. `forged`: the
 * row is gone, or is not as it was written. `spent`: one of the caller's limits is reached.
 */
type Charge =
  | ({ readonly state: 'charged' } & ChargedGuess)
  | { readonly state: 'taken' }
  | { readonly state: 'locked' | 'forged' | 'spent'; readonly retryAfterSeconds: number }

/** The row as its MAC covers it. */
export const boundGuesses = ({ fails, total, lockedUntil, revision, ...owner }: GuessCount): BoundRow => ({
  identity: identityOf.pinGuesses(owner),
  fields: { fails, total, locked_until: lockedUntil, revision },
})

const NO_GUESSES = { fails: 0, total: 0, lockedUntil: null, revision: 0 }

type Parts = {
  readonly db: Db
  readonly projectKeys: ProjectKeys
  readonly journal: Journal
  readonly now: () => Date
}

type Counted = Pick<GuessCount, 'fails' | 'total' | 'lockedUntil'>

/** Its revision follows the clock, so that no archived row can follow on one that was put back. */
const nextOf = async ({ projectKeys, now }: Parts, row: GuessesRow, counted: Counted): Promise<NextGuesses> => {
  const { projectId, ownerId, revision: was, mac } = row
  const next = { projectId, ownerId, ...counted, revision: Math.max(was + 1, now().getTime()) }
  return { ...next, was, mac: await projectKeys.macOf({ version: macKeyIdOf(mac) ?? 0, row: boundGuesses(next) }) }
}

const isAsWritten = ({ projectKeys }: Parts, row: GuessesRow): Promise<boolean> =>
  projectKeys.isAsWritten({ row: boundGuesses(row), mac: row.mac })

/** `isEarlier`: an earlier row was put back. The floors are read first, as a row may change once it is read. */
const reading = async <Found extends Awaited<ReturnType<typeof lockGuesses>>>(
  { journal }: Parts,
  { projectId, ownerId }: Owner,
  find: () => Promise<Found>,
) => {
  const key = [projectId, ownerId]
  const [revision, version] = [journal.floorOf('pin_guesses', key), journal.floorOf('user_keys', key)]
  const found = await find()
  if (found === null) return null
  return { ...found, isEarlier: found.version < version || (found.row !== null && found.row.revision < revision) }
}

const read = (parts: Parts, input: Parameters<typeof readGuesses>[1]) =>
  reading(parts, input, () => readGuesses(parts.db, input))

const isOver = ({ lockedUntil }: Counted, { earlier }: Clocks): boolean =>
  lockedUntil !== null && lockedUntil <= earlier

const chargedOf = (row: Counted, clocks: Clocks): Counted => {
  const fails = isOver(row, clocks) ? 1 : row.fails + 1
  const lockedUntil = fails === FAILS_MAX ? new Date(clocks.later.getTime() + LOCK_SECONDS * MS_A_SECOND) : null
  return { fails, total: row.total + 1, lockedUntil }
}

/** After a right PIN. */
const clearedOf = ({ total }: Counted): Counted => ({ fails: 0, total: Math.max(total - 1, 0), lockedUntil: null })

/** After a PIN that was not checked. */
const takenBackOf = ({ fails, total }: Counted): Counted => ({
  fails: Math.max(fails - 1, 0),
  total: Math.max(total - 1, 0),
  lockedUntil: null,
})

/** Charges one guess, unless one of `limits` is reached, and takes the owner's lease. It may lock the owner. */
const charge = async (parts: Parts, input: Leased & { readonly limits: readonly TryLimit[] }): Promise<Charge> => {
  const { projectId, ownerId, lease } = input
  const { found, clocks } = await withClocks(parts.now, () => read(parts, input))
  if (found === null) throw new Error('An owner without a user key has no row of guesses.')
  const { row, version, limitSeconds, isLeased, isEarlier } = found
  if (limitSeconds !== null) return { state: 'spent', retryAfterSeconds: Math.max(1, limitSeconds) }
  if (isEarlier || row === null || !(await isAsWritten(parts, row))) {
    return { state: 'forged', retryAfterSeconds: LOCK_SECONDS }
  }
  // The lease first: the charge of the guess under way may have locked the owner, and a right PIN takes that back.
  if (isLeased) return { state: 'taken' }
  if (row.total >= TOTAL_MAX) return { state: 'locked', retryAfterSeconds: LOCK_SECONDS }
  if (row.lockedUntil !== null && !isOver(row, clocks)) {
    const seconds = Math.ceil((row.lockedUntil.getTime() - clocks.earlier.getTime()) / MS_A_SECOND)
    return { state: 'locked', retryAfterSeconds: seconds }
  }
  const charged = await nextOf(parts, row, chargedOf(row, clocks))
  // Before the charge: a slow root key must not cost a guess.
  const cleared = await nextOf(parts, charged, clearedOf(charged))
  const written = await writeCharge(parts.db, { ...charged, lease })
  if (written === null) {
    const { row: again, isLeased: isTaken } = (await readGuesses(parts.db, { ...input, limits: [] })) ?? {}
    // Another process that came first has changed it.
    if (again?.revision === row.revision && !isTaken) throw new NotWritten('pin_guesses', row)
    return { state: 'taken' }
  }
  // Before the PIN is checked, as a restored database must not give the guess back.
  parts.journal.wrote(written)
  await parts.journal.sync()
  const locks = charged.fails === FAILS_MAX || charged.total === TOTAL_MAX
  return { state: 'charged', projectId, ownerId, lease, version, locks, cleared }
}

/** Reads the row again and writes what follows from it. @returns false if the caller did not hold the lease. */
const release = async (parts: Parts, input: Leased, counted: (row: Counted) => Counted): Promise<boolean> => {
  const { lease } = input
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const { row = null, isEarlier = false } = (await read(parts, { ...input, limits: [] })) ?? {}
    if (row?.lease !== lease || isEarlier || !(await isAsWritten(parts, row))) return false
    const written = await writeReleased(parts.db, { ...(await nextOf(parts, row, counted(row))), lease })
    if (written !== null) {
      parts.journal.wrote(written)
      return true
    }
  }
  return false
}

/** Fetches the keys of the MACs that `unlock` checks and makes: its transaction must wait for no key service. */
const fetchKeys = async (parts: Parts, owner: Owner): Promise<void> => {
  const { row } = (await readGuesses(parts.db, { ...owner, limits: [] })) ?? {}
  if (row) await isAsWritten(parts, row)
  const version = await newestProjectKeyVersion(parts.db, owner.projectId)
  if (version !== null) await parts.projectKeys.macOf({ version, row: boundGuesses({ ...NO_GUESSES, ...owner }) })
}

/** Clears all wrong PINs, also where the row is gone or was forged. @returns null if the owner has no PIN. */
const unlock = async (
  parts: Parts,
  tx: Tx,
  { projectId, ownerId }: Owner,
): Promise<{ readonly image: RowImage; readonly revision: number } | null> => {
  const found = await reading(parts, { projectId, ownerId }, () => lockGuesses(tx, { projectId, ownerId }))
  const version = await newestProjectKeyVersion(tx, projectId)
  if (found === null || version === null) return null
  // A forged row may have any revision, and journals know the true one: the new one is above them all.
  const isValid = found.row !== null && !found.isEarlier && (await isAsWritten(parts, found.row))
  const floor = parts.journal.floorOf('pin_guesses', [projectId, ownerId])
  const was = Math.max(isValid ? (found.row?.revision ?? 0) : 0, parts.now().getTime(), floor)
  const row = { ...NO_GUESSES, projectId, ownerId, revision: was + 1 }
  const mac = await parts.projectKeys.macOf({ version, row: boundGuesses(row) })
  return { image: await replaceGuesses(tx, { ...row, mac }), revision: row.revision }
}

export type Guesses = ReturnType<typeof createGuesses>

export const createGuesses = (parts: Parts) => ({
  charge: (input: Parameters<typeof charge>[1]) => charge(parts, input),
  /** After a right PIN: takes the charge back and clears `fails`. @returns false if the caller had lost the lease. */
  clear: async ({ cleared, ...leased }: ChargedGuess): Promise<boolean> => {
    const written = await writeReleased(parts.db, { ...cleared, lease: leased.lease })
    if (written === null) return release(parts, leased, clearedOf)
    parts.journal.wrote(written)
    return true
  },
  /** After a wrong PIN: ends the lease and keeps the charge. @returns false if the caller had lost the lease. */
  keep: (input: Leased): Promise<boolean> => endLease(parts.db, input),
  /** Takes back the charge of a PIN that was not checked. @returns false if the caller had lost the lease. */
  takeBack: (input: Leased): Promise<boolean> => release(parts, input, takenBackOf),
  unlock: (tx: Tx, owner: Owner) => unlock(parts, tx, owner),
  fetchKeys: (owner: Owner): Promise<void> => fetchKeys(parts, owner),
  /** The MAC of a new owner's row, which has no guesses yet. */
  macOfFirst: ({ projectKeyVersion: version, ...owner }: Owner & { readonly projectKeyVersion: number }) =>
    parts.projectKeys.macOf({ version, row: boundGuesses({ ...NO_GUESSES, ...owner }) }),
})

const isWrittenBack = async (parts: Parts, { projectId, ownerId, revision }: GuessesRow): Promise<boolean> => {
  if (revision >= parts.journal.floorOf('pin_guesses', [projectId, ownerId])) return false
  // It may have changed since the page was read.
  return (await read(parts, { projectId, ownerId, limits: [] }))?.isEarlier === true
}

/** The owners whose count is gone or was changed outside of the vault. @param range.projectId null: of all projects. */
export const forgedGuesses = async (
  parts: Parts,
  range: { readonly projectId: string | null },
): Promise<readonly (Owner & { readonly trouble: string })[]> => {
  const forged: (Owner & { readonly trouble: string })[] = []
  const readPage = async (db: Db, page: Parameters<typeof listGuesses>[1]) =>
    (await listGuesses(db, page)).map((guesses) => ({ ...guesses, id: guesses }))
  for await (const { projectId, ownerId, row } of allPages(parts.db, readPage, range.projectId)) {
    if (row === null) forged.push({ projectId, ownerId, trouble: 'it is gone' })
    else if (!(await isAsWritten(parts, row)) || (await isWrittenBack(parts, row)))
      forged.push({ projectId, ownerId, trouble: 'it is not as it was written' })
  }
  return forged
}
