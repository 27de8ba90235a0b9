import { sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { vaultProcesses } from '../schema.ts'

/** A process that was not seen for this time has ended, or cannot reach the database. */
const GONE_AFTER_SECONDS = 20

type VaultProcess = Pick<typeof vaultProcesses.$inferSelect, 'name' | 'rootKeyIds' | 'startedAt'>

/** Says that a vault process runs. By the clock of the database. */
export const seeVaultProcess = async (
  db: Pick<Db, 'prepared'>,
  { id, name, rootKeyIds }: { readonly id: string; readonly name: string; readonly rootKeyIds: readonly string[] },
): Promise<void> => {
  await db.prepared`
    insert into public.vault_processes (id, name, root_key_ids) values (${id}, ${name}, ${rootKeyIds})
    on conflict (id) do update set seen_at = now()`
}

/** Forgets a process that ends, and those that ended without a word. */
export const forgetVaultProcess = async (db: Queryable, id: string): Promise<void> => {
  await db
    .delete(vaultProcesses)
    .where(sql`id = ${id} or seen_at < now() - make_interval(secs => ${GONE_AFTER_SECONDS})`)
}

/** The vault processes that run, oldest first. */
export const listVaultProcesses = (db: Queryable): Promise<readonly VaultProcess[]> =>
  db
    .select({ name: vaultProcesses.name, rootKeyIds: vaultProcesses.rootKeyIds, startedAt: vaultProcesses.startedAt })
    .from(vaultProcesses)
    .where(sql`seen_at >= now() - make_interval(secs => ${GONE_AFTER_SECONDS})`)
    .orderBy(vaultProcesses.startedAt, vaultProcesses.id)
