// How long a signer's lowest transaction has waited, and what blocks ask for. And for the operators' views (views.sql)
// only: which networks workers follow, and the state of waiting signers.

import { and, eq, isNull, lt, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { readRows } from '../rows.ts'
import { cursors, followedNetworks, ladders, signers, transactions } from '../schema.ts'
import { type Network, NONCE_USED, type Refusal, type WaitsFor } from '../words.ts'
import { chosenOf, isUnpayable, readRefusal } from './attempts.ts'
import { isLive, ofSigner, type QuietRow, quietRows, type Signer } from './transactions.ts'

type Followed = typeof followedNetworks.$inferInsert

type Patience = Pick<Followed, 'climbAfterSeconds' | 'expireAfterSeconds'>

type DueClock = {
  readonly id: string
  /** `start`: its clock must start, or start again. */
  readonly due: 'start' | 'climb' | 'expiry' | null
  /** The number of the lowest attempt that offers enough, which is how many offer too little. */
  readonly payable: number
}

/** While no attempt offers enough, the clock is reset, but not at each check. */
const SET_BACK_SHARE = 20

/**
 * For each signer's lowest waiting transaction that a node was asked to take: whether its clock must start, its fee
 * must rise (by time only if a node accepted it), or it must be given up. The clock stands still while blocks ask for
 * more than it can ever offer. Time counts only up to the newest block that the tracker has processed, and not from
 * before the chain last stood still. By the database's clock.
 * @param input.askedPerGas the next block's highest possible base fee, in wei; null if unknown.
 */
export const dueClocks = (
  db: Queryable,
  input: Patience & { readonly network: Network; readonly askedPerGas: bigint | null },
): Promise<readonly DueClock[]> =>
  readRows<DueClock>(db)`
    select id, due, payable from (
      select id, chosen, rungs, payable, case
          when clock_started_at is null then 'start'
          when chosen < rungs and payable >= rungs + has_fixed_fees::int then case
            when counts_from + make_interval(secs => ${input.expireAfterSeconds / SET_BACK_SHARE}) <= block_at
              then 'start' end
          when chosen < rungs and counts_from + make_interval(secs => ${input.expireAfterSeconds}) <= block_at
            then 'expiry'
          when chosen + 1 < rungs and broadcast_at is not null
            and greatest(chosen_at, counts_from) + make_interval(secs => ${input.climbAfterSeconds}) <= block_at then 'climb'
        end as due
      from (
        select waiting.*, greatest(waiting.clock_started_at, tracked.resumed_at) as counts_from,
          tracked.updated_at as block_at, (
            select count(*)::int from unnest(ladder.max_fees_per_gas[1:waiting.rungs + 1]) fee
            where fee < ${input.askedPerGas}::numeric
          ) as payable
        from (
          select network, signer_address, min(nonce) as nonce from public.transactions
          where network = ${input.network} and not final and mined_block_number is null
          group by network, signer_address
        ) lowest
        join public.transactions waiting using (network, signer_address, nonce)
        join public.ladders ladder on ladder.transaction_id = waiting.id
        join public.cursors tracked on tracked.network = ${input.network} and tracked.purpose = 'track'
        where waiting.holds_nonce and (broadcast_at is not null or array_remove(last_errors, null) <> '{}')
      ) asked
    ) clocks
    where due is not null or chosen < least(payable, rungs - 1)`

/** Signers whose lowest transaction has waited for `seconds`, with its nonce; the longest waiting first. */
export const lowestWaiting = async (
  db: Queryable,
  input: { readonly network: Network; readonly seconds: number; readonly limit: number },
): Promise<readonly { readonly address: string; readonly nonce: number }[]> =>
  db
    .select({ address: transactions.signerAddress, nonce: sql<number>`min(${transactions.nonce})::float8` })
    .from(transactions)
    .where(and(eq(transactions.network, input.network), isLive, isNull(transactions.minedBlockHash)))
    .groupBy(transactions.signerAddress)
    .having(sql`min(${transactions.createdAt}) <= now() - make_interval(secs => ${input.seconds})`)
    .orderBy(sql`min(${transactions.createdAt})`)
    .limit(input.limit)

export const waitingBelow = async (
  db: Queryable,
  signer: Signer & { readonly nonce: number },
): Promise<readonly QuietRow[]> =>
  quietRows(db).where(
    and(ofSigner(signer), isLive, isNull(transactions.minedBlockHash), lt(transactions.nonce, signer.nonce)),
  )

/** Why a transaction is in no block; `refusal` only for `refused`. */
export type Waiting = { readonly reason: WaitsFor; readonly refusal: Refusal | null }

/** What each of these transactions waits for, if it is in no block and waits for more than the next blocks. */
export const readWaits = async (db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, Waiting>> => {
  if (ids.length === 0) return new Map()
  const rows = await db
    .select({
      id: transactions.id,
      lastError: chosenOf<string | null>(ladders.lastErrors),
      isTooLow: sql<boolean>`coalesce(${chosenOf(ladders.maxFeesPerGas)} < ${cursors.baseFeePerGas}, false)`,
    })
    .from(transactions)
    .innerJoin(ladders, eq(ladders.transactionId, transactions.id))
    .leftJoin(cursors, and(eq(cursors.network, transactions.network), eq(cursors.purpose, 'track')))
    .where(and(eq(transactions.id, sql`any(${sql.param(ids)}::uuid[])`), isLive, isNull(transactions.minedBlockHash)))
  const reasonOf = ({ lastError, isTooLow }: (typeof rows)[number]): WaitsFor | null => {
    if (lastError === NONCE_USED) return 'nonce_used'
    if (isUnpayable(lastError)) return 'unpayable'
    if (isTooLow) return 'waiting_for_fees'
    return readRefusal(lastError) === null ? null : 'refused'
  }
  return new Map(
    rows.flatMap((row): readonly (readonly [string, Waiting])[] => {
      const reason = reasonOf(row)
      if (reason === null) return []
      return [[row.id, { reason, refusal: reason === 'refused' ? readRefusal(row.lastError) : null }]]
    }),
  )
}

export const recordFollowedNetwork = async (db: Queryable, row: Omit<Followed, 'updatedAt'>) => {
  await db
    .insert(followedNetworks)
    .values(row)
    .onConflictDoUpdate({ target: followedNetworks.network, set: { ...row, updatedAt: sql`now()` } })
}

/** Signers with a transaction that has waited for `seconds` and whose state is as old; the oldest state first. */
export const signersToRefresh = async (
  db: Queryable,
  input: { readonly network: Network; readonly seconds: number; readonly limit: number },
): Promise<readonly string[]> =>
  (
    await readRows<{ address: string }>(db)`
    select signer.address from public.signers signer
    where signer.network = ${input.network}
      and (signer.heard_at is null or signer.heard_at < now() - make_interval(secs => ${input.seconds}))
      and signer.address in (
        select signer_address from public.transactions
        where network = ${input.network} and not final and status in ('submitted', 'pending')
          and mined_block_hash is null and created_at < now() - make_interval(secs => ${input.seconds}))
    order by signer.heard_at nulls first limit ${input.limit}`
  ).map((row) => row.address)

export const saveSignerState = async (
  db: Queryable,
  input: Signer & {
    readonly state: { readonly minedCount: number; readonly pendingCount: number; readonly balance: bigint }
  },
) => {
  const { minedCount, pendingCount, balance } = input.state
  await db
    .update(signers)
    .set({ minedCount, pendingCount, balance, heardAt: sql`now()` })
    .where(and(eq(signers.network, input.network), eq(signers.address, input.address)))
}
