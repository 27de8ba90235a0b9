import { sql } from 'drizzle-orm'
import type { Tx } from '../../client.ts'
import { usedApprovals } from '../../schema.ts'
import type { RowImage } from './journal.ts'
import { provenImage } from './proofs.ts'

type UsedApproval = Omit<typeof usedApprovals.$inferInsert, 'usedAt'> & {
  readonly expiresAt: Date
  /** The longest lifetime of an approval. */
  readonly expiresInSeconds: number
}

type Returned = Record<'approvalId' | 'projectId' | 'policyId' | 'requestHash', unknown> & { readonly image: string }

/** @returns null if the approval was used before, has expired by the database's clock, or lasts longer than allowed. @throws NotWritten */
export const insertUsedApproval = async (tx: Tx, row: UsedApproval): Promise<RowImage | null> => {
  const { approvalId, projectId, policyId, requestHash, expiresAt, expiresInSeconds } = row
  const meant = { approvalId, projectId, policyId, requestHash }
  const { rows } = await tx.execute<Returned>(sql`
    insert into public.used_approvals (approval_id, project_id, policy_id, request_hash)
    select ${approvalId}::uuid, ${projectId}::uuid, ${policyId}::uuid, ${requestHash}::bytea
    where ${expiresAt.toISOString()}::timestamptz > clock_timestamp()
      and ${expiresAt.toISOString()}::timestamptz <= clock_timestamp() + make_interval(secs => ${expiresInSeconds})
    on conflict do nothing
    returning approval_id as "approvalId", project_id as "projectId", policy_id as "policyId", request_hash as "requestHash",
      pg_catalog.to_jsonb(used_approvals)::text as image`)
  return provenImage(usedApprovals, meant, rows)
}
