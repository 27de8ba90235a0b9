import { sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { apiProcesses } from '../schema.ts'

/** A process that was not seen for this time has ended, or cannot reach the database. */
const GONE_AFTER_SECONDS = 20

type ApiProcess = Pick<typeof apiProcesses.$inferSelect, 'name' | 'rootKeyIds' | 'startedAt'>

/** Says that an API process runs. By the clock of the database. */
export const seeApiProcess = async (
  db: Pick<Db, 'prepared'>,
  { id, name, rootKeyIds }: { readonly id: string; readonly name: string; readonly rootKeyIds: readonly string[] },
): Promise<void> => {
  await db.prepared`
    insert into public.api_processes (id, name, root_key_ids) values (${id}, ${name}, ${rootKeyIds})
    on conflict (id) do update set seen_at = now()`
}

/** Forgets a process that ends, and those that ended without a word. */
export const forgetApiProcess = async (db: Queryable, id: string): Promise<void> => {
  await db.delete(apiProcesses).where(sql`id = ${id} or seen_at < now() - make_interval(secs => ${GONE_AFTER_SECONDS})`)
}

/** The API processes that run, oldest first. */
export const listApiProcesses = (db: Queryable): Promise<readonly ApiProcess[]> =>
  db
    .select({ name: apiProcesses.name, rootKeyIds: apiProcesses.rootKeyIds, startedAt: apiProcesses.startedAt })
    .from(apiProcesses)
    .where(sql`seen_at >= now() - make_interval(secs => ${GONE_AFTER_SECONDS})`)
    .orderBy(apiProcesses.startedAt, apiProcesses.id)
