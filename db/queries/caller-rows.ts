// The rows with a MAC under the identity key, for `audit verify`.

import { and, asc, eq, gt, inArray, isNull, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Queryable } from '../client.ts'
import { apiKeys, audit, issuers, passkeys, projects, sessionChallenges, sessions, users, wallets } from '../schema.ts'
import type { AuditAction } from '../words.ts'

/** null: of all projects. */
type OfProject = { readonly projectId: string | null }

/** @param after the last id of the page before; null for the first page. */
export type Page = OfProject & { readonly after: string | null; readonly limit: number }

type Table = { readonly id: PgColumn; readonly projectId: PgColumn }

const isOf = (table: Table, { projectId }: OfProject) =>
  projectId === null ? undefined : eq(table.projectId, projectId)

const isOn = (table: Table, { after, ...of }: Page) =>
  and(isOf(table, of), after === null ? undefined : gt(table.id, after))

const isNotRevoked = isNull(apiKeys.revokedAt)

export const pageOfApiKeys = (db: Queryable, page: Page) =>
  db
    .select()
    .from(apiKeys)
    .where(and(isNotRevoked, isOn(apiKeys, page)))
    .orderBy(asc(apiKeys.id))
    .limit(page.limit)

export const pageOfIssuers = (db: Queryable, page: Page) =>
  db.select().from(issuers).where(isOn(issuers, page)).orderBy(asc(issuers.id)).limit(page.limit)

export const pageOfPasskeys = (db: Queryable, page: Page) =>
  db.select().from(passkeys).where(isOn(passkeys, page)).orderBy(asc(passkeys.id)).limit(page.limit)

export const pageOfProjects = (db: Queryable, page: Page) => {
  const { id, allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin, mac } = projects
  return db
    .select({ id, projectId: id, allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin, mac })
    .from(projects)
    .where(isOn({ id, projectId: id }, page))
    .orderBy(asc(id))
    .limit(page.limit)
}

export const pageOfUsers = (db: Queryable, page: Page) =>
  db.select().from(users).where(isOn(users, page)).orderBy(asc(users.id)).limit(page.limit)

export const pageOfWallets = (db: Queryable, page: Page) =>
  db.select().from(wallets).where(isOn(wallets, page)).orderBy(asc(wallets.id)).limit(page.limit)

const isNotEnded = isNull(sessions.endedAt)

export const pageOfSessions = (db: Queryable, page: Page) =>
  db
    .select()
    .from(sessions)
    .where(and(isNotEnded, isOn(sessions, page)))
    .orderBy(asc(sessions.id))
    .limit(page.limit)

/** Those that can still log somebody in. */
export const pageOfSessionChallenges = (db: Queryable, page: Page) => {
  const isUsable = and(isNull(sessionChallenges.usedAt), gt(sessionChallenges.expiresAt, sql`now()`))
  return db
    .select()
    .from(sessionChallenges)
    .where(and(isUsable, isOn(sessionChallenges, page)))
    .orderBy(asc(sessionChallenges.id))
    .limit(page.limit)
}

/** Whether an audit row says that a row was ended. */
const tellsEnd = (table: Table, ...actions: readonly AuditAction[]) =>
  and(inArray(audit.action, actions), eq(audit.subject, sql`${table.id}::text`))

/** API keys that are not revoked, although the audit says that they were. */
export const revivedApiKeys = (db: Queryable, of: OfProject) =>
  db
    .selectDistinct({ id: apiKeys.id, projectId: apiKeys.projectId })
    .from(apiKeys)
    .innerJoin(audit, tellsEnd(apiKeys, 'api_key_revoked'))
    .where(and(isNotRevoked, isOf(apiKeys, of)))

/** Passkeys that are there, although the audit says that they were removed. */
export const revivedPasskeys = (db: Queryable, of: OfProject) =>
  db
    .selectDistinct({ id: passkeys.id, projectId: passkeys.projectId })
    .from(passkeys)
    .innerJoin(audit, tellsEnd(passkeys, 'passkey_removed'))
    .where(isOf(passkeys, of))

/** Issuers that are there, although the audit says that they were removed. */
export const revivedIssuers = (db: Queryable, of: OfProject) =>
  db
    .selectDistinct({ id: issuers.id, projectId: issuers.projectId })
    .from(issuers)
    .innerJoin(audit, tellsEnd(issuers, 'issuer_removed'))
    .where(isOf(issuers, of))

/** Sessions that have not ended, although the audit says that they did. */
export const revivedSessions = (db: Queryable, of: OfProject) =>
  db
    .selectDistinct({ id: sessions.id, projectId: sessions.projectId })
    .from(sessions)
    .innerJoin(audit, tellsEnd(sessions, 'session_revoked', 'refresh_token_reused'))
    .where(and(isNotEnded, isOf(sessions, of)))

/** Users with an earlier bound for tokens of their issuer than the audit says. */
export const revivedUsers = (db: Queryable, of: OfProject) =>
  db
    .selectDistinct({ id: users.id, projectId: users.projectId })
    .from(users)
    .innerJoin(audit, tellsEnd(users, 'issuer_tokens_ended'))
    .where(
      and(sql`coalesce(${users.tokensFrom}, '-infinity') < (${audit.details}->>'from')::timestamptz`, isOf(users, of)),
    )

/** A deleted row that the audit names. `id`: the subject in the audit. */
type GoneRow = { readonly table: string; readonly projectId: string | null; readonly id: string }

/**
 * Deleted rows. The service itself deletes passkeys and issuers, with an audit row. It also deletes users who have no wallet and
 * cannot log in again.
 */
export const goneCallerRows = async (db: Queryable, of: OfProject): Promise<readonly GoneRow[]> => {
  const { rows } = await db.execute<GoneRow>(sql`
    with acts as (
      select a.id, a.action, a.project_id, a.actor, a.subject, a.details from audit a
      where a.action in ('api_key_created', 'passkey_added', 'passkey_removed', 'email_added', 'user_created', 'issuer_added',
          'issuer_removed', 'wallet_created', 'wallet_imported')
        and (${of.projectId}::uuid is null or a.project_id = ${of.projectId}::uuid)
    ), added as (
      select * from acts p where action = 'passkey_added'
        and not exists (select from acts r where r.action = 'passkey_removed' and r.subject = p.subject)
    ), known as (
      select project_id, details->>'user_id' as id from added
      union select project_id, subject from acts where action in ('email_added', 'user_created')
      union select project_id, substr(actor, 6) from acts where action in ('wallet_created', 'wallet_imported')
        and actor like 'user:%' and exists (select from wallets w where w.id::text = acts.subject)
    )
    select 'api_keys' as "table", project_id as "projectId", subject as id from acts
      where action = 'api_key_created' and not exists (select from api_keys k where k.id::text = acts.subject)
    union all
    select 'passkeys', project_id, subject from added
      where not exists (select from passkeys p where p.id::text = added.subject)
    union all
    select 'issuers', project_id, subject from acts a
      where action = 'issuer_added' and not exists (select from issuers i where i.id::text = a.subject)
        and not exists (select from acts r where r.action = 'issuer_removed' and r.subject = a.subject)
    union all
    select 'users', project_id, id from known
      where not exists (select from users u where u.project_id = known.project_id and u.id::text = known.id)
    order by 1, 2, 3`)
  return [...rows]
}
