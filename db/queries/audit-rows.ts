// Reads the audit. Its chains are the vault's (vault/rooms/chain/chain.ts).

import { and, asc, desc, eq, gt, inArray, isNull, notInArray, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { eqIfGiven, firstRow, readRows } from '../rows.ts'
import { audit } from '../schema.ts'
import { oneOf } from '../tables.ts'
import { type AuditAction, type Network, SECURITY_EVENTS, type SecurityEventKind, VAULT_ACTIONS } from '../words.ts'

export type AuditRecord = typeof audit.$inferSelect

/** The name of the deployment's chain; a project's chain has the project's id. */
const DEPLOYMENT_CHAIN = 'deployment'

export const chainOf = (row: Pick<AuditRecord, 'projectId'>): string => row.projectId ?? DEPLOYMENT_CHAIN

/** null: of all chains. */
export const ofChain = (chain: string | null) => {
  if (chain === null) return undefined
  return chain === DEPLOYMENT_CHAIN ? isNull(audit.projectId) : eq(audit.projectId, chain)
}

/** `exactTime` is false where the row's time has digits that no row is written with. */
export type TimedRecord = AuditRecord & { readonly exactTime: boolean }

export const EXACT_TIME = sql<boolean | null>`date_trunc('milliseconds', ${audit.at}) = ${audit.at}`

/** Rows that no vault writes, in the order of their ids. */
export const pageOfServiceRows = async (
  db: Queryable,
  input: { readonly chain: string | null; readonly after: bigint; readonly limit: number },
): Promise<readonly TimedRecord[]> => {
  const rows = await db
    .select({ row: audit, exactTime: EXACT_TIME })
    .from(audit)
    .where(and(gt(audit.id, input.after), ofChain(input.chain), notInArray(audit.action, [...VAULT_ACTIONS])))
    .orderBy(asc(audit.id))
    .limit(input.limit)
  return rows.map(({ row, exactTime }) => ({ ...row, exactTime: exactTime === true }))
}

export type UnchainedTail = { readonly rows: number; readonly oldestSeconds: number | null }

/** The tail is counted only up to this number, so that a scrape stays cheap. */
export const COUNTED_TAIL_MAX = 10_000

/** How far chaining is behind: the rows above the newest one that has a link. `oldestSeconds`: null without a row. */
export const unchainedTail = async (db: Queryable): Promise<UnchainedTail> => {
  const row = await firstRow(
    readRows<UnchainedTail>(db)`
    select count(*)::int as rows,
      extract(epoch from now() - (array_agg(tail.at order by tail.id))[1])::float8 as "oldestSeconds"
    from (
      select id, at from audit where id > (select coalesce(max(audit_id), 0) from audit_chain)
      order by id limit ${COUNTED_TAIL_MAX}
    ) tail`,
  )
  return row ?? { rows: 0, oldestSeconds: null }
}

/** Written as in the index's condition. */
export const IS_SECURITY_EVENT = oneOf('action', SECURITY_EVENTS)

/** Security events of a project, or of all and of none, newest first. */
export const listSecurityRows = async (
  db: Queryable,
  input: { readonly projectId: string | null; readonly kind: SecurityEventKind | null; readonly limit: number },
): Promise<readonly AuditRecord[]> => {
  const { projectId, kind, limit } = input
  return db
    .select()
    .from(audit)
    .where(and(IS_SECURITY_EVENT, eqIfGiven(audit.projectId, projectId), eqIfGiven(audit.action, kind)))
    .orderBy(desc(audit.id))
    .limit(limit)
}

/** Reads the names of what operators added and removed again, as the audit says. */
export const readRemoved = async (
  db: Queryable,
  actions: { readonly added: AuditAction; readonly removed: AuditAction },
): Promise<ReadonlySet<string>> => {
  const rows = await db
    .selectDistinctOn([audit.subject], { name: audit.subject, action: audit.action })
    .from(audit)
    .where(inArray(audit.action, Object.values(actions)))
    .orderBy(asc(audit.subject), desc(audit.id))
  return new Set(rows.filter(({ action }) => action === actions.removed).map(({ name }) => name))
}

/** Newest first. */
export const listAuditRows = async (
  db: Queryable,
  input: { readonly chain: string; readonly limit: number },
): Promise<readonly AuditRecord[]> =>
  db.select().from(audit).where(ofChain(input.chain)).orderBy(desc(audit.id)).limit(input.limit)

/** A mortal extrinsic that was only signed, from its audit row. No block above `validUntilBlock` takes it. */
export type MortalSignature = {
  readonly walletId: string
  readonly nonce: number
  readonly validUntilBlock: bigint
}

/** A mortal extrinsic that a project signed and did not send, by its hash; null where none is recorded. */
export const findMortalSignature = (
  db: Queryable,
  input: { readonly projectId: string; readonly network: Network; readonly hash: string },
): Promise<MortalSignature | null> =>
  firstRow(
    db
      .select({
        walletId: audit.subject,
        nonce: sql<number>`(details->>'said_nonce')::bigint`.mapWith(Number),
        validUntilBlock: sql<bigint>`(details->>'valid_until_block')::bigint`.mapWith(BigInt),
      })
      .from(audit)
      .where(
        and(
          eq(audit.action, 'transaction_signed'),
          eq(audit.projectId, input.projectId),
          // Written as in the index's condition.
          sql`details->>'valid_until_block' is not null`,
          sql`details->>'hash' = ${input.hash}`,
          sql`details->>'network' = ${input.network}`,
        ),
      )
      .limit(1),
  )
