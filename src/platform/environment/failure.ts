// An error as one sentence for the operator who started a process or a command: the cause, and what to do.

import { databaseTrouble } from '../../../db/trouble.ts'

/** SQLSTATE (PostgreSQL, Appendix A) and the codes of Node for TLS and for files. */
const SENTENCES: readonly (readonly [code: RegExp, sentence: string])[] = [
  [
    /^28P01$/,
    'PostgreSQL refuses the user or the password of DATABASE_URL: correct them, or create the user ("Running it for real" in docs/deployment.md).',
  ],
  [
    /^28000$/,
    'PostgreSQL refuses the connection (pg_hba.conf): allow the user of DATABASE_URL from this machine, and if the server demands TLS, add ?sslmode=verify-full to DATABASE_URL.',
  ],
  [/^3D000$/, 'The database of DATABASE_URL does not exist: correct its name, or create it.'],
  [
    /^(?:42P01|42703|42883|3F000)$/,
    'The database does not have the schema of this version: run "bun run cli db migrate".',
  ],
  [
    /^42501$/,
    'The user of DATABASE_URL has too few rights: it must be in the role strongroom_api for the API and for commands, in strongroom_vault for the vault, in strongroom_worker for the worker, in strongroom_console for the console, and the owner of the database for "db migrate".',
  ],
  [
    /^25006$/,
    'PostgreSQL can only be read: DATABASE_URL must reach the primary, not a standby, and default_transaction_read_only must be off.',
  ],
  [
    /^(?:26000|42P05)$/,
    'A proxy between this process and PostgreSQL pools transactions: connect to PostgreSQL itself ("The database" in docs/deployment.md).',
  ],
  [/^53300$/, 'PostgreSQL has no connection left: raise its max_connections, or lower DATABASE_MAX_CONNECTIONS.'],
  [/^55P03$/, 'Another session has kept a lock for too long: run it again when that has ended.'],
  [/^57P03$/, 'PostgreSQL is starting or shutting down: try again in a moment.'],
  [
    /^(?:ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    "PostgreSQL's TLS certificate is not for the host of DATABASE_URL: use the host's name in the certificate.",
  ],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, "PostgreSQL's TLS certificate is expired or not valid yet: renew it."],
  [
    /^(?:CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_TLS_|ERR_SSL_|EPROTO)/,
    "PostgreSQL's TLS certificate cannot be verified: name the file of its certificate authority in DATABASE_URL (&sslrootcert=/path).",
  ],
]

/** pg has no code for it. */
const NO_TLS = /^The server does not support SSL connections/

/** It has the code of missing rights. */
const FILTERED = /^query would be affected by row-level security policy for table ("[^"]+")$/
/** PostgreSQL's for a malformed packet, and that of poolers for all that they refuse. */
const PROTOCOL_VIOLATION = '08P01'

const AWAY = 'PostgreSQL cannot be reached: check that it runs, and the host and port in DATABASE_URL'

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '')

export const describeDatabaseFailure = (error: unknown): string => {
  let last = ''
  for (let at = error; at instanceof Error; at = at.cause) {
    if (NO_TLS.test(at.message)) {
      return 'PostgreSQL does not offer TLS, which the sslmode of DATABASE_URL demands: switch TLS on at the server.'
    }
    const filtered = FILTERED.exec(at.message)?.[1]
    if (filtered !== undefined) {
      return `Somebody has switched on row-level security for ${filtered}, which would hide its rows: switch it off (alter table … disable row level security), and find out who did that.`
    }
    const code = codeOf(at)
    const sentence = SENTENCES.find(([codes]) => codes.test(code))?.[1]
    if (sentence !== undefined) return sentence
    if (code === PROTOCOL_VIOLATION)
      return `PostgreSQL, or a proxy in between, refuses the connection: "${at.message}". If it is a proxy, connect to PostgreSQL itself ("The database" in docs/deployment.md).`
    last = at.message || code
    if (databaseTrouble(at) === 'away' && !(at.cause instanceof Error)) return `${AWAY} (${code || last}).`
  }
  return last || 'Something failed.'
}

/** drizzle's error for a statement, or one of PostgreSQL. */
const isOfDatabase = (error: Error): boolean => ('query' in error && 'params' in error) || 'severity' in error

/** An error as one sentence, without the values of a failed statement. */
export const explainFailure = (error: unknown): string => {
  if (!(error instanceof Error)) return 'Something failed.'
  if (!isOfDatabase(error)) return error.message || codeOf(error) || error.name
  return describeDatabaseFailure(error)
}
