import { and, asc, eq, isNotNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { eqIfGiven, gtIfGiven } from '../../rows.ts'
import { userKeyLocks, userKeys } from '../../schema.ts'
import type { UserSecretKind } from '../../words.ts'
import type { RowImage } from './journal.ts'
import type { Page } from './locks.ts'
import { upsertProven } from './proofs.ts'

type Row = typeof userKeyLocks.$inferSelect
type Owner = Pick<Row, 'projectId' | 'ownerId'>

export type UserKeyLockOf = Owner & Pick<Row, 'kind' | 'passkeyId'>

export type UserKeyLockRow = Pick<Row, 'kind' | 'passkeyId' | 'version'> & { readonly sealed: Uint8Array }

const ofOwner = (owner: Owner) =>
  and(eq(userKeyLocks.projectId, owner.projectId), eq(userKeyLocks.ownerId, owner.ownerId))

const unlessRemoved = <Lock extends Pick<Row, 'sealed'>>({ sealed, ...lock }: Lock) =>
  sealed === null ? [] : [{ ...lock, sealed }]

const isOne = (input: UserKeyLockOf) =>
  and(ofOwner(input), eq(userKeyLocks.kind, input.kind), eq(userKeyLocks.passkeyId, input.passkeyId))

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
  return rows.flatMap(unlessRemoved)
}

/** An owner has one recovery code, and only so many passkeys that the vault bounds. */
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
export const readUserKeyLock = async (db: Queryable, input: UserKeyLockOf): Promise<State> => {
  const { version, sealed } = userKeyLocks
  const [row] = await db.select({ version, sealed }).from(userKeyLocks).where(isOne(input))
  return row ?? { version: 0, sealed: null }
}

/** Keeps the owner's user key as it is until the transaction ends. Other calls of this wait. */
export const holdUserKey = async (tx: Tx, owner: Owner) => {
  await tx
    .select({ version: userKeys.version })
    .from(userKeys)
    .where(and(eq(userKeys.projectId, owner.projectId), eq(userKeys.ownerId, owner.ownerId)))
    .for('no key update')
}

export const countPasskeyLocks = (db: Queryable, owner: Owner) =>
  db.$count(userKeyLocks, and(ofOwner(owner), eq(userKeyLocks.kind, 'passkey'), isNotNull(userKeyLocks.sealed)))

/** @param input.was the version before; 0: none. @returns null if the row has another one. @throws NotWritten */
export const writeUserKeyLock = (
  tx: Tx,
  input: UserKeyLockOf & State & { readonly id: string; readonly was: number },
): Promise<RowImage | null> => {
  const { was, ...row } = input
  const { id: _, ...meant } = row
  return upsertProven(tx, userKeyLocks, {
    row,
    meant,
    target: [userKeyLocks.projectId, userKeyLocks.ownerId, userKeyLocks.kind, userKeyLocks.passkeyId],
    set: { version: row.version, sealed: row.sealed, updatedAt: sql`now()` },
    setWhere: eq(userKeyLocks.version, was),
  })
}

export const pageOfUserKeyLocks = async (
  db: Queryable,
  input: Page<string>,
): Promise<readonly (UserKeyLockOf & UserKeyLockRow & Pick<Row, 'id'>)[]> => {
  const { id, projectId, ownerId, kind, passkeyId, version, sealed } = userKeyLocks
  const rows = await db
    .select({ id, projectId, ownerId, kind, passkeyId, version, sealed })
    .from(userKeyLocks)
    .where(and(isNotNull(sealed), eqIfGiven(projectId, input.projectId), gtIfGiven(id, input.after)))
    .orderBy(asc(id))
    .limit(input.limit)
  return rows.flatMap(unlessRemoved)
}
