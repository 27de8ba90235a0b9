import { and, asc, count, eq, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { policies, wallets } from '../schema.ts'
import type { Network } from '../words.ts'
import type { Page, Reach, WalletRow } from './wallets.ts'

type PolicyRow = typeof policies.$inferSelect

const UINT256_MAX = sql.raw(((1n << 256n) - 1n).toString())

const isNotRevoked = isNull(policies.revokedAt)

/** `now()` would be the begin of the transaction, which may have waited since. */
const isUnexpired = sql`(${policies.expiresAt} is null or ${policies.expiresAt} > clock_timestamp())`

const hasFeeRoom = (fee: bigint): SQL =>
  sql`${policies.spentFee} + ${fee.toString()}::numeric <= ${policies.maxTotalFee}`

const hasRoom = (value: bigint): SQL =>
  sql`((${policies.maxUses} is null or ${policies.uses} < ${policies.maxUses})
    and (${policies.maxTotalValue} is null or ${policies.spentValue} + ${value.toString()}::numeric <= ${policies.maxTotalValue}))`

const within = ({ projectId, ownedBy }: Reach) =>
  and(eq(policies.projectId, projectId), ownedBy === null ? undefined : eq(wallets.ownerId, ownedBy))

export const insertPolicy = async (tx: Tx, row: typeof policies.$inferInsert): Promise<PolicyRow> => {
  const [inserted] = await tx.insert(policies).values(row).returning()
  if (inserted === undefined) throw new Error('A policy was not inserted.')
  return inserted
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

/** @returns false if it was revoked before. */
export const markPolicyRevoked = async (tx: Tx, id: string): Promise<boolean> => {
  const { rowCount } = await tx
    .update(policies)
    .set({ revokedAt: sql`now()`, updatedAt: sql`now()` })
    .where(and(eq(policies.id, id), isNotRevoked))
  return rowCount === 1
}

export type StandingPolicy = Pick<PolicyRow, 'id' | 'argumentRules' | 'maxTotalValue'> & {
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
      id: policies.id,
      argumentRules: policies.argumentRules,
      maxTotalValue: policies.maxTotalValue,
      isOpen: sql<boolean>`${isUnexpired} and ${hasRoom(input.value)}`,
    })
    .from(policies)
    .where(and(eq(policies.walletId, input.walletId), isNotRevoked))
    .orderBy(asc(policies.createdAt), asc(policies.id))
    .limit(input.limit)

/**
 * Charges one use, a value and a fee to a policy. Its row stays locked until the transaction ends.
 * @returns false if the policy does not allow them any more.
 */
export const chargePolicy = async (
  tx: Tx,
  input: { readonly id: string; readonly value: bigint; readonly fee: bigint },
): Promise<boolean> => {
  const value = input.value.toString()
  const { rowCount } = await tx
    .update(policies)
    .set({
      uses: sql`${policies.uses} + 1`,
      // Without a limit, signatures that nobody can pay for could sum up to more than the column holds.
      spentValue: sql`least(${policies.spentValue} + ${value}::numeric, ${UINT256_MAX})`,
      spentFee: sql`${policies.spentFee} + ${input.fee.toString()}::numeric`,
    })
    .where(and(eq(policies.id, input.id), isNotRevoked, isUnexpired, hasRoom(input.value), hasFeeRoom(input.fee)))
  return rowCount === 1
}
