// Every table of Strongroom. What an operator reads, so names are the glossary's words.

import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  doublePrecision,
  foreignKey,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { bytes, instant, uint256 } from './columns.ts'
import {
  ABI_ITEM_KINDS,
  API_KEY_SCOPES,
  ASSET_STANDARDS,
  ATTEMPT_KINDS,
  AUDIT_ACTIONS,
  CONTROL_MODES,
  type CounterName,
  CURSOR_PURPOSES,
  EMAIL_CODE_PURPOSES,
  ENVIRONMENTS,
  FREEZE_SCOPES,
  GIVE_UPS,
  HINDRANCES,
  type HistogramName,
  KEYRING_KINDS,
  LOGIN_WAYS,
  NETWORKS,
  NONCE_KINDS,
  type RuleOperator,
  SECURITY_EVENTS,
  SESSION_ENDS,
  TRANSACTION_KINDS,
  TRANSACTION_STATUSES,
  WALLET_TYPES,
} from './words.ts'

type AbiInput = { readonly name: string; readonly type: string; readonly components?: readonly AbiInput[] }
type AbiItem = { readonly name: string; readonly inputs: readonly AbiInput[] }

/** `value` as the caller wrote it: an address, an integer in decimal digits or 0x hex, or a text. */
type ArgumentRule = { readonly argument: string; readonly operator: RuleOperator; readonly value: string }

/** A closed list is text with a CHECK: a new word is then one migration, without an ALTER TYPE. */
const oneOf = (column: string, words: readonly string[]) =>
  sql.raw(`"${column}" in (${words.map((word) => `'${word}'`).join(', ')})`)

const now = sql`now()`

/** The one row that binds this database to an environment, its chains and its keys. */
export const deployment = pgTable(
  'deployment',
  {
    id: smallint('id').primaryKey().default(1),
    environment: text('environment', { enum: ENVIRONMENTS }).notNull(),
    chainIds: jsonb('chain_ids').$type<Record<string, number>>().notNull(),
    rootKeyId: text('root_key_id').notNull(),
    rootKeyCheck: bytes('root_key_check').notNull(),
    serviceKeyCheck: bytes('service_key_check').notNull(),
    identityKeyCheck: bytes('identity_key_check').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    check('deployment_single', sql`${table.id} = 1`),
    check('deployment_environment', oneOf('environment', ENVIRONMENTS)),
  ],
)

export const projects = pgTable('projects', {
  id: uuid('id').primaryKey().defaultRandom(),
  name: text('name').notNull(),
  allowedOrigins: text('allowed_origins').array().notNull().default(sql`'{}'`),
  /** The WebAuthn RP ID of its users' passkeys; null: the host of the page that asks. */
  passkeyRpId: text('passkey_rp_id'),
  /** Whether anybody may begin as a new user without a proof. */
  anonymousLogin: boolean('anonymous_login').notNull().default(false),
  createdAt: instant('created_at').notNull().default(now),
  activatedAt: instant('activated_at'),
})

export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    name: text('name').notNull(),
    /** SHA-256 of the key: 256 random bits need no slow hash. */
    hash: bytes('hash').notNull().unique(),
    scopes: text('scopes', { enum: API_KEY_SCOPES }).array().notNull(),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    revokedAt: instant('revoked_at'),
  },
  (table) => [index('api_keys_project').on(table.projectId)],
)

// Custody. The worker's role can read none of the tables up to `audit`.

/** The project key wrapped by the root key; one row a version. */
export const projectKeys = pgTable(
  'project_keys',
  {
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    version: integer('version').notNull(),
    rootKeyId: text('root_key_id').notNull(),
    wrapped: bytes('wrapped').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.projectId, table.version] })],
)

/** The developer key under the developer's secret: opening it is the check of the secret. */
export const developerKeys = pgTable('developer_keys', {
  projectId: uuid('project_id')
    .primaryKey()
    .references(() => projects.id),
  sealed: bytes('sealed').notNull(),
  version: integer('version').notNull().default(1),
  updatedAt: instant('updated_at').notNull().default(now),
})

/** The user key under the owner's PIN: opening it is the check of the PIN. */
export const userKeys = pgTable(
  'user_keys',
  {
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    ownerId: text('owner_id').notNull(),
    /** For argon2id, 16 bytes. */
    salt: bytes('salt').notNull(),
    sealed: bytes('sealed').notNull(),
    version: integer('version').notNull().default(1),
    updatedAt: instant('updated_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.projectId, table.ownerId] })],
)

/** The PIN guess guard: one row an owner, charged before a PIN is looked at. */
export const pinGuesses = pgTable(
  'pin_guesses',
  {
    projectId: uuid('project_id').notNull(),
    ownerId: text('owner_id').notNull(),
    /** Wrong PINs in a row, and ever. */
    fails: integer('fails').notNull().default(0),
    total: integer('total').notNull().default(0),
    lockedUntil: instant('locked_until'),
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
    check('pin_guesses_bounds', sql`${table.fails} between 0 and 5 and ${table.total} between 0 and 100`),
  ],
)

export const keyrings = pgTable(
  'keyrings',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    ownerId: text('owner_id').notNull(),
    kind: text('kind', { enum: KEYRING_KINDS }).notNull(),
    /** The seed's entropy or the imported key, under the keyring key. */
    sealed: bytes('sealed').notNull(),
    /** Brought by a caller: its addresses may have moved something before we knew them. */
    imported: boolean('imported').notNull().default(false),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    uniqueIndex('keyrings_one_seed').on(table.projectId, table.ownerId).where(sql`${table.kind} = 'seed'`),
    index('keyrings_project').on(table.projectId),
    check('keyrings_kind', oneOf('kind', KEYRING_KINDS)),
  ],
)

/** One credential's way to a keyring key. */
export const ownerLocks = pgTable(
  'owner_locks',
  {
    id: uuid('id').primaryKey(),
    keyringId: uuid('keyring_id')
      .notNull()
      .references(() => keyrings.id),
    controlMode: text('control_mode', { enum: CONTROL_MODES }).notNull(),
    sealed: bytes('sealed').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    unique('owner_locks_one_a_mode').on(table.keyringId, table.controlMode),
    check('owner_locks_control_mode', oneOf('control_mode', CONTROL_MODES)),
  ],
)

export const wallets = pgTable(
  'wallets',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    network: text('network', { enum: NETWORKS }).notNull(),
    ownerId: text('owner_id').notNull(),
    name: text('name').notNull(),
    /** Canonical: EIP-55 or SS58 with the network's prefix. */
    address: text('address').notNull(),
    controlMode: text('control_mode', { enum: CONTROL_MODES }).notNull(),
    type: text('type', { enum: WALLET_TYPES }).notNull(),
    keyringId: uuid('keyring_id')
      .notNull()
      .references(() => keyrings.id),
    publicKey: bytes('public_key').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    unique('wallets_one_a_network').on(table.projectId, table.network, table.ownerId),
    unique('wallets_address').on(table.projectId, table.network, table.address),
    index('wallets_watched').on(table.network, table.address),
    index('wallets_listed').on(table.projectId, table.network, table.createdAt, table.id),
    check('wallets_network', oneOf('network', NETWORKS)),
    check('wallets_control_mode', oneOf('control_mode', CONTROL_MODES)),
    check('wallets_type', oneOf('type', WALLET_TYPES)),
  ],
)

/** The wallet's derived private key under its wallet key: what signing opens, so that no seed is touched. */
export const walletKeys = pgTable('wallet_keys', {
  walletId: uuid('wallet_id')
    .primaryKey()
    .references(() => wallets.id),
  sealed: bytes('sealed').notNull(),
})

/** What the owner of a user-controlled wallet lets the developer do with it, without the PIN. */
export const policies = pgTable(
  'policies',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    network: text('network', { enum: NETWORKS }).notNull(),
    walletId: uuid('wallet_id')
      .notNull()
      .references(() => wallets.id),
    name: text('name').notNull(),
    /** All of them must match. */
    argumentRules: jsonb('argument_rules').$type<readonly ArgumentRule[]>().notNull(),
    expiresAt: instant('expires_at'),
    /** Of the native coin, in base units: the most that all uses together may send. */
    maxTotalValue: uint256('max_total_value'),
    maxUses: integer('max_uses'),
    /** Likewise: the most that all uses together may pay as fees. */
    maxTotalFee: uint256('max_total_fee').notNull(),
    spentFee: uint256('spent_fee').notNull().default(sql`0`),
    spentValue: uint256('spent_value').notNull().default(sql`0`),
    uses: bigint('uses', { mode: 'number' }).notNull().default(0),
    createdAt: instant('created_at').notNull().default(now),
    /** Of what was agreed; a use changes nothing of that. */
    updatedAt: instant('updated_at').notNull().default(now),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    index('policies_of_wallet').on(table.walletId, table.createdAt, table.id).where(sql`${table.revokedAt} is null`),
    index('policies_listed')
      .on(table.projectId, table.network, table.createdAt, table.id)
      .where(sql`${table.revokedAt} is null`),
    check('policies_network', oneOf('network', NETWORKS)),
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

/** The developer's way to one wallet's key, and to nothing else: gone with the policy. */
export const policyLocks = pgTable('policy_locks', {
  id: uuid('id').primaryKey(),
  policyId: uuid('policy_id')
    .notNull()
    .unique()
    .references(() => policies.id),
  sealed: bytes('sealed').notNull(),
  createdAt: instant('created_at').notNull().default(now),
})

/**
 * Append-only: one row a use of a key, a change of a credential or an operator's act, committed with its effect; and for
 * security events one row for many of a kind, with their count.
 */
export const audit = pgTable(
  'audit',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** null for what concerns the whole deployment. */
    projectId: uuid('project_id').references(() => projects.id),
    at: instant('at').notNull(),
    /** `api_key:<id>`, `user:<id>`, `operator`, `system`, or of a security event `stranger`. */
    actor: text('actor').notNull(),
    action: text('action', { enum: AUDIT_ACTIONS }).notNull(),
    /** What it was done to: a wallet's id, a project's, an API key's. */
    subject: text('subject').notNull(),
    details: jsonb('details').$type<Record<string, string>>().notNull(),
    /** HMAC-SHA-256 of the row under HKDF(SERVICE_KEY, "audit"). */
    mac: bytes('mac').notNull(),
  },
  (table) => [
    index('audit_project').on(table.projectId, table.id),
    index('audit_security').on(table.id).where(oneOf('action', SECURITY_EVENTS)),
    index('audit_mortal_signatures')
      .on(table.projectId, sql`(details->>'hash')`)
      .where(sql`details->>'valid_until_block' is not null`),
    check('audit_action', oneOf('action', AUDIT_ACTIONS)),
  ],
)

/**
 * The audit rows of a project, or of the deployment, in their order, each bound to all before it. Written by a job about once a second, and only
 * ever inserted into: whoever changes a row behind a published head is found.
 */
export const auditChain = pgTable(
  'audit_chain',
  {
    /** A project's id, or `deployment` for what concerns all of them. */
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

/** What an operator has frozen: one row a thing, removed when it is released. */
export const freezes = pgTable(
  'freezes',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    scope: text('scope', { enum: FREEZE_SCOPES }).notNull(),
    /** null where a network is frozen for everybody. */
    projectId: uuid('project_id').references(() => projects.id),
    ownerId: text('owner_id'),
    walletId: uuid('wallet_id').references(() => wallets.id),
    network: text('network', { enum: NETWORKS }),
    reason: text('reason').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    unique('freezes_once')
      .on(table.scope, table.projectId, table.ownerId, table.walletId, table.network)
      .nullsNotDistinct(),
    check('freezes_scope', oneOf('scope', FREEZE_SCOPES)),
    check(
      'freezes_names_its_thing',
      sql`case ${table.scope}
        when 'project' then ${table.projectId} is not null and ${table.ownerId} is null and ${table.walletId} is null and ${table.network} is null
        when 'owner' then ${table.projectId} is not null and ${table.ownerId} is not null and ${table.walletId} is null and ${table.network} is null
        when 'wallet' then ${table.projectId} is not null and ${table.ownerId} is null and ${table.walletId} is not null and ${table.network} is null
        else ${table.projectId} is null and ${table.ownerId} is null and ${table.walletId} is null and ${table.network} is not null
      end`,
    ),
  ],
)

// Submission.

/** An actor: locking its row serialises the choice of a nonce. Global, as two projects may hold one key. */
export const signers = pgTable(
  'signers',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    address: text('address').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    /** What the node last said of it while something of it waited, for operators: nothing is decided by these. */
    minedCount: bigint('mined_count', { mode: 'number' }),
    pendingCount: bigint('pending_count', { mode: 'number' }),
    balance: uint256('balance'),
    heardAt: instant('heard_at'),
  },
  (table) => [primaryKey({ columns: [table.network, table.address] })],
)

/** One intent and what became of it. */
export const transactions = pgTable(
  'transactions',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    walletId: uuid('wallet_id')
      .notNull()
      .references(() => wallets.id),
    network: text('network', { enum: NETWORKS }).notNull(),
    signerAddress: text('signer_address').notNull(),
    /** What the signer deploys, or has execute the intent; null where it acts itself. */
    contractWallet: text('contract_wallet'),
    kind: text('kind', { enum: TRANSACTION_KINDS }).notNull(),
    nonce: bigint('nonce', { mode: 'number' }).notNull(),
    /** null for a contract creation. */
    to: text('to'),
    value: uint256('value').notNull(),
    input: text('input').notNull(),
    gasLimit: uint256('gas_limit').notNull(),
    /** The most that its first rung can take from the signer. */
    worstCost: uint256('worst_cost').notNull(),
    status: text('status', { enum: TRANSACTION_STATUSES }).notNull().default('submitted'),
    /** Why it failed. */
    errorCode: text('error_code'),
    error: text('error'),
    /** Live or mined: then no other intent of ours may hold this nonce. */
    holdsNonce: boolean('holds_nonce').notNull().default(true),
    /** Its block can no longer be reorganised away. */
    final: boolean('final').notNull().default(false),
    /** The first block that could take it, and the last one, where its signature says so: a mortal extrinsic of Substrate. */
    bornAtBlock: bigint('born_at_block', { mode: 'bigint' }),
    validUntilBlock: bigint('valid_until_block', { mode: 'bigint' }),
    /** How many rungs the fee ladder has; the cancelling attempt comes after them. */
    rungs: smallint('rungs').notNull(),
    /** The caller fixed a fee: no rung offers more. */
    hasFixedFees: boolean('has_fixed_fees').notNull().default(false),
    /** The ladder ends lower than it would, as the signer could not have paid what is above. */
    isCutByFunds: boolean('is_cut_by_funds').notNull().default(false),
    /** The attempt that is sent: a rung, or `rungs` for the cancel. It only rises. */
    chosen: smallint('chosen').notNull().default(0),
    chosenAt: instant('chosen_at'),
    /** Why the cancel is chosen. */
    givenUp: text('given_up', { enum: GIVE_UPS }),
    /** Since when it is its signer's lowest live nonce and was offered to a node: only then may it climb or expire. */
    clockStartedAt: instant('clock_started_at'),
    /** The hash that is shown: of the attempt last broadcast, then of the mined one. */
    shownHash: text('shown_hash'),
    minedBlockNumber: bigint('mined_block_number', { mode: 'bigint' }),
    minedBlockHash: text('mined_block_hash'),
    contractAddress: text('contract_address'),
    createdAt: instant('created_at').notNull().default(now),
    broadcastAt: instant('broadcast_at'),
    settledAt: instant('settled_at'),
    updatedAt: instant('updated_at').notNull().default(now),
  },
  (table) => [
    foreignKey({
      columns: [table.network, table.signerAddress],
      foreignColumns: [signers.network, signers.address],
      name: 'transactions_signer',
    }),
    uniqueIndex('transactions_one_a_nonce')
      .on(table.network, table.signerAddress, table.nonce)
      .where(sql`${table.holdsNonce}`),
    index('transactions_unfinished').on(table.network, table.updatedAt).where(sql`not ${table.final}`),
    index('transactions_in_a_block')
      .on(table.network, table.minedBlockNumber)
      .where(sql`not ${table.final} and ${table.minedBlockNumber} is not null`),
    index('transactions_untold')
      .on(table.network, table.minedBlockNumber)
      .where(sql`not ${table.final} and ${table.minedBlockNumber} is not null and ${table.settledAt} is null`),
    index('transactions_project').on(table.projectId, table.createdAt),
    index('transactions_mortal')
      .on(table.network, table.validUntilBlock)
      .where(sql`not ${table.final} and ${table.validUntilBlock} is not null`),
    index('transactions_of_contract_wallet')
      .on(table.network, table.contractWallet)
      .where(sql`not ${table.final} and ${table.contractWallet} is not null`),
    index('transactions_deployments').on(table.network, table.contractWallet).where(sql`${table.kind} = 'deployment'`),
    index('transactions_created').on(table.network, table.contractAddress).where(sql`contract_address is not null`),
    check('transactions_kind', oneOf('kind', TRANSACTION_KINDS)),
    check('transactions_status', oneOf('status', TRANSACTION_STATUSES)),
    check('transactions_failed_says_why', sql`(${table.status} = 'failed') = (${table.errorCode} is not null)`),
    check('transactions_chosen', sql`${table.rungs} >= 1 and ${table.chosen} between 0 and ${table.rungs}`),
    check('transactions_given_up', oneOf('given_up', GIVE_UPS)),
    check('transactions_given_up_is_chosen', sql`(${table.chosen} = ${table.rungs}) = (${table.givenUp} is not null)`),
    // A reaped account counts anew: what was final in it holds nothing.
    check(
      'transactions_live_holds_nonce',
      sql`${table.holdsNonce} or ${table.status} = 'failed' or (${table.final} and ${table.validUntilBlock} is not null)`,
    ),
  ],
)

/** One signed encoding of a transaction. `raw` is erased when the nonce is final: it would be a bearer instrument. */
export const attempts = pgTable(
  'attempts',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    hash: text('hash').notNull(),
    transactionId: uuid('transaction_id')
      .notNull()
      .references(() => transactions.id),
    kind: text('kind', { enum: ATTEMPT_KINDS }).notNull(),
    rung: smallint('rung').notNull(),
    raw: text('raw'),
    /** Wei: no block whose base fee is above takes it. null where the runtime sets the fee. */
    maxFeePerGas: uint256('max_fee_per_gas'),
    broadcastAt: instant('broadcast_at'),
    /** What the node last said, where it did not take it. */
    lastError: text('last_error'),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.hash] }),
    unique('attempts_rung').on(table.transactionId, table.kind, table.rung),
    check('attempts_kind', oneOf('kind', ATTEMPT_KINDS)),
  ],
)

// Following the chains.

/** Where a follower of a network stands: everything up to this block is in our tables. */
export const cursors = pgTable(
  'cursors',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    purpose: text('purpose', { enum: CURSOR_PURPOSES }).notNull(),
    blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
    blockHash: text('block_hash').notNull(),
    /** Wei: what the newest block asked for when the tracker last looked; null where the runtime sets fees. */
    baseFeePerGas: uint256('base_fee_per_gas'),
    updatedAt: instant('updated_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.purpose] }),
    check('cursors_purpose', oneOf('purpose', CURSOR_PURPOSES)),
  ],
)

/** The networks that workers follow, and by which rules: written by every worker again and again, for operators. */
export const followedNetworks = pgTable('followed_networks', {
  network: text('network', { enum: NETWORKS }).primaryKey(),
  confirmations: integer('confirmations').notNull(),
  climbAfterSeconds: integer('climb_after_seconds').notNull(),
  expireAfterSeconds: integer('expire_after_seconds').notNull(),
  updatedAt: instant('updated_at').notNull().default(now),
})

/** Hashes of the blocks that are not final yet: how a follower finds where a reorganisation forked off. */
export const seenBlocks = pgTable(
  'seen_blocks',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    purpose: text('purpose', { enum: CURSOR_PURPOSES }).notNull(),
    number: bigint('number', { mode: 'bigint' }).notNull(),
    hash: text('hash').notNull(),
  },
  (table) => [primaryKey({ columns: [table.network, table.purpose, table.number] })],
)

/** One asset's move as one known address sees it: a transfer between two known addresses is two rows. */
export const movements = pgTable(
  'movements',
  {
    /** Follows from what it is of (UUIDv5 over network, transaction, log, item, address and direction): nothing is kept twice. */
    id: uuid('id').primaryKey(),
    network: text('network', { enum: NETWORKS }).notNull(),
    address: text('address').notNull(),
    direction: text('direction', { enum: ['in', 'out'] }).notNull(),
    counterparty: text('counterparty').notNull(),
    standard: text('standard', { enum: ASSET_STANDARDS }).notNull(),
    /** null for the native coin. */
    contract: text('contract'),
    tokenId: uint256('token_id'),
    amount: uint256('amount').notNull(),
    blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
    transactionHash: text('transaction_hash').notNull(),
    logIndex: integer('log_index').notNull(),
    itemIndex: integer('item_index').notNull(),
    at: instant('at').notNull(),
  },
  (table) => [
    // Listed backwards. Not as .desc(): that puts nulls last, and a plain `order by … desc` would not find the index.
    index('movements_listed').on(
      table.network,
      table.address,
      table.blockNumber,
      table.logIndex,
      table.itemIndex,
      table.id,
    ),
    index('movements_block').on(table.network, table.blockNumber),
    // Of these two the last columns are what is added up: a sum over many rows reads the index alone.
    index('movements_held_by')
      .on(table.network, table.address, table.contract, table.tokenId, table.direction, table.amount)
      .where(sql`token_id is not null`),
    index('movements_held_of')
      .on(table.network, table.contract, table.tokenId, table.address, table.direction, table.amount)
      .where(sql`token_id is not null`),
    index('movements_received')
      .on(table.network, table.address, table.contract, table.blockNumber)
      .where(sql`direction = 'in' and token_id is null and contract is not null`),
    check('movements_direction', sql`direction in ('in', 'out')`),
    check('movements_standard', oneOf('standard', ASSET_STANDARDS)),
  ],
)

/**
 * The walks back through what an address moved before it became a wallet's: from where the indexer stood, downwards. One
 * an address, whichever projects have it.
 */
export const backfills = pgTable(
  'backfills',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    address: text('address').notNull(),
    /** The key was made then, and moved nothing before; null for an imported one. */
    keyMadeAt: instant('key_made_at'),
    requestedAt: instant('requested_at').notNull().default(now),
    /** The indexer watches the address in every block above `from_block`. */
    begunAt: instant('begun_at'),
    fromBlock: bigint('from_block', { mode: 'bigint' }),
    /** Everything from here up to `from_block` is in our tables; the coin's movements from the next column on only. */
    reachedBlock: bigint('reached_block', { mode: 'bigint' }),
    coinsReachedBlock: bigint('coins_reached_block', { mode: 'bigint' }),
    /** Those within transactions, which only a node that traces tells, from this one on. */
    tracedReachedBlock: bigint('traced_reached_block', { mode: 'bigint' }),
    /** Why it does not go on, since when, how often it was tried again, and when it will be. All of it ends with the next step. */
    hindrance: text('hindrance', { enum: HINDRANCES }),
    hindranceReason: text('hindrance_reason'),
    hinderedAt: instant('hindered_at'),
    tries: integer('tries').notNull().default(0),
    nextTryAt: instant('next_try_at'),
    doneAt: instant('done_at'),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.address] }),
    index('backfills_begun').on(table.network, table.begunAt),
    index('backfills_open').on(table.requestedAt).where(sql`done_at is null`),
    check('backfills_network', oneOf('network', NETWORKS)),
    check('backfills_begins_whole', sql`num_nonnulls(begun_at, from_block, reached_block) in (0, 3)`),
    check('backfills_hindrance', oneOf('hindrance', HINDRANCES)),
    check(
      'backfills_hindered_whole',
      sql`num_nonnulls(hindrance, hindrance_reason, hindered_at, next_try_at) = case tries when 0 then 0 else 4 end`,
    ),
  ],
)

/**
 * Contracts that did not say of what standard they are when movements of theirs were kept: those of these blocks stand as
 * their events tell them, until the contract is asked again.
 */
export const doubtfulContracts = pgTable(
  'doubtful_contracts',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    contract: text('contract').notNull(),
    fromBlock: bigint('from_block', { mode: 'bigint' }).notNull(),
    toBlock: bigint('to_block', { mode: 'bigint' }).notNull(),
    tries: integer('tries').notNull().default(0),
    nextTryAt: instant('next_try_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.contract] }),
    check('doubtful_contracts_network', oneOf('network', NETWORKS)),
  ],
)

/** What operators added with `abi add`: a row a function or an error, a name a file. */
export const abiItems = pgTable(
  'abi_items',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    abiName: text('abi_name').notNull(),
    /** Both null where it is for every contract of every network. */
    network: text('network', { enum: NETWORKS }),
    address: text('address'),
    kind: text('kind', { enum: ABI_ITEM_KINDS }).notNull(),
    /** `0x` and four bytes. */
    selector: text('selector').notNull(),
    /** `transfer(address,uint256)`. */
    signature: text('signature').notNull(),
    /** `{ name, inputs }`, as a JSON ABI has them. */
    item: jsonb('item').$type<AbiItem>().notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    unique('abi_items_once').on(table.abiName, table.kind, table.signature),
    index('abi_items_selector').on(table.selector, table.kind),
    check('abi_items_kind', oneOf('kind', ABI_ITEM_KINDS)),
    check('abi_items_network', oneOf('network', NETWORKS)),
    check('abi_items_bound', sql`(${table.network} is null) = (${table.address} is null)`),
    check('abi_items_selector_form', sql`${table.selector} ~ '^0x[0-9a-f]{8}$'`),
  ],
)

/** What operators imported with `tokens import`: how tokens are shown. What a token is, its contract says. */
export const listedTokens = pgTable(
  'listed_tokens',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    /** Canonical, as `parseAddress` returns it. */
    address: text('address').notNull(),
    listName: text('list_name').notNull(),
    name: text('name').notNull(),
    symbol: text('symbol').notNull(),
    /** Empty where the list has none. */
    logoUrl: text('logo_url').notNull(),
    /** null where the list does not say. */
    displayDecimals: smallint('display_decimals'),
    importedAt: instant('imported_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.address] }),
    index('listed_tokens_list').on(table.listName),
    check('listed_tokens_network', oneOf('network', NETWORKS)),
    check('listed_tokens_display_decimals', sql`display_decimals between 0 and 255`),
  ],
)

/** What a contract says of itself, read once. */
export const contractFacts = pgTable(
  'contract_facts',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    address: text('address').notNull(),
    standard: text('standard', { enum: ASSET_STANDARDS }).notNull(),
    name: text('name').notNull(),
    symbol: text('symbol').notNull(),
    decimals: smallint('decimals').notNull(),
    readAt: instant('read_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.address] }),
    check('contract_facts_standard', oneOf('standard', ASSET_STANDARDS)),
  ],
)

export const tokenUris = pgTable(
  'token_uris',
  {
    network: text('network', { enum: NETWORKS }).notNull(),
    contract: text('contract').notNull(),
    tokenId: uint256('token_id').notNull(),
    uri: text('uri').notNull(),
    readAt: instant('read_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.network, table.contract, table.tokenId] })],
)

// NFTs.

/** Collections that were created here; the address is their transaction's `contract_address`. */
export const collections = pgTable(
  'collections',
  {
    transactionId: uuid('transaction_id')
      .primaryKey()
      .references(() => transactions.id),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    network: text('network', { enum: NETWORKS }).notNull(),
    ownerAddress: text('owner_address').notNull(),
    name: text('name').notNull(),
    symbol: text('symbol').notNull(),
    imageUrl: text('image_url').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    index('collections_listed').on(
      table.projectId,
      table.network,
      table.ownerAddress,
      table.createdAt,
      table.transactionId,
    ),
  ],
)

/** Hosted EIP-721 metadata, addressed by the SHA-256 of its text. */
export const metadataDocuments = pgTable('metadata_documents', {
  digest: text('digest').primaryKey(),
  body: text('body').notNull(),
  createdAt: instant('created_at').notNull().default(now),
})

/** The first answers to requests that came with an `Idempotency-Key`, for a day. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    /** Who asked, as the audit names them. */
    principal: text('principal').notNull(),
    /** The path's template. */
    path: text('path').notNull(),
    key: text('key').notNull(),
    /** A MAC over the body, without credentials: equal for equal requests, and tells nothing of them. */
    fingerprint: bytes('fingerprint').notNull(),
    answer: json('answer').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.principal, table.path, table.key] }),
    index('idempotency_keys_age').on(table.createdAt),
  ],
)

// Users: who they are, how they log in, and their sessions. No row holds a code or a token that could be used.

/** An end user of a project. One who came without any proof has neither an e-mail address nor a wallet. */
export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    /** Proven, in lower case. */
    email: text('email'),
    /** Proven, as src/users/sign-in-wallet.ts names it: an address, or a contract's address with its chain. */
    signInWallet: text('sign_in_wallet'),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    unique('users_email').on(table.projectId, table.email),
    unique('users_sign_in_wallet').on(table.projectId, table.signInWallet),
    unique('users_project').on(table.projectId, table.id),
    index('users_unproven').on(table.createdAt).where(sql`email is null and sign_in_wallet is null`),
  ],
)

const ofUser = (table: { readonly projectId: AnyPgColumn; readonly userId: AnyPgColumn }) =>
  foreignKey({ columns: [table.projectId, table.userId], foreignColumns: [users.projectId, users.id] })

/** WebAuthn credentials (its section 4, "credential record"). */
export const passkeys = pgTable(
  'passkeys',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    projectId: uuid('project_id').notNull(),
    userId: uuid('user_id').notNull(),
    credentialId: bytes('credential_id').notNull(),
    /** COSE_Key. */
    publicKey: bytes('public_key').notNull(),
    rpId: text('rp_id').notNull(),
    signCount: bigint('sign_count', { mode: 'number' }).notNull(),
    transports: text('transports').array().notNull(),
    aaguid: uuid('aaguid').notNull(),
    backupEligible: boolean('backup_eligible').notNull(),
    backedUp: boolean('backed_up').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    lastUsedAt: instant('last_used_at'),
  },
  (table) => [
    unique('passkeys_credential').on(table.projectId, table.credentialId),
    index('passkeys_user').on(table.projectId, table.userId),
    ofUser(table),
  ],
)

/** The one live code that was mailed for a user, under a MAC. The user may not exist yet. */
export const emailCodes = pgTable(
  'email_codes',
  {
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    userId: uuid('user_id').notNull(),
    purpose: text('purpose', { enum: EMAIL_CODE_PURPOSES }).notNull(),
    email: text('email').notNull(),
    codeMac: bytes('code_mac').notNull(),
    tries: smallint('tries').notNull().default(0),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.userId, table.purpose] }),
    index('email_codes_expiry').on(table.expiresAt),
    check('email_codes_purpose', oneOf('purpose', EMAIL_CODE_PURPOSES)),
  ],
)

/** Numbers that must come back signed, once: a row is deleted when it is used. */
export const nonces = pgTable(
  'nonces',
  {
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    kind: text('kind', { enum: NONCE_KINDS }).notNull(),
    nonce: text('nonce').notNull(),
    /** Of whom the answer must be; null: of anybody. */
    userId: uuid('user_id'),
    /** The wallet that must sign, or the RP ID. */
    target: text('target').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.kind, table.nonce] }),
    index('nonces_expiry').on(table.expiresAt),
    check('nonces_kind', oneOf('kind', NONCE_KINDS)),
  ],
)

/** A login that begins on one device and is completed on another, or behind a mailed link. */
export const sessionChallenges = pgTable(
  'session_challenges',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    codeHash: bytes('code_hash').notNull(),
    /** Of the second secret, which travels by mail alone; null where a logged-in device completes it. */
    linkHash: bytes('link_hash'),
    email: text('email'),
    /** Who is logged in by it: of a mailed link known at once, else when it is completed. */
    userId: uuid('user_id'),
    askerAddress: text('asker_address').notNull(),
    askerDevice: text('asker_device').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at').notNull(),
    completedAt: instant('completed_at'),
    /** When whoever completed it had proven who they are: the session that comes of it is as old as that. */
    authenticatedAt: instant('authenticated_at'),
    /** When the first device got its session: it gets one. */
    usedAt: instant('used_at'),
  },
  (table) => [
    unique('session_challenges_code').on(table.codeHash),
    unique('session_challenges_link').on(table.linkHash),
    index('session_challenges_expiry').on(table.expiresAt),
    check('session_challenges_link_email', sql`(link_hash is null) = (email is null)`),
    check('session_challenges_completed', sql`completed_at is null or user_id is not null`),
    check('session_challenges_authenticated', sql`(completed_at is null) = (authenticated_at is null)`),
    check('session_challenges_used', sql`used_at is null or completed_at is not null`),
  ],
)

export const sessions = pgTable(
  'sessions',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    userId: uuid('user_id').notNull(),
    way: text('way', { enum: LOGIN_WAYS }).notNull(),
    askerAddress: text('asker_address').notNull(),
    askerDevice: text('asker_device').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    /** When its user last proved who they are. A refresh is no proof, nor is being let in by another device. */
    authenticatedAt: instant('authenticated_at').notNull().default(now),
    /** The number of the refresh token that is due; the token follows from it and the identity key. */
    generation: integer('generation').notNull().default(1),
    refreshedAt: instant('refreshed_at').notNull().default(now),
    /** When the refresh token that is due expires, and with it the session. */
    expiresAt: instant('expires_at').notNull(),
    endedAt: instant('ended_at'),
    endedBy: text('ended_by', { enum: SESSION_ENDS }),
  },
  (table) => [
    index('sessions_user').on(table.projectId, table.userId, table.createdAt),
    index('sessions_expiry').on(table.expiresAt),
    ofUser(table),
    check('sessions_way', oneOf('way', LOGIN_WAYS)),
    check('sessions_ended', sql`(ended_at is null) = (ended_by is null)`),
    check('sessions_ended_by', oneOf('ended_by', SESSION_ENDS)),
  ],
)

/** The Ed25519 keys of access tokens, sealed with the identity key: the worker may not even read them. */
export const tokenKeys = pgTable('token_keys', {
  /** The JWK thumbprint (RFC 7638): `kid`. */
  id: text('id').primaryKey(),
  /** JWK's `x`. */
  publicKey: text('public_key').notNull(),
  sealed: bytes('sealed').notNull(),
  createdAt: instant('created_at').notNull().default(now),
  /** Published before, so that whoever keeps the published keys for a while knows it by then. */
  signsFrom: instant('signs_from').notNull(),
  /** When the last token that it signed has expired; null for the newest. */
  publishedUntil: instant('published_until'),
})

/** Mails on their way. The text is sealed with the service key, and erased when it was sent or is too late. */
export const mails = pgTable(
  'mails',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    recipient: text('recipient').notNull(),
    subject: text('subject').notNull(),
    sealed: bytes('sealed'),
    createdAt: instant('created_at').notNull().default(now),
    /** Later than this it is not sent any more. */
    expiresAt: instant('expires_at').notNull(),
    sentAt: instant('sent_at'),
    failure: text('failure'),
  },
  (table) => [index('mails_age').on(table.createdAt)],
)

/** How often something was tried in a window of time; the keys are MACs, so that no address is read here. */
export const throttles = pgTable(
  'throttles',
  {
    key: bytes('key').primaryKey(),
    tries: integer('tries').notNull(),
    windowEndsAt: instant('window_ends_at').notNull(),
  },
  (table) => [index('throttles_window').on(table.windowEndsAt)],
)

// The worker.

/**
 * The job pools that were ever started and not yet found dead: one lives as long as a connection of its name does.
 * The jobs that a dead one had locked are given back.
 */
export const workers = pgTable('workers', {
  id: text('id').primaryKey(),
  applicationName: text('application_name').notNull(),
  startedAt: instant('started_at').notNull().default(now),
})

// Metrics.

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
