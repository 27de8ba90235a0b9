// What code outside of the vault may read of policies: the unrevoked ones, without the MACs of their spending. They may
// be expired or used up.

import { and, asc, count, eq } from 'drizzle-orm'
import type { Db, Queryable } from '../../client.ts'
import { type AsText, eqIfGiven, firstRow } from '../../rows.ts'
import { policies, wallets } from '../../schema.ts'
import { editedInstantIn, uint256In } from '../../tables.ts'
import type { ControlMode, Network } from '../../words.ts'
import { type Page, type Reach, within } from '../wallets.ts'
import {
  isUnrevoked,
  type LockedPolicy,
  type PolicyRow,
  type PolicyTerms,
  policyColumns,
  type SpendingRow,
} from './policies.ts'

export const findPolicy = (db: Queryable, id: string): Promise<PolicyRow | null> =>
  firstRow(db.select(policyColumns).from(policies).where(eq(policies.id, id)))

const countPolicies = async (db: Queryable, walletId: string) => {
  const [row] = await db
    .select({ policies: count() })
    .from(policies)
    .where(and(eq(policies.walletId, walletId), isUnrevoked))
  return row?.policies ?? 0
}

/** The policy that already has this id, and how many policies the wallet has. */
export const readPolicyRoom = async (
  db: Queryable,
  { id, walletId }: { readonly id: string; readonly walletId: string },
): Promise<{ readonly made: PolicyRow | null; readonly unrevoked: number }> => {
  const [made, unrevoked] = await Promise.all([findPolicy(db, id), countPolicies(db, walletId)])
  return { made, unrevoked }
}

type PolicyFilter = {
  readonly id: string | null
  readonly network: Network | null
  readonly walletId: string | null
  readonly controlMode: ControlMode | null
}

/** The policies within reach, oldest first. A null filters nothing. */
export const listPolicies = (db: Queryable, input: Reach & Page & PolicyFilter): Promise<readonly PolicyRow[]> => {
  const { id, network, walletId, controlMode } = input
  return db
    .select(policyColumns)
    .from(policies)
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .where(
      and(
        eq(policies.projectId, input.projectId),
        within(input),
        isUnrevoked,
        eqIfGiven(policies.id, id),
        eqIfGiven(policies.network, network),
        eqIfGiven(policies.walletId, walletId),
        eqIfGiven(wallets.controlMode, controlMode),
      ),
    )
    .orderBy(asc(policies.createdAt), asc(policies.id))
    .limit(input.limit)
    .offset(input.offset)
}

export const findWalletOfPolicy = async (
  db: Queryable,
  input: Reach & { readonly id: string },
): Promise<string | null> => {
  const [row] = await db
    .select({ walletId: wallets.id })
    .from(policies)
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .where(and(eq(policies.id, input.id), eq(policies.projectId, input.projectId), within(input), isUnrevoked))
  return row?.walletId ?? null
}

export type UnrevokedPolicy = PolicyTerms &
  Pick<PolicyRow, 'uses' | 'spentValue' | 'limitCounts'> & {
    /** By the database's clock. */
    readonly isExpired: boolean
    /** When this was read, by the database's clock. */
    readonly readAt: Date
  }

type UnrevokedRow = AsText<
  UnrevokedPolicy & Pick<SpendingRow, 'spentFee' | 'mac'>,
  'expiresAt' | 'maxTotalValue' | 'maxTotalFee' | 'uses' | 'spentValue' | 'spentFee'
> & {
  readonly lockId: string | null
  readonly sealed: Uint8Array | null
}

type OpenablePolicy = Omit<LockedPolicy, 'lock'> & {
  readonly policy: UnrevokedPolicy
  /** null if it was deleted. */
  readonly lock: LockedPolicy['lock'] | null
}

const parseOpenable = (row: UnrevokedRow): OpenablePolicy => {
  const { expiresAt, maxTotalValue, maxTotalFee, spentFee, mac, lockId, sealed, ...same } = row
  const [uses, spentValue] = [Number(row.uses), uint256In(row.spentValue)]
  return {
    policy: {
      ...same,
      expiresAt: expiresAt === null ? null : editedInstantIn(expiresAt),
      maxTotalValue: maxTotalValue === null ? null : uint256In(maxTotalValue),
      maxTotalFee: uint256In(maxTotalFee),
      uses,
      spentValue,
    },
    spending: { uses, spentValue, spentFee: uint256In(spentFee), limitCounts: row.limitCounts, mac },
    lock: lockId === null || sealed === null ? null : { id: lockId, sealed },
  }
}

type OfWallet = { readonly walletId: string; readonly limit: number }

/** A wallet's policies with their locks, oldest first; those that need approval come last. A prepared statement. */
export const openablePolicies = async (db: Db, { walletId, limit }: OfWallet): Promise<readonly OpenablePolicy[]> => {
  const rows = await db.prepared<UnrevokedRow>`
    select p.id, p.network, p.argument_rules "argumentRules", p.expires_at::text "expiresAt",
      p.max_total_value "maxTotalValue", p.max_uses "maxUses", p.max_total_fee "maxTotalFee",
      p.token_limits "tokenLimits", p.rolling_limits "rollingLimits", p.require_approval "requireApproval",
      p.uses, p.spent_value "spentValue", p.limit_counts "limitCounts", p.spent_fee "spentFee", p.mac,
      coalesce(p.expires_at <= now(), false) "isExpired", now() "readAt", l.id "lockId", l.sealed
    from public.policies p left join public.policy_locks l on l.policy_id = p.id
    where p.wallet_id = ${walletId} and p.revoked_at is null
    order by p.require_approval is not null, p.created_at, p.id
    limit ${limit}`
  return rows.map(parseOpenable)
}

/** The same without what opens or charges them. */
export const unrevokedPolicies = async (db: Db, input: OfWallet): Promise<readonly UnrevokedPolicy[]> =>
  (await openablePolicies(db, input)).map(({ policy }) => policy)
