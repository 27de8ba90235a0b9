// The rows of policies for custody: locks and spending. unrevoked-policies.ts has what other code may read.

import { and, asc, eq, getTableColumns, gt, inArray, isNull, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../../client.ts'
import { uint256In } from '../../columns.ts'
import { policies, policyLocks, wallets } from '../../schema.ts'
import { NotWritten } from '../../written.ts'
import { type AuditRow, requireAuditMacs, textOf } from './audit.ts'
import { ENDED, type RowImage, readImage } from './journal.ts'
import { proofOf, provenImage, requireImage } from './proofs.ts'

/** A policy without what proves its spending, which stays in custody. */
export type PolicyRow = Omit<typeof policies.$inferSelect, 'mac'>

/** What the owner of the wallet has agreed to. It never changes. */
export type PolicyTerms = Pick<
  PolicyRow,
  | 'id'
  | 'network'
  | 'argumentRules'
  | 'expiresAt'
  | 'maxTotalValue'
  | 'maxUses'
  | 'maxTotalFee'
  | 'tokenLimits'
  | 'rollingLimits'
  | 'requireApproval'
>

const { mac: _, ...shownColumns } = getTableColumns(policies)
export const policyColumns = shownColumns

const termsColumns = {
  id: policies.id,
  network: policies.network,
  argumentRules: policies.argumentRules,
  expiresAt: policies.expiresAt,
  maxTotalValue: policies.maxTotalValue,
  maxUses: policies.maxUses,
  maxTotalFee: policies.maxTotalFee,
  tokenLimits: policies.tokenLimits,
  rollingLimits: policies.rollingLimits,
  requireApproval: policies.requireApproval,
}

type PolicyLockRow = Pick<typeof policyLocks.$inferSelect, 'id' | 'sealed'>

/** What a policy's MAC covers. Each charge counts one use, so no two states of a policy are equal. Amounts are base units. */
export type Spending = Pick<PolicyRow, 'uses' | 'spentValue' | 'spentFee' | 'limitCounts'>
export type SpendingRow = Spending & Pick<typeof policies.$inferSelect, 'mac'>

const lockColumns = { id: policyLocks.id, sealed: policyLocks.sealed }

const spendingColumns = {
  uses: policies.uses,
  spentValue: policies.spentValue,
  spentFee: policies.spentFee,
  limitCounts: policies.limitCounts,
  mac: policies.mac,
}

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
export const insertPolicyLock = async (tx: Tx, row: typeof policyLocks.$inferInsert): Promise<RowImage> =>
  requireImage(policyLocks, row, await tx.insert(policyLocks).values(row).returning(proofOf(policyLocks, row)))

/** Marks a policy of a wallet as revoked, and erases its lock and its MAC. @returns null if it was revoked before. @throws NotWritten */
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

type LockedRow = PolicyLockRow &
  Pick<SpendingRow, 'limitCounts' | 'mac'> & {
    readonly uses: string
    readonly spentValue: string
    readonly spentFee: string
  }

/** A prepared statement. @returns null if the policy is for another wallet, or was revoked. */
export const readPolicyLock = async (
  db: Db,
  input: { readonly policyId: string; readonly walletId: string },
): Promise<LockedPolicy | null> => {
  const [row] = await db.prepared<LockedRow>`
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
export const lockSpending = async (tx: Tx, id: string): Promise<SpendingRow | null> => {
  const [row] = await tx
    .select(spendingColumns)
    .from(policies)
    .where(and(eq(policies.id, id), isUnrevoked))
    .for('no key update')
  return row ?? null
}

/**
 * Writes what was spent, unless `expiresAt` is over by the database's clock. `now()` would be the begin of the transaction,
 * which may have waited since.
 * @returns null if it is over. @throws NotWritten
 */
export const writeSpending = async (
  tx: Tx,
  { id, expiresAt, ...spending }: SpendingRow & Pick<PolicyRow, 'id' | 'expiresAt'>,
): Promise<RowImage | null> => {
  const isOpen = expiresAt === null ? undefined : sql`${expiresAt.toISOString()}::timestamptz > clock_timestamp()`
  const meant = { id, ...spending }
  const written = await tx
    .update(policies)
    .set(spending)
    .where(and(eq(policies.id, id), isOpen))
    .returning(proofOf(policies, meant))
  return provenImage(policies, meant, written)
}

type Charging = {
  readonly id: string
  readonly expiresAt: Date | null
  /** The state that was read. */
  readonly before: SpendingRow
  readonly after: SpendingRow
  readonly rows: readonly AuditRow[]
}

type Charged = Pick<SpendingRow, 'limitCounts' | 'mac'> &
  Pick<PolicyRow, 'id'> & {
    /** Digits, as the prepared statement returns all these numbers. */
    readonly uses: string
    readonly spentValue: string
    readonly spentFee: string
    readonly image: string
    readonly auditMacs: readonly string[]
  }

/**
 * Writes the new spending and the audit rows of the use with one prepared statement.
 * @returns null if nothing was written, because the row has changed since it was read, or the policy was revoked or has expired.
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
      from charged, jsonb_to_recordset(${textOf(rows)}::text::jsonb) as r(
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

/** The policies of some locks, and their wallets. */
export const policiesOfLocks = (db: Queryable, lockIds: readonly string[]) =>
  db
    .select({ lockId: policyLocks.id, walletId: wallets.id, keyringId: wallets.keyringId, terms: termsColumns })
    .from(policyLocks)
    .innerJoin(policies, eq(policies.id, policyLocks.policyId))
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .where(inArray(policyLocks.id, [...lockIds]))

/** null: of all projects. */
type OfProject = { readonly projectId: string | null }

const isOf = ({ projectId }: OfProject) => (projectId === null ? undefined : eq(policies.projectId, projectId))

/** Unrevoked policies after `after`, in the order of their ids; `lock` is null if it is gone. */
export const pageOfPolicies = (
  db: Queryable,
  input: OfProject & { readonly after: string | null; readonly limit: number },
) =>
  db
    .select({
      id: policies.id,
      projectId: policies.projectId,
      walletId: policies.walletId,
      keyringId: wallets.keyringId,
      /** The wallet's network. */
      network: wallets.network,
      terms: termsColumns,
      spending: spendingColumns,
      lock: lockColumns,
    })
    .from(policies)
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .leftJoin(policyLocks, eq(policyLocks.policyId, policies.id))
    .where(and(isUnrevoked, isOf(input), input.after === null ? undefined : gt(policies.id, input.after)))
    .orderBy(asc(policies.id))
    .limit(input.limit)
