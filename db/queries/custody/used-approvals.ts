import { sql } from 'drizzle-orm'
import type { Tx } from '../../client.ts'
import type { usedApprovals } from '../../schema.ts'

type UsedApproval = Omit<typeof usedApprovals.$inferInsert, 'usedAt'> & {
  readonly expiresAt: Date
  /** The longest lifetime of an approval. */
  readonly expiresInSeconds: number
}

/** @returns false if the approval was used before, has expired by the database's clock, or lasts longer than allowed. */
export const insertUsedApproval = async (tx: Tx, row: UsedApproval): Promise<boolean> => {
  const { approvalId, projectId, policyId, requestHash, expiresAt, expiresInSeconds } = row
  const { rowCount } = await tx.execute(sql`
    insert into used_approvals (approval_id, project_id, policy_id, request_hash)
    select ${approvalId}::uuid, ${projectId}::uuid, ${policyId}::uuid, ${requestHash}::bytea
    where ${expiresAt.toISOString()}::timestamptz > clock_timestamp()
      and ${expiresAt.toISOString()}::timestamptz <= clock_timestamp() + make_interval(secs => ${expiresInSeconds})
    on conflict do nothing`)
  return rowCount === 1
}
