import { and, asc, count, eq, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { policies, wallets } from '../schema.ts'
import type { Network } from '../words.ts'
import type { Page, Reach, WalletRow } from './wallets.ts'

export type PolicyRow = typeof policies.$inferSelect

/** What the owner of the wallet has agreed to. It never changes. */
export type PolicyTerms = Pick<
  PolicyRow,
  'id' | 'network' | 'argumentRules' | 'expiresAt' | 'maxTotalValue' | 'maxUses' | 'maxTotalFee'
>

export const termsColumns = {
  id: policies.id,
  network: policies.network,
  argumentRules: policies.argumentRules,
  expiresAt: policies.expiresAt,
  maxTotalValue: policies.maxTotalValue,
  maxUses: policies.maxUses,
  maxTotalFee: policies.maxTotalFee,
}

const isNotRevoked = isNull(policies.revokedAt)

const isUnexpired = sql`(${policies.expiresAt} is null or ${policies.expiresAt} > now())`

const hasRoom = (value: bigint): SQL =>
  sql`((${policies.maxUses} is null or ${policies.uses} < ${policies.maxUses})
    and (${policies.maxTotalValue} is null or ${policies.spentValue} + ${value.toString()}::numeric <= ${policies.maxTotalValue}))`

const within = ({ projectId, ownedBy }: Reach) =>
  and(eq(policies.projectId, projectId), ownedBy === null ? undefined : eq(wallets.ownerId, ownedBy))

/** A policy of any project, revoked or not. */
export const findPolicy = async (db: Queryable, id: string): Promise<PolicyRow | null> => {
  const [row] = await db.select().from(policies).where(eq(policies.id, id))
  return row ?? null
}

/** How many of a wallet's policies are not revoked. */
export const countPolicies = async (db: Queryable, walletId: string): Promise<number> => {
  const [row] = await db
    .select({ policies: count() })
    .from(policies)
    .where(and(eq(policies.walletId, walletId), isNotRevoked))
  return row?.policies ?? 0
}

/** Whether an instant is in the future, by the database's clock. */
export const isToCome = async (db: Queryable, at: Date): Promise<boolean> => {
  const {
    rows: [row],
  } = await db.execute<{ toCome: boolean }>(sql`select ${at.toISOString()}::timestamptz > now() as "toCome"`)
  return row?.toCome === true
}

export type Policy = PolicyRow & { readonly walletAddress: string }

/** The policies within reach that are not revoked, oldest first. @param input.walletId null: of all wallets. */
export const listPolicies = (
  db: Queryable,
  input: Reach & Page & { readonly network: Network; readonly walletId: string | null },
): Promise<readonly Policy[]> => {
  const { network, walletId } = input
  const isOfWallet = walletId === null ? undefined : eq(policies.walletId, walletId)
  return db
    .select({ ...getTableColumns(policies), walletAddress: wallets.address })
    .from(policies)
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .where(and(within(input), eq(policies.network, network), isNotRevoked, isOfWallet))
    .orderBy(asc(policies.createdAt), asc(policies.id))
    .limit(input.limit)
    .offset(input.offset)
}

/** The wallet of a policy within reach that is not revoked. */
export const findWalletOfPolicy = async (
  db: Queryable,
  input: Reach & { readonly id: string },
): Promise<WalletRow | null> => {
  const [row] = await db
    .select({ wallet: wallets })
    .from(policies)
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .where(and(eq(policies.id, input.id), within(input), isNotRevoked))
  return row?.wallet ?? null
}

export type StandingPolicy = PolicyTerms & {
  /** It has not expired, and its limits allow this value. */
  readonly isOpen: boolean
}

/** A wallet's policies that are not revoked, oldest first. @param input.value base units of the coin, at most 2^256 - 1 */
export const standingPolicies = async (
  db: Queryable,
  input: { readonly walletId: string; readonly value: bigint; readonly limit: number },
): Promise<readonly StandingPolicy[]> =>
  db
    .select({
      ...termsColumns,
      isOpen: sql<boolean>`${isUnexpired} and ${hasRoom(input.value)}`,
    })
    .from(policies)
    .where(and(eq(policies.walletId, input.walletId), isNotRevoked))
    .orderBy(asc(policies.createdAt), asc(policies.id))
    .limit(input.limit)
