// Reads the audit. Its chains are the vault's (vault/rooms/chain/chain.ts).

import { and, asc, desc, eq, gt, isNull, notInArray, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { audit } from '../schema.ts'
import { CUSTODY_ACTIONS, SECURITY_EVENTS, type SecurityEventKind } from '../words.ts'

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
    .where(and(gt(audit.id, input.after), ofChain(input.chain), notInArray(audit.action, [...CUSTODY_ACTIONS])))
    .orderBy(asc(audit.id))
    .limit(input.limit)
  return rows.map(({ row, exactTime }) => ({ ...row, exactTime: exactTime === true }))
}

export type UnchainedTail = { readonly rows: number; readonly oldestSeconds: number | null }

/** The tail is counted only up to this number, so that a scrape stays cheap. */
export const COUNTED_TAIL_MAX = 10_000

/**
 * The rows above the newest one that has a link: how far chaining is behind, without a look at what is older.
 * `oldestSeconds` is since the first of them, and null where there is none.
 */
export const unchainedTail = async (db: Queryable): Promise<UnchainedTail> => {
  const {
    rows: [row],
  } = await db.execute<UnchainedTail>(sql`
    select count(*)::int as rows,
      extract(epoch from now() - (array_agg(tail.at order by tail.id))[1])::float8 as "oldestSeconds"
    from (
      select id, at from audit where id > (select coalesce(max(audit_id), 0) from audit_chain)
      order by id limit ${COUNTED_TAIL_MAX}
    ) tail`)
  return row ?? { rows: 0, oldestSeconds: null }
}

/** Security events of a project, or of all and of none, newest first. */
export const listSecurityRows = async (
  db: Queryable,
  input: { readonly projectId: string | null; readonly kind: SecurityEventKind | null; readonly limit: number },
): Promise<readonly AuditRecord[]> => {
  const { projectId, kind, limit } = input
  // Written as in the index's condition.
  const isEvent = sql.raw(`"action" in (${SECURITY_EVENTS.map((each) => `'${each}'`).join(', ')})`)
  const of = [
    projectId === null ? undefined : eq(audit.projectId, projectId),
    kind === null ? undefined : eq(audit.action, kind),
  ]
  return db
    .select()
    .from(audit)
    .where(and(isEvent, ...of))
    .orderBy(desc(audit.id))
    .limit(limit)
}

/** Newest first. */
export const listAuditRows = async (
  db: Queryable,
  input: { readonly chain: string; readonly limit: number },
): Promise<readonly AuditRecord[]> =>
  db.select().from(audit).where(ofChain(input.chain)).orderBy(desc(audit.id)).limit(input.limit)
