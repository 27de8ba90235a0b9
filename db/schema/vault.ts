// Sealed keys, what opens them, and their wallets. Other roles than the vault's reach only `wallets`.

import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { access, bytes, editedInstant, instant, now, oneOf, uint256 } from '../tables.ts'
import { CONTROL_MODES, KEYRING_KINDS, type RuleOperator, USER_SECRET_KINDS, WALLET_TYPES } from '../words.ts'
import { networkName } from './networks.ts'
import { projectId } from './projects.ts'

/** `value` as the caller wrote it: an address, an integer in decimal digits or 0x hex, or a text. */
type ArgumentRule = {
  readonly argument: string
  readonly operator: RuleOperator
  readonly value: string
  readonly selector?: string
  readonly declaration?: string
}

/** Amounts are decimal digits. `perSeconds`: within any time of that length; null: in all. */
type TokenLimit = {
  /** Canonical. */
  readonly contractAddress: string
  readonly maxTotal: string
  readonly perSeconds: number | null
}

/** Within any time of `perSeconds`. */
type RollingLimit = {
  readonly perSeconds: number
  readonly maxTotalValue: string | null
  readonly maxUses: number | null
}

/** What one limit has counted: amounts by time slots, oldest first. */
type LimitCount = readonly (readonly [slot: number, amount: string])[]

/** Who must approve each use of a policy: `of` different users among the approvers. */
type RequiredApproval = {
  readonly of: number
  readonly expiresInSeconds: number
  /** Each is one passkey: the credential's id and its public key (SubjectPublicKeyInfo, DER), in base64url. */
  readonly approvers: readonly {
    readonly userId: string
    readonly rpId: string
    readonly credentialId: string
    readonly publicKey: string
  }[]
}

/** The one key of the vault for what belongs to no project, wrapped by the root key that `deployment` names. */
export const deploymentKey = pgTable(
  'deployment_key',
  { id: smallint('id').primaryKey().default(1), wrapped: bytes('wrapped').notNull() },
  (table) => [check('deployment_key_single', sql`${table.id} = 1`)],
)

export const deploymentKeyAccess = access(deploymentKey, { vault: 'select, insert, update (wrapped)' })

/** The project key wrapped by the root key; one row for each version. */
export const projectKeys = pgTable(
  'project_keys',
  {
    projectId: projectId(),
    version: integer('version').notNull(),
    rootKeyId: text('root_key_id').notNull(),
    wrapped: bytes('wrapped').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.projectId, table.version] })],
)

export const projectKeysAccess = access(projectKeys, {
  vault: 'select, insert, update (wrapped, root_key_id)',
})

/** The developer key, sealed with the developer's secret: the secret is right if it opens the key. */
export const developerKeys = pgTable('developer_keys', {
  projectId: projectId().primaryKey(),
  sealed: bytes('sealed').notNull(),
  version: integer('version').notNull().default(1),
  updatedAt: instant('updated_at').notNull().default(now),
})

export const developerKeysAccess = access(developerKeys, {
  vault: 'select, insert, update (sealed, version, updated_at)',
})

/** The user key, sealed with the owner's PIN: the PIN is right if it opens the key. */
export const userKeys = pgTable(
  'user_keys',
  {
    projectId: projectId(),
    ownerId: text('owner_id').notNull(),
    /** For argon2id, 16 bytes. */
    salt: bytes('salt').notNull(),
    sealed: bytes('sealed').notNull(),
    version: integer('version').notNull().default(1),
    updatedAt: instant('updated_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.projectId, table.ownerId] })],
)

export const userKeysAccess = access(userKeys, {
  vault: 'select, insert, update (salt, sealed, version, updated_at)',
})

/** The user key, sealed with another secret. No row is deleted, so that an earlier state is known as earlier. */
export const userKeyLocks = pgTable(
  'user_key_locks',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    ownerId: text('owner_id').notNull(),
    kind: text('kind', { enum: USER_SECRET_KINDS }).notNull(),
    /** The caller's name for the passkey; empty for a recovery code. */
    passkeyId: text('passkey_id').notNull(),
    /** null: removed. */
    sealed: bytes('sealed'),
    /** Rises with each secret, and when it is removed. */
    version: integer('version').notNull(),
    updatedAt: instant('updated_at').notNull().default(now),
  },
  (table) => [
    unique('user_key_locks_one').on(table.projectId, table.ownerId, table.kind, table.passkeyId),
    // For the rotation of a project's key.
    index('user_key_locks_project').on(table.projectId, table.id),
    foreignKey({
      columns: [table.projectId, table.ownerId],
      foreignColumns: [userKeys.projectId, userKeys.ownerId],
      name: 'user_key_locks_user_key',
    }),
    check('user_key_locks_kind', oneOf('kind', USER_SECRET_KINDS)),
    check('user_key_locks_passkey', sql`(${table.kind} = 'passkey') = (${table.passkeyId} <> '')`),
  ],
)

export const userKeyLocksAccess = access(userKeyLocks, {
  vault: 'select, insert, update (sealed, version, updated_at)',
})

/** The guess guard: one row for each owner, charged before a PIN is checked. */
export const pinGuesses = pgTable(
  'pin_guesses',
  {
    projectId: uuid('project_id').notNull(),
    ownerId: text('owner_id').notNull(),
    /** Wrong PINs in a row, and in all. */
    fails: integer('fails').notNull().default(0),
    total: integer('total').notNull().default(0),
    lockedUntil: instant('locked_until'),
    /** How often the fields above have changed. */
    revision: bigint('revision', { mode: 'number' }).notNull().default(0),
    /** A MAC of the fields above, under a key that the database does not have. */
    mac: bytes('mac').notNull(),
    lease: uuid('lease'),
    leaseUntil: instant('lease_until'),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.ownerId] }),
    foreignKey({
      columns: [table.projectId, table.ownerId],
      foreignColumns: [userKeys.projectId, userKeys.ownerId],
      name: 'pin_guesses_user_key',
    }),
    check('pin_guesses_bounds', sql`fails >= 0 and fails <= 5 and total >= 0 and total <= 100`),
  ],
)

export const pinGuessesAccess = access(pinGuesses, {
  vault: 'select, insert, update (fails, total, locked_until, revision, mac, lease, lease_until)',
})

export const keyrings = pgTable(
  'keyrings',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    ownerId: text('owner_id').notNull(),
    kind: text('kind', { enum: KEYRING_KINDS }).notNull(),
    /** The seed's entropy or the imported key, in a lock of all control modes together. */
    sealed: bytes('sealed').notNull(),
    /** Imported by a caller: its addresses may have moved assets before. */
    imported: boolean('imported').notNull().default(false),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    uniqueIndex('keyrings_one_seed').on(table.projectId, table.ownerId).where(sql`${table.kind} = 'seed'`),
    index('keyrings_project').on(table.projectId),
    check('keyrings_kind', oneOf('kind', KEYRING_KINDS)),
  ],
)

const keyringId = () =>
  uuid('keyring_id')
    .notNull()
    .references(() => keyrings.id)

export const keyringsAccess = access(keyrings, { vault: 'select, insert, update (sealed)' })

/** One credential's way to the wallets of its control mode. */
export const ownerLocks = pgTable(
  'owner_locks',
  {
    id: uuid('id').primaryKey(),
    keyringId: keyringId(),
    controlMode: text('control_mode', { enum: CONTROL_MODES }).notNull(),
    /** The control key. */
    sealed: bytes('sealed').notNull(),
    /** The seed's private keys, one for each family, sealed with the control key; null if the keyring is not a seed. */
    familyKeys: bytes('family_keys'),
    /** Only policies open the mode's wallets, and the credential alone does not. */
    policiesOnly: boolean('policies_only').notNull().default(false),
    /** Rises by one with each change of `policies_only`. */
    version: integer('version').notNull().default(1),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    unique('owner_locks_one_a_mode').on(table.keyringId, table.controlMode),
    check('owner_locks_control_mode', oneOf('control_mode', CONTROL_MODES)),
  ],
)

export const ownerLocksAccess = access(ownerLocks, {
  vault: 'select, insert, update (sealed, policies_only, version)',
})

export const wallets = pgTable(
  'wallets',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    network: networkName(),
    ownerId: text('owner_id').notNull(),
    name: text('name').notNull(),
    /** Canonical: EIP-55 or SS58 with the network's prefix. */
    address: text('address').notNull(),
    controlMode: text('control_mode', { enum: CONTROL_MODES }).notNull(),
    type: text('type', { enum: WALLET_TYPES }).notNull(),
    keyringId: keyringId(),
    publicKey: bytes('public_key').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    /** The MAC of src/identity/auth/row-macs.ts. An API serves no row without it. */
    mac: bytes('mac').notNull(),
  },
  (table) => [
    unique('wallets_one_a_network').on(table.projectId, table.network, table.ownerId),
    unique('wallets_address').on(table.projectId, table.network, table.address),
    index('wallets_watched').on(table.network, table.address),
    index('wallets_listed').on(table.projectId, table.network, table.createdAt, table.id),
    check('wallets_control_mode', oneOf('control_mode', CONTROL_MODES)),
    check('wallets_type', oneOf('type', WALLET_TYPES)),
  ],
)

export const walletId = () =>
  uuid('wallet_id')
    .notNull()
    .references(() => wallets.id)

export const walletsAccess = access(wallets, {
  api: 'select, insert',
  vault: 'select',
  worker: 'select',
  console: 'select',
})

/**
 * The wallet's derived private key, sealed with its wallet key. Signing opens this and not the seed. The vault writes
 * it before the row of `wallets` is written; if that never happens, no caller knows the address.
 */
export const walletKeys = pgTable(
  'wallet_keys',
  {
    walletId: uuid('wallet_id').primaryKey(),
    keyringId: keyringId(),
    network: networkName(),
    controlMode: text('control_mode', { enum: CONTROL_MODES }).notNull(),
    publicKey: bytes('public_key').notNull(),
    sealed: bytes('sealed').notNull(),
  },
  () => [check('wallet_keys_control_mode', oneOf('control_mode', CONTROL_MODES))],
)

export const walletKeysAccess = access(walletKeys, { vault: 'select, insert' })

/** What the owner of a user-controlled wallet lets the developer do with it, without the PIN. */
export const policies = pgTable(
  'policies',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    network: networkName(),
    walletId: uuid('wallet_id')
      .notNull()
      .references(() => walletKeys.walletId),
    name: text('name').notNull(),
    /** All of them must match. */
    argumentRules: jsonb('argument_rules').$type<readonly ArgumentRule[]>().notNull(),
    expiresAt: editedInstant('expires_at'),
    /** In base units of the native coin: the most that all uses together may send. */
    maxTotalValue: uint256('max_total_value'),
    maxUses: integer('max_uses'),
    /** In base units: the most that all uses together may pay in fees. */
    maxTotalFee: uint256('max_total_fee').notNull(),
    tokenLimits: jsonb('token_limits').$type<readonly TokenLimit[]>().notNull().default([]),
    rollingLimits: jsonb('rolling_limits').$type<readonly RollingLimit[]>().notNull().default([]),
    requireApproval: jsonb('require_approval').$type<RequiredApproval>(),
    spentFee: uint256('spent_fee').notNull().default(sql`0`),
    spentValue: uint256('spent_value').notNull().default(sql`0`),
    uses: bigint('uses', { mode: 'number' }).notNull().default(0),
    /** The limits' counts, in the order of src/vault/language/policy-limits.ts; empty before the first use. */
    limitCounts: jsonb('limit_counts').$type<readonly LimitCount[]>().notNull().default([]),
    /** A MAC of the uses and of what was spent, under a key that the database does not have. A revocation erases it. */
    mac: bytes('mac'),
    createdAt: instant('created_at').notNull().default(now),
    /** When the terms changed; a use does not change this. */
    updatedAt: instant('updated_at').notNull().default(now),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    index('policies_of_wallet').on(table.walletId, table.createdAt, table.id).where(sql`${table.revokedAt} is null`),
    index('policies_listed')
      .on(table.projectId, table.network, table.createdAt, table.id)
      .where(sql`${table.revokedAt} is null`),
    check(
      'policies_rules',
      sql`jsonb_typeof(${table.argumentRules}) = 'array' and ${table.argumentRules} <> '[]'::jsonb`,
    ),
    check(
      'policies_limits',
      sql`${table.spentValue} >= 0 and ${table.spentFee} >= 0 and ${table.spentFee} <= ${table.maxTotalFee} and ${table.uses} >= 0 and ${table.spentValue} <= coalesce(${table.maxTotalValue}, ${table.spentValue}) and ${table.uses} <= coalesce(${table.maxUses}, ${table.uses})`,
    ),
  ],
)

export const policiesAccess = access(policies, {
  vault: 'select, insert, update (uses, spent_value, spent_fee, limit_counts, mac, updated_at, revoked_at)',
})

/** Opens one wallet's key, and nothing else, for the developer. Deleted with the policy. */
export const policyLocks = pgTable('policy_locks', {
  id: uuid('id').primaryKey(),
  policyId: uuid('policy_id')
    .notNull()
    .unique()
    .references(() => policies.id),
  sealed: bytes('sealed').notNull(),
  createdAt: instant('created_at').notNull().default(now),
})

export const policyLocksAccess = access(policyLocks, {
  vault: 'select, insert, update (sealed), delete',
})

export const usedApprovals = pgTable('used_approvals', {
  approvalId: uuid('approval_id').primaryKey(),
  projectId: projectId(),
  policyId: uuid('policy_id')
    .notNull()
    .references(() => policies.id),
  /** SHA-256 of the approved request. */
  requestHash: bytes('request_hash').notNull(),
  usedAt: instant('used_at').notNull().default(now),
})

export const usedApprovalsAccess = access(usedApprovals, { vault: 'select, insert' })

/** How much of each vault's journal is in this database. A restored database knows less than the journal has. */
export const vaultJournals = pgTable('vault_journals', {
  id: uuid('id').primaryKey(),
  /** How many of its records, and the start of the server on which they were compared with the tables. */
  records: bigint('records', { mode: 'number' }).notNull(),
  server: text('server').notNull(),
  updatedAt: instant('updated_at').notNull().default(now),
  /** When an operator said that its vault is gone for good; its vault takes that back. */
  retiredAt: instant('retired_at'),
})

export const vaultJournalsAccess = access(vaultJournals, {
  vault: 'select, insert, update (records, server, updated_at, retired_at)',
})
