// The rows of policies for the vault: locks and spending. unrevoked-policies.ts has what other code may read.

import { and, asc, eq, getTableColumns, inArray, isNull, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../../client.ts'
import { type AsText, eqIfGiven, firstRow, gtIfGiven, pickColumns } from '../../rows.ts'
import { policies, policyLocks, usedApprovals, wallets } from '../../schema.ts'
import { uint256In } from '../../tables.ts'
import { NotWritten } from '../../written.ts'
import { type AuditRow, encodeAuditRows, requireAuditMacs } from './audit.ts'
import { ENDED, type RowImage, readImage } from './journal.ts'
import type { Page } from './locks.ts'
import { insertProven, proofOf, provenImage, requireImage, updateProven } from './proofs.ts'

type UsedApproval = Omit<typeof usedApprovals.$inferInsert, 'usedAt'> & {
  readonly expiresAt: Date
  /** The longest lifetime of an approval. */
  readonly expiresInSeconds: number
}

type Returned = Record<'approvalId' | 'projectId' | 'policyId' | 'requestHash', unknown> & { readonly image: string }

/** @returns null if the approval was used, is over by the database's clock, or lasts too long. @throws NotWritten */
export const insertUsedApproval = async (tx: Tx, row: UsedApproval): Promise<RowImage | null> => {
  const { approvalId, projectId, policyId, requestHash, expiresAt, expiresInSeconds } = row
  const meant = { approvalId, projectId, policyId, requestHash }
  const { rows } = await tx.execute<Returned>(sql`
    insert into public.used_approvals (approval_id, project_id, policy_id, request_hash)
    select ${approvalId}::uuid, ${projectId}::uuid, ${policyId}::uuid, ${requestHash}::bytea
    where ${expiresAt.toISOString()}::timestamptz > clock_timestamp()
      and ${expiresAt.toISOString()}::timestamptz <= clock_timestamp() + make_interval(secs => ${expiresInSeconds})
    on conflict do nothing
    returning approval_id as "approvalId", project_id as "projectId", policy_id as "policyId", request_hash as "requestHash",
      pg_catalog.to_jsonb(used_approvals)::text as image`)
  return provenImage(usedApprovals, meant, rows)
}

/** A policy without what proves its spending, which only the vault reads. */
export type PolicyRow = Omit<typeof policies.$inferSelect, 'mac'>

/** What the owner of the wallet has agreed to. It never changes. */
export type PolicyTerms = Pick<PolicyRow, keyof typeof termsColumns>

const { mac: _, ...shownColumns } = getTableColumns(policies)
export const policyColumns = shownColumns

const termsColumns = pickColumns(
  policies,
  'id',
  'network',
  'argumentRules',
  'expiresAt',
  'maxTotalValue',
  'maxUses',
  'maxTotalFee',
  'tokenLimits',
  'rollingLimits',
  'requireApproval',
)

/** What a policy's MAC covers, in base units. Each charge counts one use, so no two states of a policy are equal. */
export type Spending = Pick<PolicyRow, 'uses' | 'spentValue' | 'spentFee' | 'limitCounts'>
export type SpendingRow = Spending & Pick<typeof policies.$inferSelect, 'mac'>

const lockColumns = pickColumns(policyLocks, 'id', 'sealed')
type PolicyLockRow = Pick<typeof policyLocks.$inferSelect, keyof typeof lockColumns>

const spendingColumns = pickColumns(policies, 'uses', 'spentValue', 'spentFee', 'limitCounts', 'mac')

export const isUnrevoked = isNull(policies.revokedAt)

/** @throws NotWritten */
export const insertPolicy = async (
  tx: Tx,
  row: typeof policies.$inferInsert,
): Promise<{ readonly policy: PolicyRow; readonly image: RowImage }> => {
  const inserted = await tx
    .insert(policies)
    .values(row)
    .returning({ ...getTableColumns(policies), image: proofOf(policies, {}).image })
  const image = requireImage(policies, row, inserted)
  const [returned] = inserted
  if (returned === undefined) throw new NotWritten('policies')
  const { image: _, mac, ...policy } = returned
  return { policy, image }
}

/** @throws NotWritten */
export const insertPolicyLock = (tx: Tx, row: typeof policyLocks.$inferInsert): Promise<RowImage> =>
  insertProven(tx, policyLocks, row)

/** Revokes a policy, and erases its lock and its MAC. @returns null if it was revoked before. @throws NotWritten */
export const endPolicy = async (
  tx: Tx,
  { policyId, walletId }: { readonly policyId: string; readonly walletId: string },
): Promise<RowImage | null> => {
  const meant = { id: policyId, walletId, mac: null }
  const rows = await tx
    .update(policies)
    .set({ revokedAt: sql`now()`, updatedAt: sql`now()`, mac: null })
    .where(and(eq(policies.id, policyId), eq(policies.walletId, walletId), isUnrevoked))
    .returning({ ...proofOf(policies, meant), revokedAt: policies.revokedAt })
  const image = provenImage(policies, meant, rows)
  if (image !== null && (rows[0]?.revokedAt === null || readImage(image).age !== ENDED))
    throw new NotWritten('policies', meant)
  if (image !== null) await tx.delete(policyLocks).where(eq(policyLocks.policyId, policyId))
  return image
}

export type LockedPolicy = { readonly lock: PolicyLockRow; readonly spending: SpendingRow }

type SpendingText = AsText<SpendingRow, 'uses' | 'spentValue' | 'spentFee'>

/** A prepared statement. @returns null if the policy is for another wallet, or was revoked. */
export const readPolicyLock = async (
  db: Db,
  input: { readonly policyId: string; readonly walletId: string },
): Promise<LockedPolicy | null> => {
  const [row] = await db.prepared<PolicyLockRow & SpendingText>`
    select l.id, l.sealed, p.uses, p.spent_value as "spentValue", p.spent_fee as "spentFee",
      p.limit_counts as "limitCounts", p.mac
    from public.policy_locks l join public.policies p on p.id = l.policy_id
    where l.policy_id = ${input.policyId} and p.wallet_id = ${input.walletId} and p.revoked_at is null`
  if (row === undefined) return null
  const { id, sealed, uses, spentValue, spentFee, limitCounts, mac } = row
  const spent = { uses: Number(uses), spentValue: uint256In(spentValue), spentFee: uint256In(spentFee) }
  return { lock: { id, sealed }, spending: { ...spent, limitCounts, mac } }
}

/** What was spent, which stays so until the transaction ends. @returns null if the policy was revoked. */
export const lockSpending = (tx: Tx, id: string): Promise<SpendingRow | null> =>
  firstRow(
    tx
      .select(spendingColumns)
      .from(policies)
      .where(and(eq(policies.id, id), isUnrevoked))
      .for('no key update'),
  )

/**
 * Writes what was spent, unless `expiresAt` is over by the database's clock. `now()` would be the begin of the
 * transaction, which may have waited since.
 * @returns null if it is over. @throws NotWritten
 */
export const writeSpending = (
  tx: Tx,
  { id, expiresAt, ...set }: SpendingRow & Pick<PolicyRow, 'id' | 'expiresAt'>,
): Promise<RowImage | null> => {
  const isOpen = expiresAt === null ? undefined : sql`${expiresAt.toISOString()}::timestamptz > clock_timestamp()`
  return updateProven(tx, policies, { meant: { id, ...set }, set, where: and(eq(policies.id, id), isOpen) })
}

type Charging = {
  readonly id: string
  readonly expiresAt: Date | null
  /** The state that was read. */
  readonly before: SpendingRow
  readonly after: SpendingRow
  readonly rows: readonly AuditRow[]
}

type Charged = SpendingText & Pick<PolicyRow, 'id'> & { readonly image: string; readonly auditMacs: readonly string[] }

/**
 * Writes the new spending and the audit rows of the use with one prepared statement.
 * @returns null if nothing was written, because the row has changed since it was read, or the policy was revoked or has
 * expired.
 * @throws NotWritten though the charge or some rows may be committed: nothing may be signed.
 */
export const chargeWithAudit = async (
  db: Db,
  { id, expiresAt, before, after, rows }: Charging,
): Promise<RowImage | null> => {
  const [written] = await db.prepared<Charged>`
    with charged as (
      update public.policies
      set uses = ${after.uses}, spent_value = ${after.spentValue}, spent_fee = ${after.spentFee},
        limit_counts = ${JSON.stringify(after.limitCounts)}::text::jsonb, mac = ${after.mac}
      where id = ${id} and revoked_at is null and mac = ${before.mac} and uses = ${before.uses}
        and spent_value = ${before.spentValue} and spent_fee = ${before.spentFee}
        and limit_counts = ${JSON.stringify(before.limitCounts)}::text::jsonb
        and coalesce(${expiresAt?.toISOString() ?? null}::timestamptz > clock_timestamp(), true)
      returning id, uses, spent_value, spent_fee, limit_counts, mac, pg_catalog.to_jsonb(policies)::text as image
    ), audited as (
      insert into public.audit (project_id, at, actor, action, subject, details, mac)
      select r."projectId", r.at, r.actor, r.action, r.subject, r.details, decode(r.mac, 'hex')
      from charged, jsonb_to_recordset(${encodeAuditRows(rows)}::text::jsonb) as r(
        "projectId" uuid, at timestamptz, actor text, action text, subject text, details jsonb, mac text)
      returning mac
    )
    select id, uses, spent_value as "spentValue", spent_fee as "spentFee", limit_counts as "limitCounts", mac, image,
      array(select encode(mac, 'hex') from audited) as "auditMacs"
    from charged`
  if (written === undefined) return null
  const { auditMacs, uses, spentValue, spentFee, ...rest } = written
  requireAuditMacs(rows, auditMacs)
  const spent = { uses: Number(uses), spentValue: uint256In(spentValue), spentFee: uint256In(spentFee) }
  return requireImage(policies, { id, ...after }, [{ ...rest, ...spent }])
}

export const policiesOfLocks = (db: Queryable, lockIds: readonly string[]) =>
  db
    .select({ lockId: policyLocks.id, walletId: wallets.id, keyringId: wallets.keyringId, terms: termsColumns })
    .from(policyLocks)
    .innerJoin(policies, eq(policies.id, policyLocks.policyId))
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .where(inArray(policyLocks.id, [...lockIds]))

/** Unrevoked policies by their ids. `lock` is null if it is gone. @param input.projectId null: of all projects. */
export const pageOfPolicies = (db: Queryable, input: Page<string>) =>
  db
    .select({
      ...pickColumns(policies, 'id', 'projectId', 'walletId'),
      ...pickColumns(wallets, 'keyringId', 'network'),
      terms: termsColumns,
      spending: spendingColumns,
      lock: lockColumns,
    })
    .from(policies)
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .leftJoin(policyLocks, eq(policyLocks.policyId, policies.id))
    .where(and(isUnrevoked, eqIfGiven(policies.projectId, input.projectId), gtIfGiven(policies.id, input.after)))
    .orderBy(asc(policies.id))
    .limit(input.limit)
