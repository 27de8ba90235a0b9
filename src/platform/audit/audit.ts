// The audit: one append-only row for each use of a key, change of a credential or act of an operator, committed with
// its effect. Each row has a MAC over all its fields, under one of three keys; its action says which (db/words.ts).
//
//   the vault's actions   HKDF(the deployment's key, "audit")   only vaults have it
//   a worker's            HKDF(SERVICE_KEY, "audit")            APIs, workers and the command line have it
//   all others            HKDF(IDENTITY_KEY, "audit")           APIs and the command line have it
//
// So the database's owner cannot add or change a row unnoticed, only a vault writes what a vault did, and a worker
// writes no row of an operator. APIs and workers write two security events, each with its own key.

import type { Db, Tx } from '../../../db/client.ts'
import { type AuditRow, commitAuditRows, insertAuditRows } from '../../../db/queries/vault/audit.ts'
import {
  type ApiAction,
  type AuditAction,
  VAULT_ACTIONS,
  type VaultAction,
  type WorkerAction,
} from '../../../db/words.ts'
import { createBatcher } from '../queue.ts'
import { encodeFields } from '../sealing/bytes.ts'
import { AUDIT_PURPOSE, type Derived, type Sealer, type Verifier } from '../sealing/sealer.ts'
import { part } from '../tracing/timings.ts'

const ROWS_A_COMMIT_MAX = 500

/** What was done. `details` holds ids, hashes and words: never a credential, a key or a message to sign. */
type AuditEntry<Action extends AuditAction = VaultAction> = {
  readonly action: Action
  readonly details: Readonly<Record<string, string>>
}

export type AuditAct<Action extends AuditAction = VaultAction> = AuditEntry<Action> & {
  /** null for what concerns the whole deployment. */
  readonly projectId: string | null
  /** `api_key:<id>`, `user:<id>`, `operator`, `system`, or of a security event `stranger`. */
  readonly actor: string
  /** The id of the wallet, project, API key or owner that the action is about. */
  readonly subject: string
}

export type Audit<Action extends AuditAction = VaultAction> = {
  /** Writes rows in the transaction of their effect. */
  record(tx: Tx, ...acts: readonly AuditAct<Action>[]): Promise<void>
  /** Commits rows of their own, together with those of concurrent requests, and returns when they are durable. */
  commit(...acts: readonly AuditAct<Action>[]): Promise<void>
  /** Writes the rows by the statement of their effect. @returns what `write` returns: false if it wrote nothing */
  commitBy(write: (rows: readonly AuditRow[]) => Promise<boolean>, acts: readonly AuditAct<Action>[]): Promise<boolean>
}

/** Covers an API's actions that use no wallet's key. */
export type HasAudit = { readonly audit: Audit<ApiAction> }

export type HasWorkerAudit = { readonly audit: Audit<WorkerAction> }

export const isVaultAction = (action: AuditAction): action is VaultAction =>
  VAULT_ACTIONS.some((each) => each === action)

type Row = AuditAct<AuditAction> & { readonly at: Date }

/** An edited column may contain any JSON, and a list of texts would have the same fields as an object. */
const isDetails = (details: unknown): boolean =>
  typeof details === 'object' &&
  details !== null &&
  !Array.isArray(details) &&
  Object.values(details).every((detail) => typeof detail === 'string')

/** Details are sorted by name, as a JSON column does not keep their order. Other JSON is one text. */
const fieldsOf = (row: Row): readonly string[] => {
  const details = isDetails(row.details)
    ? Object.entries(row.details).sort(([a], [b]) => (a < b ? -1 : 1))
    : [[JSON.stringify(row.details)]]
  return [row.projectId ?? '', row.at.toISOString(), row.actor, row.action, row.subject, ...details.flat()]
}

export const contentOf = (row: Row): Uint8Array => encodeFields(fieldsOf(row))

export const auditVerifierWith =
  (verifies: Verifier): ((row: AuditRow) => boolean) =>
  ({ mac, projectId = null, ...row }) =>
    isDetails(row.details) && verifies(fieldsOf({ ...row, projectId }), mac)

export const auditVerifier = (secret: Pick<Derived, 'verifier'>): ((row: AuditRow) => boolean) =>
  auditVerifierWith(secret.verifier(AUDIT_PURPOSE))

type Parts = {
  readonly db: Db
  readonly now: () => Date
  readonly onCommitted?: (rows: readonly AuditRow[]) => void
}

const createAudit = <Action extends AuditAction>(
  parts: Parts & { readonly secret: Pick<Derived, 'authenticator'> },
): Audit<Action> => {
  const { db, now, secret, onCommitted = () => {} } = parts
  const authenticate = secret.authenticator(AUDIT_PURPOSE)
  const complete = (act: AuditAct<Action>): AuditRow => {
    const { projectId, actor, action, subject, details } = act
    const row = { projectId, actor, action, subject, details, at: now() }
    return { ...row, mac: authenticate(fieldsOf(row)) }
  }
  const commit = createBatcher({
    sizeMax: ROWS_A_COMMIT_MAX,
    run: (together: readonly (readonly AuditRow[])[]) => commitAuditRows(db, together.flat()),
  })
  return {
    record: async (tx, ...acts) => {
      const rows = acts.map(complete)
      await insertAuditRows(tx, rows)
      tx.afterCommit(() => onCommitted(rows))
    },
    commit: async (...acts) => {
      const rows = acts.map(complete)
      await part('audit', () => commit(rows))
      onCommitted(rows)
    },
    commitBy: async (write, acts) => {
      const rows = acts.map(complete)
      const isWritten = await write(rows)
      if (isWritten) onCommitted(rows)
      return isWritten
    },
  }
}

export const createVaultAudit = (parts: Parts & { readonly deploymentKey: Derived }): Audit =>
  createAudit({ ...parts, secret: parts.deploymentKey })

export const createApiAudit = (parts: Parts & { readonly identity: Sealer }): Audit<ApiAction> =>
  createAudit({ ...parts, secret: parts.identity })

export const createWorkerAudit = (parts: Parts & { readonly sealer: Sealer }): Audit<WorkerAction> =>
  createAudit({ ...parts, secret: parts.sealer })
