// What worker processes keep of themselves.

import { bigint, doublePrecision, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { access } from '../access.ts'
import { instant, now } from '../columns.ts'
import type { CounterName, HistogramName } from '../words.ts'

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

/**
 * What was counted, as differences: whoever does what is counted inserts a row in the same database transaction, so that
 * nobody waits for a counter and what is rolled back was not counted. A total is the sum of its rows; a job replaces rows
 * by their sums. The names have no CHECK: no payment may fail for how a metric is called.
 */
export const counts = pgTable('counts', {
  id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  name: text('name').$type<CounterName | HistogramName>().notNull(),
  labels: jsonb('labels').$type<Record<string, string>>().notNull(),
  amount: doublePrecision('amount').notNull(),
})

export const countsAccess = access(counts, { api: 'select, insert', worker: 'select, insert, delete' })
