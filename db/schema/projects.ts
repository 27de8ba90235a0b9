// The deployment, its projects and their API keys.

import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, json, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core'
import { access, bytes, instant, now, oneOf } from '../tables.ts'
import { API_KEY_SCOPES, ENVIRONMENTS, SECRETS } from '../words.ts'

/** The one row that binds this database to an environment and its keys. */
export const deployment = pgTable(
  'deployment',
  {
    id: smallint('id').primaryKey().default(1),
    environment: text('environment', { enum: ENVIRONMENTS }).notNull(),
    /** The names of the keys. Those of the API are null until the first API has started. */
    rootKeyId: text('root_key_id').notNull(),
    serviceKeyId: text('service_key_id'),
    identityKeyId: text('identity_key_id'),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    check('deployment_single', sql`${table.id} = 1`),
    check('deployment_environment', oneOf('environment', ENVIRONMENTS)),
  ],
)

export const deploymentAccess = access(deployment, {
  api: 'select, update (service_key_id, identity_key_id)',
  vault: 'select, insert, update (root_key_id)',
  worker: 'select',
  console: 'select',
})

/**
 * What is kept of a service key or an identity key that was changed: keys that were derived from it, to verify what it
 * made. They are sealed with the present key. Only the owner of the database writes here.
 */
export const retiredKeys = pgTable(
  'retired_keys',
  {
    keyId: text('key_id').notNull(),
    secret: text('secret', { enum: SECRETS }).notNull(),
    /** What the derived key is for, as in src/platform/sealing/sealer.ts. */
    purpose: text('purpose').notNull(),
    /** null: the key was lost. */
    sealed: bytes('sealed'),
    /** Later rows of the audit are not the key's. */
    lastAuditId: bigint('last_audit_id', { mode: 'bigint' }).notNull(),
    retiredAt: instant('retired_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.keyId, table.purpose] }),
    check('retired_keys_secret', oneOf('secret', SECRETS)),
  ],
)

export const retiredKeysAccess = access(retiredKeys, {
  api: 'select',
  console: 'select',
  worker: 'select (key_id)',
})

export const projects = pgTable('projects', {
  id: uuid('id').primaryKey().defaultRandom(),
  name: text('name').notNull(),
  allowedOrigins: text('allowed_origins').array().notNull().default(sql`'{}'`),
  /** Where its users may return to after a login: whole addresses. */
  returnAddresses: text('return_addresses').array().notNull().default(sql`'{}'`),
  /** The WebAuthn RP ID of its users' passkeys; null: the host of the requesting page. */
  passkeyRpId: text('passkey_rp_id'),
  /** Whether a new user may log in without any proof. */
  anonymousLogin: boolean('anonymous_login').notNull().default(false),
  createdAt: instant('created_at').notNull().default(now),
  activatedAt: instant('activated_at'),
  /** The MAC of src/identity/auth/row-macs.ts. Without one no user can log in. */
  mac: bytes('mac'),
})

/** A column: the project that a row belongs to. */
export const projectId = () =>
  uuid('project_id')
    .notNull()
    .references(() => projects.id)

export const projectsAccess = access(projects, {
  api: 'select, insert, update',
  vault: 'select (id)',
  worker: 'select',
  console: 'select',
})

export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    projectId: projectId(),
    name: text('name').notNull(),
    /** SHA-256 of the key: 256 random bits need no slow hash. */
    hash: bytes('hash').notNull().unique(),
    scopes: text('scopes', { enum: API_KEY_SCOPES }).array().notNull(),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    revokedAt: instant('revoked_at'),
    /** The row's MAC, by src/identity/auth/row-macs.ts; null once the key is revoked. */
    mac: bytes('mac'),
  },
  (table) => [index('api_keys_project').on(table.projectId)],
)

export const apiKeysAccess = access(apiKeys, { api: 'select, insert, update' })

/** The answers to requests with an `Idempotency-Key`, kept for a day. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    projectId: projectId(),
    /** The caller, as the audit names them. */
    principal: text('principal').notNull(),
    /** The path's template. */
    path: text('path').notNull(),
    key: text('key').notNull(),
    /** A MAC over the body without credentials: equal for equal requests, and reveals nothing about them. */
    fingerprint: bytes('fingerprint').notNull(),
    answer: json('answer').notNull(),
    /** Covers all of the row but the time, so that an attacker cannot exchange an answer. */
    mac: bytes('mac').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.principal, table.path, table.key] }),
    index('idempotency_keys_age').on(table.createdAt),
  ],
)

export const idempotencyKeysAccess = access(idempotencyKeys, {
  api: 'select, insert, update',
  workerDeletes: "created_at <= now() - interval '24 hours'",
})
