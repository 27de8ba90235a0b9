// What a project is told: rows that triggers write in the transaction of their cause (db/events.ts).

import { sql } from 'drizzle-orm'
import { bigint, check, index, jsonb, pgTable, smallint, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { access, instant, now } from '../tables.ts'
import { EVENT_TYPES } from '../words.ts'
import { projectId } from './projects.ts'

/** Written without a number, so that writers share no lock. Readers number committed rows in the order of ids. */
export const events = pgTable(
  'events',
  {
    /** The order of writing. Of rows that were caused one after the other, the later one has the higher id. */
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** Without a foreign key, which would lock the project's row for each event. */
    projectId: uuid('project_id').notNull(),
    /** From 1 for each project, without a gap; null until a reader numbers it. Callers see it as the event's id. */
    number: bigint('number', { mode: 'bigint' }),
    type: text('type', { enum: EVENT_TYPES }).notNull(),
    /** The version of the form of `data`. */
    version: smallint('version').notNull().default(1),
    data: jsonb('data').$type<Record<string, unknown>>().notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  // Without checks: only triggers write rows, and PostgreSQL would read the text of each check again for each insert,
  // which takes more than the insert (docs/testing.md, `bench events`).
  (table) => [
    uniqueIndex('events_numbered').on(table.projectId, table.number).where(sql`${table.number} is not null`),
    index('events_unnumbered').on(table.projectId, table.id).where(sql`${table.number} is null`),
  ],
)

// Only triggers write events. No program changes one.

export const eventsAccess = access(events, {
  api: 'select, update (number)',
  worker: 'select, update (number), delete',
})

/** How far each project's events are numbered, and which are deleted. Locked to give numbers and to delete. */
export const eventCounters = pgTable(
  'event_counters',
  {
    projectId: projectId().primaryKey(),
    lastNumber: bigint('last_number', { mode: 'bigint' }).notNull().default(sql`0`),
    /** Events up to this number were deleted. */
    droppedNumber: bigint('dropped_number', { mode: 'bigint' }).notNull().default(sql`0`),
  },
  (table) => [check('event_counters_order', sql`${table.droppedNumber} between 0 and ${table.lastNumber}`)],
)

export const eventCountersAccess = access(eventCounters, {
  api: 'select, insert, update (last_number)',
  worker: 'select, insert, update (last_number, dropped_number)',
})
