import { and, asc, count, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { policies, wallets } from '../schema.ts'
import type { Network } from '../words.ts'
import type { Reach, WalletRow } from './wallets.ts'

type PolicyRow = typeof policies.$inferSelect

/** What is stored above what any network has as an amount. */
const UINT256_MAX = sql.raw(((1n << 256n) - 1n).toString())

const isThere = isNull(policies.revokedAt)

/** By the database's clock at this very moment: a transaction may have waited since it began. */
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
  if (inserted === undefined) throw new Error('insert into policies returned no row')
  return inserted
}

/** How many of a wallet's policies are not revoked. */
export const countPolicies = async (db: Queryable, walletId: string): Promise<number> => {
  const [row] = await db
    .select({ policies: count() })
    .from(policies)
    .where(and(eq(policies.walletId, walletId), isThere))
  return row?.policies ?? 0
}

/** Whether an instant is still to come, by the database's clock. */
export const isToCome = async (db: Queryable, at: Date): Promise<boolean> => {
  const {
    rows: [row],
  } = await db.execute<{ toCome: boolean }>(sql`select ${at.toISOString()}::timestamptz > now() as "toCome"`)
  return row?.toCome === true
}

export type Policy = PolicyRow & { readonly walletAddress: string }

/** Within reach and not revoked, oldest first; those of one wallet where it is named. */
export const listPolicies = async (
  db: Queryable,
  input: Reach & {
    readonly network: Network
    readonly walletId: string | null
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly Policy[]> => {
  const { network, walletId } = input
  const rows = await db
    .select({ policy: policies, walletAddress: wallets.address })
    .from(policies)
    .innerJoin(wallets, eq(wallets.id, policies.walletId))
    .where(
      and(
        within(input),
        eq(policies.network, network),
        isThere,
        walletId === null ? undefined : eq(policies.walletId, walletId),
      ),
    )
    .orderBy(asc(policies.createdAt), asc(policies.id))
    .limit(input.limit)
    .offset(input.offset)
  return rows.map(({ policy, walletAddress }) => ({ ...policy, walletAddress }))
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
    .where(and(eq(policies.id, input.id), within(input), isThere))
  return row?.wallet ?? null
}

/** @returns whether it was not revoked before. */
export const markPolicyRevoked = async (tx: Tx, id: string): Promise<boolean> => {
  const rows = await tx
    .update(policies)
    .set({ revokedAt: sql`now()`, updatedAt: sql`now()` })
    .where(and(eq(policies.id, id), isThere))
    .returning({ id: policies.id })
  return rows.length === 1
}

export type StandingPolicy = Pick<PolicyRow, 'id' | 'argumentRules' | 'maxTotalValue'> & {
  /** Neither expired nor used up for this value. */
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
    .where(and(eq(policies.walletId, input.walletId), isThere))
    .orderBy(asc(policies.createdAt), asc(policies.id))
    .limit(input.limit)

/**
 * Takes one use, a value and a fee from what a policy allows, if it still allows them; the row stays locked until the
 * transaction ends. @returns whether it did.
 */
export const chargePolicy = async (
  tx: Tx,
  input: { readonly id: string; readonly value: bigint; readonly fee: bigint },
): Promise<boolean> => {
  const value = input.value.toString()
  const rows = await tx
    .update(policies)
    .set({
      uses: sql`${policies.uses} + 1`,
      // Where nothing limits it, signatures that nobody can pay for could sum up to more than the column holds.
      spentValue: sql`least(${policies.spentValue} + ${value}::numeric, ${UINT256_MAX})`,
      spentFee: sql`${policies.spentFee} + ${input.fee.toString()}::numeric`,
    })
    .where(and(eq(policies.id, input.id), isThere, isUnexpired, hasRoom(input.value), hasFeeRoom(input.fee)))
    .returning({ id: policies.id })
  return rows.length === 1
}
