// The audit and the freezes.

import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, jsonb, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core'
import { access, bytes, instant, now, oneOf } from '../tables.ts'
import { AUDIT_ACTIONS, type FreezeScope, SECURITY_EVENTS } from '../words.ts'
import { projects } from './projects.ts'

/**
 * Append-only. One row for each use of a key, change of a credential or act of an operator, committed with its effect.
 * Security events of one kind share a row, with their count.
 */
export const audit = pgTable(
  'audit',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** null for acts on the whole deployment. */
    projectId: uuid('project_id').references(() => projects.id),
    at: instant('at').notNull(),
    /** `api_key:<id>`, `user:<id>`, `operator`, `system`, or `stranger` for a security event. */
    actor: text('actor').notNull(),
    action: text('action', { enum: AUDIT_ACTIONS }).notNull(),
    /** The object of the act: the id of a wallet, a project, an API key. */
    subject: text('subject').notNull(),
    /** `transaction` is the id of the transaction that an act is about. */
    details: jsonb('details').$type<Record<string, string>>().notNull(),
    /** HMAC-SHA-256 of the row, under a key of its writers (src/platform/audit/audit.ts). */
    mac: bytes('mac').notNull(),
  },
  (table) => [
    index('audit_project').on(table.projectId, table.id),
    // Rows come in the order of their time, more or less: an index of a few kilobytes finds those of a time.
    index('audit_at').using('brin', table.at).with({ autosummarize: true }),
    index('audit_security').on(table.id).where(oneOf('action', SECURITY_EVENTS)),
    index('audit_transaction').on(sql`(details->>'transaction')`).where(sql`details->>'transaction' is not null`),
    index('audit_mortal_signatures')
      .on(table.projectId, sql`(details->>'hash')`)
      .where(sql`details->>'valid_until_block' is not null`),
    check('audit_action', oneOf('action', AUDIT_ACTIONS)),
    // Vaults read every row to chain it, also rows that another process wrote. The text is measured, since a stored
    // value may be compressed.
    check(
      'audit_size',
      sql`octet_length(${table.details}::text) <= 65536 and octet_length(${table.actor}) <= 8192 and octet_length(${table.subject}) <= 8192 and octet_length(${table.mac}) <= 64`,
    ),
  ],
)

export const auditAccess = access(audit, {
  api: 'select, insert',
  vault: 'select, insert',
  worker: 'select, insert',
  console: 'select, insert',
})

/**
 * A hash chain over the audit rows of each project, and over those of the deployment. Vaults append to it about once a
 * second. A change of any row behind a published head is detected.
 */
export const auditChain = pgTable(
  'audit_chain',
  {
    /** A project's id, or `deployment`. */
    chain: text('chain').notNull(),
    /** From 1, without a gap. */
    position: bigint('position', { mode: 'bigint' }).notNull(),
    auditId: bigint('audit_id', { mode: 'bigint' })
      .notNull()
      .references(() => audit.id),
    /** HMAC-SHA-256 of the previous link's head and the row's MAC: 32 bytes. */
    head: bytes('head').notNull(),
    chainedAt: instant('chained_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.chain, table.position] }), unique('audit_chain_once').on(table.auditId)],
)

export const auditChainAccess = access(auditChain, {
  api: 'select (audit_id)',
  vault: 'select, insert',
  console: 'select (audit_id)',
})

/**
 * What a chain had up to a position, signed by a vault: the rows before it may be in an archive
 * (src/vault/rooms/chain/archive.ts).
 */
export const auditCheckpoints = pgTable(
  'audit_checkpoints',
  {
    chain: text('chain').notNull(),
    /** The last position of the archive's file, and the first one. */
    position: bigint('position', { mode: 'bigint' }).notNull(),
    fromPosition: bigint('from_position', { mode: 'bigint' }).notNull(),
    /** All rows up to there are older. */
    before: instant('before').notNull(),
    /** Of the link at `position`: the next one continues it. */
    head: bytes('head').notNull(),
    /** SHA-256 of the file's lines, before they were compressed. */
    linesHash: bytes('lines_hash').notNull(),
    /** SHA-256 of the rows up to `position` that stay in the table. */
    keptHash: bytes('kept_hash').notNull(),
    /** Ed25519: 64 bytes. */
    signature: bytes('signature').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.chain, table.position] })],
)

export const auditCheckpointsAccess = access(auditCheckpoints, {
  vault: 'select, insert',
  // For `cli doctor`: when was it archived?
  api: 'select (before, created_at)',
  console: 'select (before, created_at)',
})

/** `subject`: the id of the project, the owner or the wallet, or the name of the network. */
type Freeze = {
  readonly scope: FreezeScope
  readonly subject: string
  readonly reason: string
  /** ISO 8601. */
  readonly at: string
}

/** What operators have frozen: a list for each project, and one for the networks, frozen for all projects. */
export const freezeLists = pgTable(
  'freeze_lists',
  {
    /** The project's id; of the list of networks the nil UUID. */
    id: uuid('id').primaryKey(),
    freezes: jsonb('freezes').$type<readonly Freeze[]>().notNull(),
    /** Rises by one with each change. */
    version: integer('version').notNull(),
    /** A MAC of the fields above, under a key that the database does not have. */
    mac: bytes('mac').notNull(),
    updatedAt: instant('updated_at').notNull().default(now),
  },
  (table) => [check('freeze_lists_freezes', sql`jsonb_typeof(${table.freezes}) = 'array'`)],
)

export const freezeListsAccess = access(freezeLists, {
  vault: 'select, insert, update (freezes, version, mac, updated_at)',
  api: 'select',
  console: 'select',
})
