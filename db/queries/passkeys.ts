// Users' WebAuthn credentials.

import { and, asc, eq, inArray, lt, or, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { deleteRows, insertUnlessThere, updateRows } from '../deciding-rows.ts'
import { firstRow, pickColumns } from '../rows.ts'
import { passkeys } from '../schema.ts'

type PasskeyRow = typeof passkeys.$inferSelect

export type PasskeyFacts = Pick<
  PasskeyRow,
  'id' | 'projectId' | 'userId' | 'credentialId' | 'publicKey' | 'rpId' | 'backupEligible'
>

type OfUser = Pick<PasskeyRow, 'projectId' | 'userId'>

const ofUser = ({ projectId, userId }: OfUser) => and(eq(passkeys.projectId, projectId), eq(passkeys.userId, userId))

/** Oldest first. */
export const listPasskeys = async (db: Queryable, user: OfUser): Promise<readonly PasskeyRow[]> =>
  db.select().from(passkeys).where(ofUser(user)).orderBy(asc(passkeys.createdAt), asc(passkeys.id))

export type ProjectPasskey = PasskeyFacts & Pick<PasskeyRow, 'mac'>

export const PROJECT_PASSKEY = pickColumns(
  passkeys,
  'id',
  'projectId',
  'userId',
  'credentialId',
  'publicKey',
  'rpId',
  'backupEligible',
  'mac',
)

/** Passkeys of a project's users, in the order of their owners. @param input.userIds null: of all. */
export const listProjectPasskeys = (
  db: Queryable,
  input: { readonly projectId: string; readonly userIds: readonly string[] | null; readonly limit: number },
): Promise<readonly ProjectPasskey[]> =>
  db
    .select(PROJECT_PASSKEY)
    .from(passkeys)
    .where(
      and(
        eq(passkeys.projectId, input.projectId),
        input.userIds === null ? undefined : inArray(passkeys.userId, [...input.userIds]),
      ),
    )
    .orderBy(asc(passkeys.userId), asc(passkeys.credentialId))
    .limit(input.limit)

type ToCheck = PasskeyFacts & Pick<PasskeyRow, 'signCount' | 'mac'>

export const findPasskey = async (
  db: Db,
  { projectId, credentialId }: Pick<PasskeyRow, 'projectId' | 'credentialId'>,
): Promise<ToCheck | null> => {
  // A counter has 32 bits. As a bigint, it would come as a text.
  return firstRow(db.prepared<ToCheck>`
    select id, project_id as "projectId", user_id as "userId", credential_id as "credentialId", public_key as "publicKey",
      rp_id as "rpId", backup_eligible as "backupEligible", sign_count::double precision as "signCount", mac
    from public.passkeys where project_id = ${projectId}::uuid and credential_id = ${credentialId}`)
}

/** @returns null if a user of the project has the credential already. */
export const insertPasskey = (
  tx: Tx,
  input: Omit<PasskeyRow, 'createdAt' | 'lastUsedAt'>,
): Promise<PasskeyRow | null> => {
  const there = and(eq(passkeys.projectId, input.projectId), eq(passkeys.credentialId, input.credentialId))
  return insertUnlessThere(tx, passkeys, { values: input, there })
}

/** @returns false if the passkey was removed, or its counter did not rise. Without a counter it always reports 0. */
export const recordPasskeyUse = async (tx: Tx, input: Pick<PasskeyRow, 'id' | 'signCount' | 'backedUp'>) => {
  const { id, signCount, backedUp } = input
  const rises = or(lt(passkeys.signCount, signCount), and(eq(passkeys.signCount, 0), sql`${signCount}::bigint = 0`))
  const rows = await updateRows(tx, passkeys, {
    set: { signCount, backedUp, lastUsedAt: sql`now()` },
    where: and(eq(passkeys.id, id), rises),
  })
  return rows.length === 1
}

export const deletePasskey = async (tx: Tx, input: OfUser & Pick<PasskeyRow, 'id'>) => {
  await deleteRows(tx, passkeys, { where: and(ofUser(input), eq(passkeys.id, input.id)), final: 'ended' })
}
