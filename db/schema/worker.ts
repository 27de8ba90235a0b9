// What processes keep of themselves.

import { pgTable, text } from 'drizzle-orm/pg-core'
import { access, instant, now } from '../tables.ts'

/**
 * The job pools that were started and not yet found dead. A pool lives while it has a connection and renews `seen_at`
 * (db/queries/processes.ts). Jobs that a dead one had locked are given to other pools.
 */
export const workers = pgTable('workers', {
  id: text('id').primaryKey(),
  applicationName: text('application_name').notNull(),
  startedAt: instant('started_at').notNull().default(now),
  seenAt: instant('seen_at').notNull().default(now),
})

export const workersAccess = access(workers, { worker: 'select, insert, update, delete', views: 'select' })

/** The vault processes that run: each renews `seen_at` every few seconds, and deletes its row when it ends. */
export const vaultProcesses = pgTable('vault_processes', {
  id: text('id').primaryKey(),
  /** Host and process number, for operators. */
  name: text('name').notNull(),
  rootKeyIds: text('root_key_ids').array().notNull(),
  startedAt: instant('started_at').notNull().default(now),
  seenAt: instant('seen_at').notNull().default(now),
})

export const vaultProcessesAccess = access(vaultProcesses, {
  api: 'select',
  vault: 'select, insert, update, delete',
  console: 'select',
})
