// What code outside of custody may read of policies: the unrevoked ones, without the MACs of their spending. They may be expired or
// used up.

import { and, asc, count, eq, type SQL, sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'
import { policies, wallets } from '../../schema.ts'
import type { ControlMode, Network } from '../../words.ts'
import { present } from '../present.ts'
import { type Page, type Reach, within } from '../wallets.ts'
import { isUnrevoked, type PolicyRow, type PolicyTerms, policyColumns, termsColumns } from './policies.ts'

/** A policy of any project, revoked or not. */
export const findPolicy = async (db: Queryable, id: string): Promise<PolicyRow | null> => {
  const [row] = await db.select(policyColumns).from(policies).where(eq(policies.id, id))
  return row ?? null
}

const countPolicies = async (db: Queryable, walletId: string): Promise<number> => {
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
  /** The wallet's control mode. */
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
        id === null ? undefined : eq(policies.id, id),
        network === null ? undefined : eq(policies.network, network),
        walletId === null ? undefined : eq(policies.walletId, walletId),
        controlMode === null ? undefined : eq(wallets.controlMode, controlMode),
      ),
    )
    .orderBy(asc(policies.createdAt), asc(policies.id))
    .limit(input.limit)
    .offset(input.offset)
}

/** The id of the wallet of a policy within reach. */
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

const isExpired: SQL<boolean> = sql`coalesce(${policies.expiresAt} <= now(), false)`

/** A wallet's policies, oldest first; those that need approval come last. */
export const unrevokedPolicies = async (
  db: Queryable,
  input: { readonly walletId: string; readonly limit: number },
): Promise<readonly UnrevokedPolicy[]> => {
  const { uses, spentValue, limitCounts } = policies
  return db
    .select({ ...termsColumns, uses, spentValue, limitCounts, isExpired, readAt: present })
    .from(policies)
    .where(and(eq(policies.walletId, input.walletId), isUnrevoked))
    .orderBy(sql`${policies.requireApproval} is not null`, asc(policies.createdAt), asc(policies.id))
    .limit(input.limit)
}
