// The operators of the console, their passkeys, and what admits their browsers. No row holds a usable token.

import { bigint, boolean, check, index, pgTable, text } from 'drizzle-orm/pg-core'
import { access, bytes, instant, now, oneOf } from '../tables.ts'
import { OPERATOR_ROLES, OPERATOR_TOKEN_KINDS } from '../words.ts'

export const operators = pgTable(
  'operators',
  {
    /** As the audit shows it. */
    name: text('name').primaryKey(),
    role: text('role', { enum: OPERATOR_ROLES }).notNull(),
    createdAt: instant('created_at').notNull().default(now),
    /** The row's MAC, by src/identity/auth/row-macs.ts; likewise below. */
    mac: bytes('mac').notNull(),
  },
  () => [check('operators_role', oneOf('role', OPERATOR_ROLES))],
)

export const operatorsAccess = access(operators, {
  api: 'select, insert, update (role, mac), delete',
  console: 'select',
})

const operatorName = () =>
  text('operator_name')
    .notNull()
    .references(() => operators.name, { onDelete: 'cascade' })

/** WebAuthn credentials (its section 4, "credential record"). */
export const operatorPasskeys = pgTable(
  'operator_passkeys',
  {
    credentialId: bytes('credential_id').primaryKey(),
    operatorName: operatorName(),
    /** COSE_Key. */
    publicKey: bytes('public_key').notNull(),
    signCount: bigint('sign_count', { mode: 'number' }).notNull(),
    backupEligible: boolean('backup_eligible').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    lastUsedAt: instant('last_used_at'),
    mac: bytes('mac').notNull(),
  },
  (table) => [index('operator_passkeys_operator').on(table.operatorName)],
)

export const operatorPasskeysAccess = access(operatorPasskeys, {
  api: 'select',
  console: 'select, insert, update (sign_count, last_used_at)',
})

/**
 * Hashes of random secrets until they expire. `link`: logs in once, and is then deleted. `session`: a browser's cookie.
 * `challenge`: was answered by a passkey, and is kept so that it is not answered again.
 */
export const operatorTokens = pgTable(
  'operator_tokens',
  {
    /** SHA-256 of the secret: 256 random bits need no slow hash. */
    hash: bytes('hash').primaryKey(),
    kind: text('kind', { enum: OPERATOR_TOKEN_KINDS }).notNull(),
    operatorName: operatorName(),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at').notNull(),
    mac: bytes('mac').notNull(),
  },
  (table) => [
    index('operator_tokens_operator').on(table.operatorName),
    index('operator_tokens_expiry').on(table.expiresAt),
    check('operator_tokens_kind', oneOf('kind', OPERATOR_TOKEN_KINDS)),
  ],
)

export const operatorTokensAccess = access(operatorTokens, {
  api: 'select, insert, delete',
  console: 'select, insert, delete',
})
