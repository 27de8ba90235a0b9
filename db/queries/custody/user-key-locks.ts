import { and, asc, eq, gt, isNotNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { userKeyLocks, userKeys } from '../../schema.ts'
import type { UserSecretKind } from '../../words.ts'
import type { RowImage } from './journal.ts'
import { proofOf, provenImage } from './proofs.ts'

type Row = typeof userKeyLocks.$inferSelect
type Owner = Pick<Row, 'projectId' | 'ownerId'>

/** A lock by what it is for. */
export type UserKeyLockOf = Owner & Pick<Row, 'kind' | 'passkeyId'>

export type UserKeyLockRow = Pick<Row, 'kind' | 'passkeyId' | 'version'> & { readonly sealed: Uint8Array }

const ofOwner = (owner: Owner) =>
  and(eq(userKeyLocks.projectId, owner.projectId), eq(userKeyLocks.ownerId, owner.ownerId))

const isOne = (of: UserKeyLockOf) =>
  and(ofOwner(of), eq(userKeyLocks.kind, of.kind), eq(userKeyLocks.passkeyId, of.passkeyId))

/** An owner's locks of a kind that were not removed. */
export const readUserKeyLocks = async (
  db: Queryable,
  input: Owner & { readonly kind: UserSecretKind; readonly limit: number },
): Promise<readonly UserKeyLockRow[]> => {
  const { kind, passkeyId, version, sealed } = userKeyLocks
  const rows = await db
    .select({ kind, passkeyId, version, sealed })
    .from(userKeyLocks)
    .where(and(ofOwner(input), eq(kind, input.kind), isNotNull(sealed)))
    .orderBy(asc(passkeyId))
    .limit(input.limit)
  return rows.flatMap((row) => (row.sealed === null ? [] : [{ ...row, sealed: row.sealed }]))
}

/** An owner has one recovery code, and only so many passkeys that custody bounds. */
const LISTED_MAX = 100

/** The owner's secrets that were not removed, without what they seal. */
export const userSecrets = (
  db: Queryable,
  input: Owner,
): Promise<readonly Pick<Row, 'kind' | 'passkeyId' | 'updatedAt'>[]> =>
  db
    .select({ kind: userKeyLocks.kind, passkeyId: userKeyLocks.passkeyId, updatedAt: userKeyLocks.updatedAt })
    .from(userKeyLocks)
    .where(and(ofOwner(input), isNotNull(userKeyLocks.sealed)))
    .orderBy(asc(userKeyLocks.kind), asc(userKeyLocks.passkeyId))
    .limit(LISTED_MAX)

type State = Pick<Row, 'version' | 'sealed'>

/** The state of a lock; version 0 for one that never was. */
export const readUserKeyLock = async (db: Queryable, of: UserKeyLockOf): Promise<State> => {
  const { version, sealed } = userKeyLocks
  const [row] = await db.select({ version, sealed }).from(userKeyLocks).where(isOne(of))
  return row ?? { version: 0, sealed: null }
}

/** Keeps the owner's user key as it is until the transaction ends. Other calls of this wait. */
export const holdUserKey = async (tx: Tx, owner: Owner): Promise<void> => {
  await tx
    .select({ version: userKeys.version })
    .from(userKeys)
    .where(and(eq(userKeys.projectId, owner.projectId), eq(userKeys.ownerId, owner.ownerId)))
    .for('no key update')
}

/** How many of an owner's passkeys were not removed. */
export const countPasskeyLocks = (db: Queryable, owner: Owner): Promise<number> =>
  db.$count(userKeyLocks, and(ofOwner(owner), eq(userKeyLocks.kind, 'passkey'), isNotNull(userKeyLocks.sealed)))

/**
 * Writes the next state of a lock.
 * @param input.was the version that it follows on; 0: there is no row. @returns null if the row has another version. @throws NotWritten
 */
export const writeUserKeyLock = async (
  tx: Tx,
  input: UserKeyLockOf & State & { readonly id: string; readonly was: number },
): Promise<RowImage | null> => {
  const { was, ...row } = input
  const { id: _, ...meant } = row
  const { version, sealed } = row
  const written = await tx
    .insert(userKeyLocks)
    .values(row)
    .onConflictDoUpdate({
      target: [userKeyLocks.projectId, userKeyLocks.ownerId, userKeyLocks.kind, userKeyLocks.passkeyId],
      set: { version, sealed, updatedAt: sql`now()` },
      setWhere: eq(userKeyLocks.version, was),
    })
    .returning(proofOf(userKeyLocks, meant))
  return provenImage(userKeyLocks, meant, written)
}

/** null: of all projects. */
type OfProject = { readonly projectId: string | null }

/** Locks that were not removed after `after`, in the order of their ids. */
export const pageOfUserKeyLocks = async (
  db: Queryable,
  input: OfProject & { readonly after: string | null; readonly limit: number },
): Promise<readonly (UserKeyLockOf & UserKeyLockRow & Pick<Row, 'id'>)[]> => {
  const { id, projectId, ownerId, kind, passkeyId, version, sealed } = userKeyLocks
  const rows = await db
    .select({ id, projectId, ownerId, kind, passkeyId, version, sealed })
    .from(userKeyLocks)
    .where(
      and(
        isNotNull(sealed),
        input.projectId === null ? undefined : eq(projectId, input.projectId),
        input.after === null ? undefined : gt(id, input.after),
      ),
    )
    .orderBy(asc(id))
    .limit(input.limit)
  return rows.flatMap((row) => (row.sealed === null ? [] : [{ ...row, sealed: row.sealed }]))
}
