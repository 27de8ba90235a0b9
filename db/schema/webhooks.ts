// Where projects get their events, and what was sent there.

import { sql } from 'drizzle-orm'
import { bigint, check, foreignKey, index, integer, pgTable, smallint, text, unique, uuid } from 'drizzle-orm/pg-core'
import { access, bytes, instant, now, oneOf } from '../tables.ts'
import { DELIVERY_STATES, WEBHOOK_ORDERS, WEBHOOK_STATES } from '../words.ts'
import { projectId } from './projects.ts'

/** A URL that gets the events of a project. */
export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    url: text('url').notNull(),
    /** Empty: every type. */
    eventTypes: text('event_types').array().notNull(),
    /** The address that gets a mail when it is disabled; null: none. */
    contactEmail: text('contact_email'),
    /**
     * Its secrets, sealed with the service key for exactly this id, project, URL, types and contact: with other ones
     * they do not open, and nothing is sent (src/events/webhooks/endpoint.ts).
     */
    sealed: bytes('sealed').notNull(),
    order: text('delivery_order', { enum: WEBHOOK_ORDERS }).notNull().default('wallet'),
    state: text('state', { enum: WEBHOOK_STATES }).notNull().default('enabled'),
    disabledAt: instant('disabled_at'),
    /** Why, in words for people. */
    disabledWhy: text('disabled_why'),
    /** The number of the last event for which deliveries were made. */
    cursor: bigint('cursor', { mode: 'bigint' }).notNull(),
    /** Its receiver asked for no request before that (`Retry-After`). */
    pausedUntil: instant('paused_until'),
    /** Failures since the last success. */
    failures: integer('failures').notNull().default(0),
    lastSuccessAt: instant('last_success_at'),
    lastFailureAt: instant('last_failure_at'),
    lastFailure: text('last_failure'),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    unique('webhook_endpoints_project').on(table.projectId, table.id),
    // Lists of operators, read backwards: not `.desc()`, which puts nulls last.
    index('webhook_endpoints_newest').on(table.createdAt, table.id),
    index('webhook_endpoints_troubled').on(table.createdAt, table.id).where(sql`state = 'disabled' or failures > 0`),
    check('webhook_endpoints_state', oneOf('state', WEBHOOK_STATES)),
    check('webhook_endpoints_order', oneOf('delivery_order', WEBHOOK_ORDERS)),
    check('webhook_endpoints_disabled', sql`(state = 'disabled') = (disabled_at is not null)`),
  ],
)

export const webhookEndpointsAccess = access(webhookEndpoints, {
  api: 'select, insert, update, delete',
  worker: `select, update (state, disabled_at, disabled_why, cursor, paused_until, failures, last_success_at, last_failure_at,
    last_failure)`,
  console: 'select, update (state, disabled_at, disabled_why, paused_until, failures)',
})

/** An event for an endpoint, or a test. If the endpoint has an order, each lane's are sent one after the other. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    projectId: uuid('project_id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    /** The event's; null for a test. */
    number: bigint('number', { mode: 'bigint' }),
    /** A wallet, by its network and address; empty for events of no wallet. */
    lane: text('lane').notNull(),
    state: text('state', { enum: DELIVERY_STATES }).notNull().default('waiting'),
    attempts: smallint('attempts').notNull().default(0),
    /** When it began to wait: anew if it is replayed. */
    createdAt: instant('created_at').notNull().default(now),
    /** null while an earlier one of its lane waits. Without an order each one that waits has a time. */
    nextAt: instant('next_at').default(now),
    /** A worker sends it until then; later other workers may. */
    leasedUntil: instant('leased_until'),
    firstTriedAt: instant('first_tried_at'),
    endedAt: instant('ended_at'),
    /** The last answer's. */
    status: smallint('status'),
    failure: text('failure'),
    excerpt: text('excerpt'),
  },
  (table) => [
    unique('webhook_deliveries_event').on(table.endpointId, table.number),
    foreignKey({
      columns: [table.projectId, table.endpointId],
      foreignColumns: [webhookEndpoints.projectId, webhookEndpoints.id],
    }).onDelete('cascade'),
    index('webhook_deliveries_waiting').on(table.endpointId, table.lane, table.number).where(sql`state = 'waiting'`),
    index('webhook_deliveries_due')
      .on(table.endpointId, table.nextAt, table.number)
      .where(sql`state = 'waiting' and next_at is not null`),
    index('webhook_deliveries_leased').on(table.endpointId).where(sql`state = 'waiting' and leased_until is not null`),
    index('webhook_deliveries_oldest')
      .on(table.endpointId, table.createdAt, table.number)
      .where(sql`state = 'waiting'`),
    index('webhook_deliveries_recent').on(table.endpointId, table.createdAt, table.id),
    index('webhook_deliveries_failed').on(table.endpointId, table.createdAt, table.id).where(sql`state = 'failed'`),
    index('webhook_deliveries_ended').on(table.endedAt).where(sql`state <> 'waiting'`),
    check('webhook_deliveries_state', oneOf('state', DELIVERY_STATES)),
  ],
)

export const webhookDeliveriesAccess = access(webhookDeliveries, {
  api: 'select, insert, update, delete',
  worker: 'select, insert, update, delete',
  console: 'select, update (state, attempts, created_at, next_at, first_tried_at, ended_at)',
})
