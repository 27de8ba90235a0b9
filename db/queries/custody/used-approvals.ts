import { sql } from 'drizzle-orm'
import type { Tx } from '../../client.ts'
import type { usedApprovals } from '../../schema.ts'

type UsedApproval = Omit<typeof usedApprovals.$inferInsert, 'usedAt'> & { readonly expiresAt: Date }

/** @returns false if the approval was used before, or has expired by the database's clock. */
export const insertUsedApproval = async (tx: Tx, row: UsedApproval): Promise<boolean> => {
  const { approvalId, projectId, policyId, requestHash, expiresAt } = row
  const { rowCount } = await tx.execute(sql`
    insert into used_approvals (approval_id, project_id, policy_id, request_hash)
    select ${approvalId}::uuid, ${projectId}::uuid, ${policyId}::uuid, ${requestHash}::bytea
    where ${expiresAt.toISOString()}::timestamptz > clock_timestamp()
    on conflict do nothing`)
  return rowCount === 1
}
