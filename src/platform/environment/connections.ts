import type { HasDb } from '../../../db/client.ts'
import { readConnections } from '../../../db/queries/server.ts'
import type { HasLog } from '../process/log.ts'

/**
 * Logs how many connections to the database this process may take, and warns if PostgreSQL has fewer.
 * @param most of all pools of the process together.
 */
export const logConnections = async (ctx: HasDb & HasLog, most: number): Promise<void> => {
  const { usable, free } = await readConnections(ctx.db)
  const facts = { most, usable, free }
  if (most <= free) return ctx.log.info(facts, 'connections to the database that this process may take')
  ctx.log.warn(
    facts,
    'this process may take more connections than PostgreSQL has free: raise its max_connections, or lower DATABASE_MAX_CONNECTIONS',
  )
}
