// Why a statement failed, where it was not the statement's fault.

/**
 * SQLSTATE (PostgreSQL, Appendix A): class 08, server shutting down or starting, database dropped, session or
 * transaction ended because it lasted or was idle for too long, too many connections, a server that may only be read;
 * then those of the system for networks (errno(3), getaddrinfo(3)).
 */
const AWAY_CODE =
  /^(?:08\w{3}|57P0[1-5]|25P0[34]|25006|53300|ECONN\w+|EPIPE|ETIMEDOUT|E?HOSTUNREACH|EHOSTDOWN|ENET\w+|EADDRNOTAVAIL|ENOTFOUND|EAI_\w+)$/
/** Errors of files have these codes, too. */
const CONNECT_CODE = /^(?:ENOENT|EACCES|EPERM)$/
/** A host, or PostgreSQL's Unix socket, to distinguish it from the vault's. */
const CONNECT_ADDRESS = /^[^/]|\/\.s\.PGSQL\.\d+$/
/** pg has no codes for a connection that was lost or could not be opened. */
const AWAY_MESSAGE =
  /^(?:Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed|timeout expired|timeout exceeded when trying to connect|Cannot use a pool after calling end)/

/** PostgreSQL undid the transaction: a lock or an answer took too long, or two transactions collided. */
const BUSY_CODE = /^(?:55P03|57014|40001|40P01)$/
/** No space, memory or other resources left. The transaction is undone. */
const FULL_CODE = /^53[012]00$/

/** `away`: it may have been done or not. `busy` and `full`: nothing was done. */
type DatabaseTrouble = 'away' | 'busy' | 'full'

/** Whether PostgreSQL's socket is missing, or a firewall or the mode of a folder blocks the way. */
const isShutOut = (error: Error, code: string): boolean =>
  CONNECT_CODE.test(code) &&
  'syscall' in error &&
  error.syscall === 'connect' &&
  'address' in error &&
  CONNECT_ADDRESS.test(String(error.address))

/** Why the database could not do its work; null if it could, or refused what was asked. */
export const databaseTrouble = (error: unknown): DatabaseTrouble | null => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = 'code' in at && typeof at.code === 'string' ? at.code : ''
    if (AWAY_CODE.test(code) || AWAY_MESSAGE.test(at.message) || isShutOut(at, code)) return 'away'
    if (BUSY_CODE.test(code)) return 'busy'
    if (FULL_CODE.test(code)) return 'full'
  }
  return null
}

export const isDatabaseAway = (error: unknown): boolean => databaseTrouble(error) === 'away'

/** SQLSTATE, class 22: its data; class 23: its constraints. */
const ROW_CODE = /^2[23]/

/** Whether PostgreSQL failed for another reason than the values of the row: then the next row may fail as well. */
export const isFaultOfDatabase = (error: unknown): boolean => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('severity' in at && 'code' in at) return !ROW_CODE.test(String(at.code))
  }
  return databaseTrouble(error) !== null
}

const violated = (error: unknown, sqlState: string): string | null => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === sqlState && 'constraint' in at && typeof at.constraint === 'string') {
      return at.constraint
    }
  }
  return null
}

/** The name of the unique constraint that was violated, or null. */
export const violatedConstraint = (error: unknown): string | null => violated(error, '23505')

/** Whether a row refers to one that is not there. */
export const isReferenceMissing = (error: unknown): boolean => violated(error, '23503') !== null

/** As PostgreSQL's error for a statement that writes. */
export const readOnlyError = (): Error => Object.assign(new Error('The server is read-only.'), { code: '25006' })
