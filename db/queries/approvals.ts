import { and, asc, count, desc, eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { insertRow, updateRows, upsertRow } from '../deciding-rows.ts'
import { approvalDecisions, approvals, passkeys } from '../schema.ts'
import { NotWritten } from '../written.ts'
import { PROJECT_PASSKEY, type ProjectPasskey } from './passkeys.ts'
import type { Page } from './wallets.ts'

type Row = Omit<typeof approvals.$inferSelect, 'expiredAt'>
type Decision = typeof approvalDecisions.$inferSelect

export type ApprovalRow = Row & {
  /** By the database's clock. */
  readonly isExpired: boolean
  /** By the database's clock; negative if it is over. */
  readonly endsInSeconds: number
}

const isExpired: SQL<boolean> = sql`${approvals.expiresAt} <= now()`
const endsInSeconds: SQL<number> = sql`extract(epoch from ${approvals.expiresAt} - now())::float8`

const columns = {
  id: approvals.id,
  projectId: approvals.projectId,
  walletId: approvals.walletId,
  policyId: approvals.policyId,
  askedBy: approvals.askedBy,
  request: approvals.request,
  required: approvals.required,
  approverIds: approvals.approverIds,
  expiresAt: approvals.expiresAt,
  createdAt: approvals.createdAt,
  rejectedAt: approvals.rejectedAt,
  usedAt: approvals.usedAt,
  isExpired,
  endsInSeconds,
}

/** An open approval: neither rejected nor used nor expired. */
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

export const findApproval = async (db: Queryable, of: OfProject): Promise<ApprovalRow | null> => {
  const [row] = await db.select(columns).from(approvals).where(isIt(of))
  return row ?? null
}

/**
 * Reads on a connection of its own, so that the answer is current even within a transaction.
 * @returns null if it is gone.
 */
export const readApprovalEnd = async (db: Db, id: string) => {
  const [row] = await db.prepared<Pick<ApprovalRow, 'usedAt' | 'rejectedAt' | 'isExpired'>>`
    select used_at as "usedAt", rejected_at as "rejectedAt", expires_at <= clock_timestamp() as "isExpired"
    from public.approvals where id = ${id}`
  return row ?? null
}

/** Reads and locks the row until the transaction ends. */
export const lockApproval = async (tx: Tx, of: OfProject): Promise<ApprovalRow | null> => {
  const [row] = await tx.select(columns).from(approvals).where(isIt(of)).for('update')
  return row ?? null
}

type SameRequest = Pick<Row, 'policyId' | 'askedBy' | 'request'>

/**
 * The open approval of the same request by the same caller, and how many are open for the policy. Locks until the transaction
 * ends, so that concurrent requests do not both insert one.
 */
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

export const decisionOf = async (
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
export const writeDecision = async (tx: Tx, row: Omit<Decision, 'decidedAt'>): Promise<void> => {
  const { approvalId: _, userId: __, ...decided } = row
  await upsertRow(tx, approvalDecisions, {
    values: row,
    target: [approvalDecisions.approvalId, approvalDecisions.userId],
    set: { ...decided, decidedAt: sql`now()` },
  })
}

export const rejectApproval = async (tx: Tx, id: string): Promise<void> => {
  await updateRows(tx, approvals, { set: { rejectedAt: sql`now()` }, where: eq(approvals.id, id) })
}

/** Marks an approval as used, for lists only. The vault keeps its own record. */
export const noteApprovalUse = async (db: Db, id: string): Promise<void> => {
  await updateRows(db, approvals, {
    set: { usedAt: sql`now()` },
    where: and(eq(approvals.id, id), isNull(approvals.usedAt)),
  })
}

export type Assertion = Pick<Decision, 'userId' | 'clientDataJson' | 'authenticatorData' | 'signature'> & {
  /** The present row of the passkey. */
  readonly passkey: ProjectPasskey
}

/** The approvals of users who still have the passkey with which they approved. */
export const approvingAssertions = (db: Queryable, { projectId, id }: OfProject): Promise<readonly Assertion[]> =>
  db
    .select({
      userId: approvalDecisions.userId,
      clientDataJson: approvalDecisions.clientDataJson,
      authenticatorData: approvalDecisions.authenticatorData,
      signature: approvalDecisions.signature,
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

/** Notes which approvals have expired unused, the oldest first. */
export const expireApprovals = async (db: Queryable): Promise<void> => {
  await db.execute(sql`
    update ${approvals} set expired_at = now() where id in (
      select id from ${approvals}
      where rejected_at is null and used_at is null and expired_at is null and expires_at <= now()
      order by expires_at limit ${EXPIRED_AT_ONCE}
    ) and rejected_at is null and used_at is null and expired_at is null`)
}
