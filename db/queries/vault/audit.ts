// The audit's rows as vaults write, archive and restore them. audit-chain.ts has the chains over them.

import { and, asc, eq, type SQL, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../../client.ts'
import { eqIfGiven, readRows, readValue } from '../../rows.ts'
import { audit, auditChain, auditCheckpoints } from '../../schema.ts'
import { ARCHIVED_ACTIONS } from '../../words.ts'
import { NotWritten } from '../../written.ts'

export type Checkpoint = Omit<typeof auditCheckpoints.$inferSelect, 'createdAt'>

/** By chain and position. @param input.chain null: all chains. */
export const listCheckpoints = async (
  db: Queryable,
  input: { readonly chain: string | null },
): Promise<readonly Checkpoint[]> =>
  db
    .select()
    .from(auditCheckpoints)
    .where(eqIfGiven(auditCheckpoints.chain, input.chain))
    .orderBy(asc(auditCheckpoints.chain), asc(auditCheckpoints.position))

export const insertCheckpoint = async (db: Queryable, checkpoint: Checkpoint) => {
  await db.insert(auditCheckpoints).values(checkpoint)
}

/** All rows up to it are older than `before`; never the last link. Not above `after` if there is nothing to archive. */
export const lastOldPosition = async (
  db: Queryable,
  input: { readonly chain: string; readonly after: bigint; readonly before: Date },
) => {
  const ofChain = and(eq(auditChain.chain, input.chain), sql`${auditChain.position} > ${String(input.after)}::bigint`)
  const position = await readValue<string>(db)`
    select least(
      (select max(position) from ${auditChain} where ${ofChain}),
      (select position from ${auditChain} join public.audit a on a.id = audit_id
        where ${ofChain} and a.at >= ${input.before.toISOString()}::timestamptz order by position limit 1)
    ) - 1 as position`
  return BigInt(position ?? input.after)
}

/** Deletes archived links and their rows, as far as a checkpoint covers them (db/grants.ts). @returns how many. */
export const dropArchivedRows = async (db: Db, input: { readonly chain: string; readonly ids: readonly bigint[] }) => {
  const ids = sql.param(input.ids.map(String))
  const dropped = await readValue<number>(db)`select public.strongroom_drop_archived(${input.chain}, ${ids}::bigint[])`
  return dropped ?? 0
}

/** A condition: a checkpoint of the row's chain says that the row was archived. */
const isArchived = (input: { readonly projectId: SQL; readonly at: SQL }): SQL => sql`exists (
  select from ${auditCheckpoints} c where c.chain = coalesce(${input.projectId}::text, 'deployment') and ${input.at} < c.before)`

export type AuditRow = Omit<typeof audit.$inferInsert, 'id'>

export const auditJson = (row: AuditRow) => ({ ...row, mac: Buffer.from(row.mac).toString('hex') })

export const encodeAuditRows = (rows: readonly AuditRow[]): string => JSON.stringify(rows.map(auditJson))

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Compares the MACs of the rows that were written, each of which covers its row. @throws NotWritten */
export const requireAuditMacs = (rows: readonly AuditRow[], returned: readonly string[]): void => {
  const written = new Set(returned)
  if (!rows.every(({ mac }) => written.has(hexOf(mac)))) throw new NotWritten('audit')
}

/** @throws NotWritten */
export const insertAuditRows = async (tx: Tx, rows: readonly AuditRow[]) => {
  const written = await tx
    .insert(audit)
    .values([...rows])
    .returning({ mac: audit.mac })
  requireAuditMacs(
    rows,
    written.map(({ mac }) => hexOf(mac)),
  )
}

/**
 * Commits rows in their order, as one prepared statement whose text is the same for any number of them.
 * @throws NotWritten though some rows may be committed: what they tell of must not happen.
 */
export const commitAuditRows = async (db: Db, rows: readonly AuditRow[]) => {
  const written = await db.prepared<{ readonly mac: string }>`
    insert into public.audit (project_id, at, actor, action, subject, details, mac)
    select r."projectId", r.at, r.actor, r.action, r.subject, r.details, decode(r.mac, 'hex')
    from jsonb_to_recordset(${encodeAuditRows(rows)}::text::jsonb) as r(
      "projectId" uuid, at timestamptz, actor text, action text, subject text, details jsonb, mac text)
    returning encode(mac, 'hex') as mac`
  requireAuditMacs(
    rows,
    written.map(({ mac }) => mac),
  )
}

// The audit rows of a journal, compared with the table.

/** An audit row as `auditJson` makes it, and JSON then writes it. */
export type AuditJson = Omit<AuditRow, 'at' | 'mac'> & { readonly at: Date | string; readonly mac: string }

/** The range of the times of audit rows, as an index finds it; each time alone would read the whole audit. */
const rangeOf = (rows: readonly AuditJson[]): SQL => {
  const times = rows.map(({ at }) => new Date(at).toISOString()).toSorted()
  return sql`a.at between ${times[0]}::timestamptz and ${times.at(-1)}::timestamptz`
}

/** Those of some audit rows that are missing and were not archived, as a table `r`. */
const missingOf = (rows: readonly AuditJson[]): SQL => sql`
  from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(
    "projectId" uuid, at timestamptz, actor text, action text, subject text, details jsonb, mac text)
  where not exists (select from ${audit} a where ${rangeOf(rows)} and a.at = r.at and a.mac = decode(r.mac, 'hex'))
    and not (r.action = any(${sql.param([...ARCHIVED_ACTIONS])}::text[])
      and ${isArchived({ projectId: sql`r."projectId"`, at: sql`r.at` })})`

/** Writes audit rows that are missing and were not archived. @returns how many. */
export const applyAudit = async (tx: Tx, rows: readonly AuditJson[]) => {
  if (rows.length === 0) return 0
  const { rowCount } = await tx.execute(sql`
    insert into ${audit} (project_id, at, actor, action, subject, details, mac)
    select r."projectId", r.at, r.actor, r.action, r.subject, r.details, decode(r.mac, 'hex') ${missingOf(rows)}`)
  return rowCount ?? 0
}

export type MissingAudit = Pick<AuditRow, 'action' | 'subject'> & {
  readonly projectId: string | null
  /** ISO 8601. */
  readonly at: string
}

export const missingAudit = async (db: Queryable, rows: readonly AuditJson[]): Promise<readonly MissingAudit[]> => {
  if (rows.length === 0) return []
  return readRows<MissingAudit>(db)`
    select r."projectId", r.action, r.subject, to_char(r.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
    ${missingOf(rows)}`
}
