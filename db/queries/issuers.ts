// Identity providers of projects, and the users whom their tokens name.

import { and, asc, eq, isNotNull } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { deleteRows, insertUnlessThere, updateRows } from '../deciding-rows.ts'
import { firstRow } from '../rows.ts'
import { issuers, users } from '../schema.ts'
import type { UserIdentity, UserRow } from './users.ts'

export type IssuerRow = typeof issuers.$inferSelect

export type IssuerFacts = Omit<IssuerRow, 'createdAt' | 'mac' | 'sealedSecret'>

export type IssuerKey = Pick<IssuerRow, 'projectId' | 'name'>

export const findIssuers = async (db: Db, keys: readonly IssuerKey[]): Promise<readonly IssuerRow[]> =>
  db.prepared<IssuerRow>`
    select i.id, i.project_id as "projectId", i.name, i.issuer, i.audience, i.audience_claim as "audienceClaim", i.user_claim as "userClaim", i.algorithms,
      i.client_id as "clientId", i.sealed_secret as "sealedSecret", i.created_at as "createdAt", i.mac
    from unnest(${keys.map(({ projectId }) => projectId)}::uuid[], ${keys.map(({ name }) => name)}::text[]) as k(project_id, name)
    join public.issuers i on i.project_id = k.project_id and i.name = k.name`

const named = ({ projectId, name }: IssuerKey) => and(eq(issuers.projectId, projectId), eq(issuers.name, name))

/** @returns false if the project has an issuer of this name already. */
export const insertIssuer = async (tx: Tx, row: Omit<IssuerRow, 'createdAt'>) => {
  return (await insertUnlessThere(tx, issuers, { values: row, there: named(row) })) !== null
}

/** @returns the removed row; null if there was none. */
export const deleteIssuer = (tx: Tx, key: IssuerKey): Promise<IssuerRow | null> =>
  firstRow(deleteRows(tx, issuers, { where: named(key), final: 'ended' }))

export const listIssuers = (
  db: Queryable,
  { projectId, limit }: { readonly projectId: string; readonly limit: number },
): Promise<readonly IssuerRow[]> =>
  db.select().from(issuers).where(eq(issuers.projectId, projectId)).orderBy(asc(issuers.name)).limit(limit)

export const listLoginIssuers = async (
  db: Db,
  { projectId, limit }: { readonly projectId: string; readonly limit: number },
): Promise<readonly IssuerRow[]> =>
  db.prepared<IssuerRow>`
    select id, project_id as "projectId", name, issuer, audience, audience_claim as "audienceClaim", user_claim as "userClaim", algorithms,
      client_id as "clientId", sealed_secret as "sealedSecret", created_at as "createdAt", mac
    from public.issuers where project_id = ${projectId}::uuid and client_id is not null order by name limit ${limit}`

export const lockSealedIssuers = (tx: Tx): Promise<readonly IssuerRow[]> =>
  tx.select().from(issuers).where(isNotNull(issuers.sealedSecret)).orderBy(asc(issuers.id)).for('update')

export const resealIssuer = async (
  tx: Tx,
  { id, sealedSecret }: { readonly id: string; readonly sealedSecret: Uint8Array },
) => {
  await updateRows(tx, issuers, { set: { sealedSecret }, where: eq(issuers.id, id) })
}

export type SubjectKey = { readonly projectId: string; readonly issuer: string; readonly subject: string }

export const findUsersBySubject = async (
  db: Db,
  keys: readonly SubjectKey[],
): Promise<readonly (SubjectKey & UserRow)[]> =>
  db.prepared<SubjectKey & UserRow>`
    select u.id, u.project_id as "projectId", u.email, u.sign_in_wallet as "signInWallet", u.issuer, u.subject,
      u.tokens_from as "tokensFrom", u.kept_token as "keptToken", u.created_at as "createdAt", u.mac
    from unnest(${keys.map(({ projectId }) => projectId)}::uuid[], ${keys.map(({ issuer }) => issuer)}::text[],
      ${keys.map(({ subject }) => subject)}::text[]) as k(project_id, issuer, subject)
    join public.users u on u.project_id = k.project_id and u.issuer = k.issuer and u.subject = k.subject`

/** Makes the user whom a token names. @returns null if another request made them meanwhile. */
export const insertSubject = (
  tx: Tx,
  user: UserIdentity & SubjectKey & Pick<UserRow, 'mac'>,
): Promise<UserRow | null> => {
  const { projectId, issuer, subject } = user
  const there = and(eq(users.projectId, projectId), eq(users.issuer, issuer), eq(users.subject, subject))
  return insertUnlessThere(tx, users, { values: user, there })
}
