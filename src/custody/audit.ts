// The audit: one append-only row a use of a key, a change of a credential or an operator's act, committed with its
// effect. Each row carries a MAC under HKDF(SERVICE_KEY, "audit"), over an unambiguous encoding of all its fields: who
// can write to the database but has no service key can neither write a row nor change one without its being found.

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
  /** Writes the row in the transaction of its effect. */
  record(tx: Tx, act: AuditAct): Promise<void>
  /** Commits a row of its own, together with those of concurrent requests, and returns when it is durable. */
  commit(act: AuditAct): Promise<void>
}

type Row = AuditAct & { readonly at: Date }

/** Details in the order of their names: a JSON column does not keep the order in which they were written. */
const macOf = (key: Uint8Array, row: Row): Uint8Array => {
  const details = Object.entries(row.details).sort(([a], [b]) => (a < b ? -1 : 1))
  const fields = [row.projectId ?? '', row.at.toISOString(), row.actor, row.action, row.subject, ...details.flat()]
  return hmac({ key, message: encodeFields(fields) })
}

/** A column of JSON could hold anything by now, and a list of texts would have the MAC of an object. */
const isDetails = (details: unknown): boolean =>
  typeof details === 'object' &&
  details !== null &&
  !Array.isArray(details) &&
  Object.values(details).every((detail) => typeof detail === 'string')

/** Tells whether a row is as it was written, by someone with the service key. */
export const auditVerifier = (sealer: Sealer): ((row: AuditRow) => boolean) => {
  const key = sealer.derive('audit')
  return ({ mac, projectId = null, ...row }) => {
    if (!isDetails(row.details)) return false
    const expected = macOf(key, { ...row, projectId })
    return mac.length === expected.length && timingSafeEqual(mac, expected)
  }
}

export const createAudit = (input: { readonly db: Db; readonly sealer: Sealer; readonly now: () => Date }): Audit => {
  const key = input.sealer.derive('audit')
  const complete = (act: AuditAct): AuditRow => {
    const { projectId, actor, action, subject, details } = act
    const row = { projectId, actor, action, subject, details, at: input.now() }
    return { ...row, mac: macOf(key, row) }
  }
  const commit = createBatcher({
    sizeMax: ROWS_A_COMMIT_MAX,
    run: (rows: readonly AuditRow[]) => commitAuditRows(input.db, rows),
  })
  return {
    record: (tx, act) => insertAuditRows(tx, [complete(act)]),
    commit: (act) => commit(complete(act)),
  }
}
