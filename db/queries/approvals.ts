import { and, asc, count, desc, eq, getTableColumns, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { insertRow, updateRows, upsertRow } from '../deciding-rows.ts'
import { firstRow, pickColumns } from '../rows.ts'
import { approvalDecisions, approvals, passkeys } from '../schema.ts'
import { NotWritten } from '../written.ts'
import { PROJECT_PASSKEY, type ProjectPasskey } from './passkeys.ts'
import type { Page } from './wallets.ts'

type Row = Omit<typeof approvals.$inferSelect, 'expiredAt'>
type Decision = typeof approvalDecisions.$inferSelect

export type ApprovalRow = Row & {
  /** By the database's clock, as `endsInSeconds`, which is negative if the time is over. */
  readonly isExpired: boolean
  readonly endsInSeconds: number
}

const isExpired: SQL<boolean> = sql`${approvals.expiresAt} <= now()`
const endsInSeconds: SQL<number> = sql`extract(epoch from ${approvals.expiresAt} - now())::float8`

const { expiredAt: _, ...stored } = getTableColumns(approvals)
const columns = { ...stored, isExpired, endsInSeconds }

const isOpen = and(isNull(approvals.rejectedAt), isNull(approvals.usedAt), gt(approvals.expiresAt, sql`now()`))

type NewApproval = Omit<typeof approvals.$inferInsert, 'expiresAt'> & { readonly expiresInSeconds: number }

/** @returns the row with its end by the database's clock, in whole milliseconds, because approvers sign it so. */
export const insertApproval = async (tx: Tx, { expiresInSeconds, ...row }: NewApproval): Promise<ApprovalRow> => {
  const expiresAt = sql`date_trunc('milliseconds', now()) + make_interval(secs => ${expiresInSeconds})`
  await insertRow(tx, approvals, { ...row, expiresAt })
  const inserted = await findApproval(tx, row)
  if (inserted === null) throw new NotWritten('approvals', row)
  return inserted
}

type OfProject = { readonly projectId: string; readonly id: string }

const isIt = ({ projectId, id }: OfProject) => and(eq(approvals.projectId, projectId), eq(approvals.id, id))

export const findApproval = (db: Queryable, input: OfProject): Promise<ApprovalRow | null> =>
  firstRow(db.select(columns).from(approvals).where(isIt(input)))

/** By a connection of its own, so it is current even within a transaction. @returns null if the approval is gone. */
export const readApprovalEnd = (db: Db, id: string) =>
  firstRow(db.prepared<Pick<ApprovalRow, 'usedAt' | 'rejectedAt' | 'isExpired'>>`
    select used_at as "usedAt", rejected_at as "rejectedAt", expires_at <= clock_timestamp() as "isExpired"
    from public.approvals where id = ${id}`)

export const lockApproval = (tx: Tx, input: OfProject): Promise<ApprovalRow | null> =>
  firstRow(tx.select(columns).from(approvals).where(isIt(input)).for('update'))

type SameRequest = Pick<Row, 'policyId' | 'askedBy' | 'request'>

/** Locks the policy's approvals until the transaction ends, so that concurrent requests do not both insert one. */
export const openApprovals = async (
  tx: Tx,
  { policyId, askedBy, request }: SameRequest,
): Promise<{ readonly same: ApprovalRow | null; readonly open: number }> => {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('approvals'), hashtext(${policyId}))`)
  const ofPolicy = and(eq(approvals.policyId, policyId), isOpen)
  const [[same], [counted]] = await Promise.all([
    tx
      .select(columns)
      .from(approvals)
      .where(and(ofPolicy, eq(approvals.askedBy, askedBy), eq(approvals.request, request)))
      .orderBy(asc(approvals.createdAt))
      .limit(1),
    tx.select({ open: count() }).from(approvals).where(ofPolicy),
  ])
  return { same: same ?? null, open: counted?.open ?? 0 }
}

export type ListedApproval = ApprovalRow & {
  readonly decisions: readonly (Pick<Decision, 'userId' | 'decision'> & { readonly decidedAt: string })[]
}

const decisions: SQL<ListedApproval['decisions']> = sql`coalesce((
  select json_agg(json_build_object('userId', d.user_id, 'decision', d.decision,
    'decidedAt', to_char(d.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by d.decided_at)
  from approval_decisions d where d.approval_id = approvals.id), '[]'::json)`

type Listed = Page & {
  readonly projectId: string
  /** Only open approvals that this user may decide, also those that they have approved; null: all. */
  readonly approverId: string | null
}

/** Newest first. */
export const listApprovals = (db: Queryable, input: Listed): Promise<readonly ListedApproval[]> => {
  const { projectId, approverId, limit, offset } = input
  const mine = approverId === null ? undefined : and(isOpen, sql`${approverId}::uuid = any(${approvals.approverIds})`)
  return db
    .select({ ...columns, decisions })
    .from(approvals)
    .where(and(eq(approvals.projectId, projectId), mine))
    .orderBy(desc(approvals.createdAt), desc(approvals.id))
    .limit(limit)
    .offset(offset)
}

export const readDecision = async (
  db: Queryable,
  { approvalId, userId }: Pick<Decision, 'approvalId' | 'userId'>,
): Promise<Decision['decision'] | null> => {
  const [row] = await db
    .select({ decision: approvalDecisions.decision })
    .from(approvalDecisions)
    .where(and(eq(approvalDecisions.approvalId, approvalId), eq(approvalDecisions.userId, userId)))
  return row?.decision ?? null
}

/** Writes an approver's decision. It replaces an earlier one. */
export const writeDecision = async (tx: Tx, row: Omit<Decision, 'decidedAt'>) => {
  const { approvalId: _, userId: __, ...decided } = row
  await upsertRow(tx, approvalDecisions, {
    values: row,
    target: [approvalDecisions.approvalId, approvalDecisions.userId],
    set: { ...decided, decidedAt: sql`now()` },
  })
}

export const rejectApproval = async (tx: Tx, id: string) => {
  await updateRows(tx, approvals, { set: { rejectedAt: sql`now()` }, where: eq(approvals.id, id) })
}

/** Marks an approval as used, for lists only. The vault keeps its own record. */
export const noteApprovalUse = async (db: Db, id: string) => {
  await updateRows(db, approvals, {
    set: { usedAt: sql`now()` },
    where: and(eq(approvals.id, id), isNull(approvals.usedAt)),
  })
}

export type Assertion = Pick<Decision, 'userId' | 'clientDataJson' | 'authenticatorData' | 'signature'> & {
  readonly passkey: ProjectPasskey
}

/** The approvals of users who still have the passkey with which they approved. */
export const approvingAssertions = (db: Queryable, { projectId, id }: OfProject): Promise<readonly Assertion[]> =>
  db
    .select({
      ...pickColumns(approvalDecisions, 'userId', 'clientDataJson', 'authenticatorData', 'signature'),
      passkey: PROJECT_PASSKEY,
    })
    .from(approvalDecisions)
    .innerJoin(
      passkeys,
      and(
        eq(passkeys.projectId, projectId),
        eq(passkeys.userId, approvalDecisions.userId),
        eq(passkeys.credentialId, approvalDecisions.credentialId),
      ),
    )
    .where(and(eq(approvalDecisions.approvalId, id), eq(approvalDecisions.decision, 'approve')))

const EXPIRED_AT_ONCE = 1_000

export const expireApprovals = async (db: Queryable) => {
  await db.execute(sql`
    update ${approvals} set expired_at = now() where id in (
      select id from ${approvals}
      where rejected_at is null and used_at is null and expired_at is null and expires_at <= now()
      order by expires_at limit ${EXPIRED_AT_ONCE}
    ) and rejected_at is null and used_at is null and expired_at is null`)
}
