import type { Db, HasDb } from '../../../db/client.ts'
import { missingColumns, readConnections } from '../../../db/queries/server.ts'
import { NotReadyYet } from '../errors.ts'
import type { HasLog } from '../process/log.ts'
import { describeDatabaseFailure } from './failure.ts'

/** @throws NotReadyYet if the database lacks columns that this version uses. */
export const requireSchema = async (db: Db): Promise<void> => {
  const [first, ...others] = await missingColumns(db)
  if (first === undefined) return
  const further = others.length === 0 ? '' : ` and ${others.length} more`
  throw new NotReadyYet(
    `The database does not have the schema of this version (it lacks ${first}${further}): run "bun run cli db migrate" with this version.`,
  )
}

/** Warns if PostgreSQL has fewer connections than this process may take. @param most of all its pools together. */
export const logConnections = async (ctx: HasDb & HasLog, most: number): Promise<void> => {
  const { usable, free } = await readConnections(ctx.db)
  const facts = { most, usable, free }
  if (most <= free) return ctx.log.info(facts, 'connections to the database that this process may take')
  ctx.log.warn(
    facts,
    'this process may take more connections than PostgreSQL has free: raise its max_connections, or lower DATABASE_MAX_CONNECTIONS',
  )
}

const REMEDY = 'connect to PostgreSQL itself ("The database" in docs/deployment.md)'

/** What is wrong with the connections to PostgreSQL, as one sentence for the operator; null if nothing is. */
export const sessionTrouble = async (db: Pick<Db, 'readSession'>): Promise<string | null> => {
  const { lacks, isShared } = await db.readSession()
  if (isShared)
    return `A proxy between this process and PostgreSQL pools transactions, so what belongs to a session is lost or shared: ${REMEDY}.`
  if (lacks.length === 0) return null
  return `These settings do not hold on connections to PostgreSQL: ${lacks.join(', ')}. A proxy in between drops them, or DATABASE_URL has other "options": ${REMEDY}.`
}

/** @throws Error if the limits of connections do not hold, or statements could meet those of other processes. */
export const requireSession = async (db: Pick<Db, 'readSession'>): Promise<void> => {
  const trouble = await sessionTrouble(db).catch((cause: unknown) => {
    throw new Error(describeDatabaseFailure(cause), { cause })
  })
  if (trouble !== null) throw new Error(trouble)
}
