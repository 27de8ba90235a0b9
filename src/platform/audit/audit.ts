// The audit: one append-only row for each use of a key, change of a credential or act of an operator, committed with its
// effect. Each row has a MAC over all its fields, under one of three keys; its action says which (db/words.ts).
//
//   custody's actions     HKDF(the deployment's key, "audit")   only vaults have it
//   a worker's            HKDF(SERVICE_KEY, "audit")            APIs, workers and the command line have it
//   all others            HKDF(IDENTITY_KEY, "audit")           APIs and the command line have it
//
// So whoever has only the database cannot add or change a row unnoticed. Only a vault can write a row about what a vault did, and
// a worker cannot write a row of an operator. Two security events come from APIs and from workers: the writer's own key is used.

import type { Db, Tx } from '../../../db/client.ts'
import { type AuditRow, commitAuditRows, insertAuditRows } from '../../../db/queries/custody/audit.ts'
import {
  type ApiAction,
  type AuditAction,
  CUSTODY_ACTIONS,
  type CustodyAction,
  type WorkerAction,
} from '../../../db/words.ts'
import { createBatcher } from '../queue.ts'
import { encodeFields } from '../sealing/bytes.ts'
import { AUDIT_PURPOSE, type Derived, type Sealer, type Verifier } from '../sealing/sealer.ts'
import { part } from '../tracing/timings.ts'

const ROWS_A_COMMIT_MAX = 500

/** What was done. `details` holds ids, hashes and words: never a credential, a key or a message to sign. */
type AuditEntry<Action extends AuditAction = CustodyAction> = {
  readonly action: Action
  readonly details: Readonly<Record<string, string>>
}

export type AuditAct<Action extends AuditAction = CustodyAction> = AuditEntry<Action> & {
  /** null for what concerns the whole deployment. */
  readonly projectId: string | null
  /** `api_key:<id>`, `user:<id>`, `operator`, `system`, or of a security event `stranger`. */
  readonly actor: string
  /** The id of the wallet, project, API key or owner that the action is about. */
  readonly subject: string
}

export type Audit<Action extends AuditAction = CustodyAction> = {
  /** Writes rows in the transaction of their effect. */
  record(tx: Tx, ...acts: readonly AuditAct<Action>[]): Promise<void>
  /** Commits rows of their own, together with those of concurrent requests, and returns when they are durable. */
  commit(...acts: readonly AuditAct<Action>[]): Promise<void>
  /** Writes rows by the statement that also has their effect, unless it writes nothing. @returns what `write` returns */
  commitBy(write: (rows: readonly AuditRow[]) => Promise<boolean>, acts: readonly AuditAct<Action>[]): Promise<boolean>
}

/** For an API's actions that use no wallet's key. */
export type HasAudit = { readonly audit: Audit<ApiAction> }

export type HasWorkerAudit = { readonly audit: Audit<WorkerAction> }

/** Whether a vault writes rows of this action. */
export const isCustodys = (action: AuditAction): action is CustodyAction =>
  CUSTODY_ACTIONS.some((each) => each === action)

type Row = AuditAct<AuditAction> & { readonly at: Date }

/** An edited column may contain any JSON, and a list of texts would have the same fields as an object. */
const isDetails = (details: unknown): boolean =>
  typeof details === 'object' &&
  details !== null &&
  !Array.isArray(details) &&
  Object.values(details).every((detail) => typeof detail === 'string')

/** All fields of a row. Details are sorted by name, as a JSON column does not keep their order; other JSON is one text. */
const fieldsOf = (row: Row): readonly string[] => {
  const details = isDetails(row.details)
    ? Object.entries(row.details).sort(([a], [b]) => (a < b ? -1 : 1))
    : [[JSON.stringify(row.details)]]
  return [row.projectId ?? '', row.at.toISOString(), row.actor, row.action, row.subject, ...details.flat()]
}

/** All fields of a row as bytes. */
export const contentOf = (row: Row): Uint8Array => encodeFields(fieldsOf(row))

/** Checks that a row is as somebody with this key wrote it. */
export const auditVerifierWith =
  (verifies: Verifier): ((row: AuditRow) => boolean) =>
  ({ mac, projectId = null, ...row }) =>
    isDetails(row.details) && verifies(fieldsOf({ ...row, projectId }), mac)

/** Checks that a row is as somebody with the key of its action wrote it. */
export const auditVerifier = (secret: Pick<Derived, 'verifier'>): ((row: AuditRow) => boolean) =>
  auditVerifierWith(secret.verifier(AUDIT_PURPOSE))

type Parts = {
  readonly db: Db
  readonly now: () => Date
  /** Gets rows when they are committed. */
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

/** The audit of a vault. */
export const createCustodyAudit = (parts: Parts & { readonly deploymentKey: Derived }): Audit =>
  createAudit({ ...parts, secret: parts.deploymentKey })

/** The audit of APIs and the command line. */
export const createApiAudit = (parts: Parts & { readonly identity: Sealer }): Audit<ApiAction> =>
  createAudit({ ...parts, secret: parts.identity })

/** The audit of workers. */
export const createWorkerAudit = (parts: Parts & { readonly sealer: Sealer }): Audit<WorkerAction> =>
  createAudit({ ...parts, secret: parts.sealer })
