// The audit: one append-only row for each use of a key, change of a credential or act of an operator, committed with its
// effect. Each row has a MAC over all its fields with HKDF(SERVICE_KEY, "audit"). So nobody without the service key can add
// or change a row unnoticed.

import { timingSafeEqual } from 'node:crypto'
import type { Db, Tx } from '../../db/client.ts'
import { type AuditRow, commitAuditRows, insertAuditRows } from '../../db/queries/custody/audit.ts'
import type { AuditAction } from '../../db/words.ts'
import { createBatcher } from '../queue.ts'
import type { Sealer } from './sealer.ts'
import { encodeFields } from './sealing/bytes.ts'
import { hmac } from './sealing/kdf.ts'

const ROWS_A_COMMIT_MAX = 500

/** What was done. `details` holds ids, hashes and words: never a credential, a key or a message to sign. */
export type AuditEntry = { readonly action: AuditAction; readonly details: Readonly<Record<string, string>> }

export type AuditAct = AuditEntry & {
  /** null for what concerns the whole deployment. */
  readonly projectId: string | null
  /** `api_key:<id>`, `user:<id>`, `operator`, `system`, or of a security event `stranger`. */
  readonly actor: string
  /** What it was done to: a wallet's id, a project's, an API key's, an owner's. */
  readonly subject: string
}

export type Audit = {
  /** Writes rows in the transaction of their effect. */
  record(tx: Tx, ...acts: readonly AuditAct[]): Promise<void>
  /** Commits rows of their own, together with those of concurrent requests, and returns when they are durable. */
  commit(...acts: readonly AuditAct[]): Promise<void>
}

type Row = AuditAct & { readonly at: Date }

/** Details are sorted by name, as a JSON column does not keep their order. */
const macOf = (key: Uint8Array, row: Row): Uint8Array => {
  const details = Object.entries(row.details).sort(([a], [b]) => (a < b ? -1 : 1))
  const fields = [row.projectId ?? '', row.at.toISOString(), row.actor, row.action, row.subject, ...details.flat()]
  return hmac({ key, message: encodeFields(fields) })
}

/** Whoever edits the column can put any JSON there, and a list of texts would have the same MAC as an object. */
const isDetails = (details: unknown): boolean =>
  typeof details === 'object' &&
  details !== null &&
  !Array.isArray(details) &&
  Object.values(details).every((detail) => typeof detail === 'string')

/** Checks that a row is as a process with the service key wrote it. */
export const auditVerifier = (sealer: Sealer): ((row: AuditRow) => boolean) => {
  const key = sealer.derive('audit')
  return ({ mac, projectId = null, ...row }) => {
    if (!isDetails(row.details)) return false
    const expected = macOf(key, { ...row, projectId })
    return mac.length === expected.length && timingSafeEqual(mac, expected)
  }
}

export const createAudit = (input: {
  readonly db: Db
  readonly sealer: Sealer
  readonly now: () => Date
  /** Gets rows when they are committed. */
  readonly onCommitted?: (rows: readonly AuditRow[]) => void
}): Audit => {
  const { onCommitted = () => {} } = input
  const key = input.sealer.derive('audit')
  const complete = (act: AuditAct): AuditRow => {
    const { projectId, actor, action, subject, details } = act
    const row = { projectId, actor, action, subject, details, at: input.now() }
    return { ...row, mac: macOf(key, row) }
  }
  const commit = createBatcher({
    sizeMax: ROWS_A_COMMIT_MAX,
    run: (together: readonly (readonly AuditRow[])[]) => commitAuditRows(input.db, together.flat()),
  })
  return {
    record: async (tx, ...acts) => {
      const rows = acts.map(complete)
      await insertAuditRows(tx, rows)
      tx.afterCommit(() => onCommitted(rows))
    },
    commit: async (...acts) => {
      const rows = acts.map(complete)
      await commit(rows)
      onCommitted(rows)
    },
  }
}
