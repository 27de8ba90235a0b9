// What is written down for operators alone: which networks workers follow, and how waiting signers stand with their chains.
// Nothing is decided by it; the views of views.sql read it.

import { and, eq, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { followedNetworks, signers } from '../schema.ts'
import type { Network } from '../words.ts'

/** A worker follows the network, by these rules, now. */
export const noteFollowedNetwork = async (
  db: Queryable,
  row: Pick<
    typeof followedNetworks.$inferInsert,
    'network' | 'confirmations' | 'climbAfterSeconds' | 'expireAfterSeconds'
  >,
): Promise<void> => {
  await db
    .insert(followedNetworks)
    .values(row)
    .onConflictDoUpdate({ target: followedNetworks.network, set: { ...row, updatedAt: sql`now()` } })
}

/** Signers with something that has waited for `seconds`, and that were not heard of for as long: those longest unheard first. */
export const signersToHear = async (
  db: Queryable,
  input: { readonly network: Network; readonly seconds: number; readonly limit: number },
): Promise<readonly string[]> => {
  const { rows } = await db.execute<{ address: string }>(sql`
    select signer.address from public.signers signer
    where signer.network = ${input.network}
      and (signer.heard_at is null or signer.heard_at < now() - make_interval(secs => ${input.seconds}))
      and signer.address in (
        select signer_address from public.transactions
        where network = ${input.network} and not final and status in ('submitted', 'pending')
          and mined_block_hash is null and created_at < now() - make_interval(secs => ${input.seconds}))
    order by signer.heard_at nulls first limit ${input.limit}`)
  return rows.map((row) => row.address)
}

export const noteStanding = async (
  db: Queryable,
  input: {
    readonly network: Network
    readonly address: string
    readonly standing: { readonly minedCount: number; readonly pendingCount: number; readonly balance: bigint }
  },
): Promise<void> => {
  const { minedCount, pendingCount, balance } = input.standing
  await db
    .update(signers)
    .set({ minedCount, pendingCount, balance, heardAt: sql`now()` })
    .where(and(eq(signers.network, input.network), eq(signers.address, input.address)))
}
