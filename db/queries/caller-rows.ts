// The rows with a MAC under the identity key, for `audit verify`.

import { and, asc, eq, gt, type InferSelectModel, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Queryable } from '../client.ts'
import { eqIfGiven, gtIfGiven, readRows } from '../rows.ts'
import { apiKeys, audit, issuers, passkeys, projects, sessionChallenges, sessions, users, wallets } from '../schema.ts'
import type { AuditAction } from '../words.ts'

/** null: of all projects. */
type OfProject = { readonly projectId: string | null }

/** @param after the last id of the page before; null for the first page. */
export type Page = OfProject & { readonly after: string | null; readonly limit: number }

type Table = { readonly id: PgColumn; readonly projectId: PgColumn }

const isOf = (table: Table, { projectId }: OfProject) => eqIfGiven(table.projectId, projectId)

const isOn = (table: Table, { after, ...range }: Page) => and(isOf(table, range), gtIfGiven(table.id, after))

const pageOf =
  <Rows extends PgTable & Table>(table: Rows, condition?: SQL) =>
  async (db: Queryable, page: Page) =>
    (await db
      .select()
      .from<PgTable>(table)
      .where(and(condition, isOn(table, page)))
      .orderBy(asc(table.id))
      .limit(page.limit)) as InferSelectModel<Rows>[]

const isNotRevoked = isNull(apiKeys.revokedAt)
const isNotEnded = isNull(sessions.endedAt)

export const pageOfApiKeys = pageOf(apiKeys, isNotRevoked)
export const pageOfIssuers = pageOf(issuers)
export const pageOfPasskeys = pageOf(passkeys)
export const pageOfUsers = pageOf(users)
export const pageOfWallets = pageOf(wallets)
export const pageOfSessions = pageOf(sessions, isNotEnded)
/** Those that can still log a user in. */
export const pageOfSessionChallenges = pageOf(
  sessionChallenges,
  and(isNull(sessionChallenges.usedAt), gt(sessionChallenges.expiresAt, sql`now()`)),
)

export const pageOfProjects = (db: Queryable, page: Page) => {
  const { id, allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin, mac } = projects
  return db
    .select({ id, projectId: id, allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin, mac })
    .from(projects)
    .where(isOn({ id, projectId: id }, page))
    .orderBy(asc(id))
    .limit(page.limit)
}

type RowOfProject = { readonly id: string; readonly projectId: string }

/** Reads the rows of a table that are there and not ended, although the audit has one of these actions of them. */
const revived =
  (table: PgTable & Table, actions: readonly AuditAction[], condition?: SQL) =>
  async (db: Queryable, project: OfProject) =>
    (await db
      .selectDistinct({ id: table.id, projectId: table.projectId })
      .from(table)
      .innerJoin(audit, and(inArray(audit.action, actions), eq(audit.subject, sql`${table.id}::text`)))
      .where(and(condition, isOf(table, project)))) as readonly RowOfProject[]

export const revivedApiKeys = revived(apiKeys, ['api_key_revoked'], isNotRevoked)
export const revivedPasskeys = revived(passkeys, ['passkey_removed'])
export const revivedIssuers = revived(issuers, ['issuer_removed'])
export const revivedSessions = revived(sessions, ['session_revoked', 'refresh_token_reused'], isNotEnded)
/** Users with an earlier bound for tokens of their issuer than the audit says. */
export const revivedUsers = revived(
  users,
  ['issuer_tokens_ended'],
  sql`coalesce(${users.tokensFrom}, '-infinity') < (${audit.details}->>'from')::timestamptz`,
)

/** A deleted row that the audit names. `id`: the subject in the audit. */
type GoneRow = { readonly table: string; readonly projectId: string | null; readonly id: string }

/** The service itself deletes passkeys and issuers (with audit rows), and users without a wallet or a login. */
export const goneCallerRows = (db: Queryable, input: OfProject): Promise<readonly GoneRow[]> =>
  readRows<GoneRow>(db)`
    with acts as (
      select a.id, a.action, a.project_id, a.actor, a.subject, a.details from audit a
      where a.action in ('api_key_created', 'passkey_added', 'passkey_removed', 'email_added', 'user_created', 'issuer_added',
          'issuer_removed', 'wallet_created', 'wallet_imported')
        and (${input.projectId}::uuid is null or a.project_id = ${input.projectId}::uuid)
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
    order by 1, 2, 3`
