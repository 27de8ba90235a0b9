// Uses of policies that need approval, and the approvers' decisions. The vault does not rely on them: it verifies the
// assertions itself, and records which approvals were used (`used_approvals`).

import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core'
import { access, bytes, instant, now, oneOf } from '../tables.ts'
import { APPROVAL_DECISIONS } from '../words.ts'
import { projectId } from './projects.ts'
import { walletId } from './vault.ts'

/** A request that waits for approvers, or did. */
export const approvals = pgTable(
  'approvals',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    walletId: walletId(),
    policyId: uuid('policy_id').notNull(),
    /** The caller, as the audit names them. */
    askedBy: text('asked_by').notNull(),
    /** The whole request as canonical JSON. */
    request: text('request').notNull(),
    /** Copied from the policy for lists: how many must approve, and who may. */
    required: smallint('required').notNull(),
    approverIds: uuid('approver_ids').array().notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    rejectedAt: instant('rejected_at'),
    usedAt: instant('used_at'),
    /** When a job found that it had expired unused, for the event of it. Until then `expires_at` alone says so. */
    expiredAt: instant('expired_at'),
  },
  (table) => [
    index('approvals_open')
      .on(table.expiresAt)
      .where(sql`${table.rejectedAt} is null and ${table.usedAt} is null and ${table.expiredAt} is null`),
    index('approvals_listed').on(table.projectId, table.createdAt, table.id),
    index('approvals_of_policy').on(table.policyId, table.createdAt),
    check('approvals_required', sql`${table.required} >= 1`),
  ],
)

export const approvalsAccess = access(approvals, {
  api: 'select, insert, update (rejected_at, used_at)',
  worker: 'select (id, expires_at, rejected_at, used_at, expired_at), update (expired_at)',
  console: 'select',
})

/** An approver's decision, with the assertion of their passkey. */
export const approvalDecisions = pgTable(
  'approval_decisions',
  {
    approvalId: uuid('approval_id')
      .notNull()
      .references(() => approvals.id),
    userId: uuid('user_id').notNull(),
    decision: text('decision', { enum: APPROVAL_DECISIONS }).notNull(),
    credentialId: bytes('credential_id').notNull(),
    clientDataJson: bytes('client_data_json').notNull(),
    authenticatorData: bytes('authenticator_data').notNull(),
    signature: bytes('signature').notNull(),
    decidedAt: instant('decided_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.approvalId, table.userId] }),
    check('approval_decisions_decision', oneOf('decision', APPROVAL_DECISIONS)),
  ],
)

export const approvalDecisionsAccess = access(approvalDecisions, {
  api: 'select, insert, update (decision, credential_id, client_data_json, authenticator_data, signature, decided_at)',
  console: 'select (approval_id, user_id, decision, decided_at)',
})
