// What worker processes keep of themselves.

import { pgTable, text } from 'drizzle-orm/pg-core'
import { access } from '../access.ts'
import { instant, now } from '../columns.ts'

/**
 * The job pools that were ever started and not yet found dead: one lives as long as a connection of its name does.
 * The jobs that a dead one had locked are given back.
 */
export const workers = pgTable('workers', {
  id: text('id').primaryKey(),
  applicationName: text('application_name').notNull(),
  startedAt: instant('started_at').notNull().default(now),
})

export const workersAccess = access(workers, { worker: 'select, insert, update, delete', views: 'select' })
