import { and, eq, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { audit } from '../schema.ts'
import type { Network } from '../words.ts'

/** A mortal extrinsic that was only signed, from its audit row. No block above `validUntilBlock` takes it. */
export type MortalSignature = {
  readonly walletId: string
  readonly nonce: number
  readonly validUntilBlock: bigint
}

/** A mortal extrinsic that a project signed and did not send, by its hash; null where none is recorded. */
export const findMortalSignature = async (
  db: Queryable,
  input: { readonly projectId: string; readonly network: Network; readonly hash: string },
): Promise<MortalSignature | null> => {
  const [row] = await db
    .select({
      walletId: audit.subject,
      nonce: sql<number>`(details->>'said_nonce')::bigint`.mapWith(Number),
      validUntilBlock: sql<bigint>`(details->>'valid_until_block')::bigint`.mapWith(BigInt),
    })
    .from(audit)
    .where(
      and(
        eq(audit.action, 'transaction_signed'),
        eq(audit.projectId, input.projectId),
        // Written as in the index's condition.
        sql`details->>'valid_until_block' is not null`,
        sql`details->>'hash' = ${input.hash}`,
        sql`details->>'network' = ${input.network}`,
      ),
    )
    .limit(1)
  return row ?? null
}
