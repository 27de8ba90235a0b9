import type { Db } from '../../../db/client.ts'
import { databaseSentenceOf } from './failure.ts'

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
    throw new Error(databaseSentenceOf(cause), { cause })
  })
  if (trouble !== null) throw new Error(trouble)
}
