// Transactions and their ladders of signed attempts.

import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { access, hexes, instant, instants, now, oneOf, uint256, uint256s } from '../tables.ts'
import { FAILURE_CODES, GIVE_UPS, TRANSACTION_KINDS, TRANSACTION_STATUSES } from '../words.ts'
import { networkName } from './networks.ts'
import { projectId } from './projects.ts'
import { walletId } from './vault.ts'

/** Locking a signer's row serialises the choice of a nonce. It has no project: two projects may hold one key. */
export const signers = pgTable(
  'signers',
  {
    network: networkName(),
    address: text('address').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    /** For operators only: the node's last answer about a signer that waits. */
    minedCount: bigint('mined_count', { mode: 'number' }),
    pendingCount: bigint('pending_count', { mode: 'number' }),
    balance: uint256('balance'),
    heardAt: instant('heard_at'),
  },
  (table) => [primaryKey({ columns: [table.network, table.address] })],
)

export const signersAccess = access(signers, {
  api: 'select, insert, update',
  worker: 'select, update (mined_count, pending_count, balance, heard_at)',
  views: 'select',
})

/** One intent and its outcome. */
export const transactions = pgTable(
  'transactions',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    walletId: walletId(),
    network: text('network').notNull(),
    signerAddress: text('signer_address').notNull(),
    /** The contract wallet that the signer deploys or that executes the intent; null for an eoa wallet. */
    contractWallet: text('contract_wallet'),
    kind: text('kind', { enum: TRANSACTION_KINDS }).notNull(),
    nonce: bigint('nonce', { mode: 'number' }).notNull(),
    /** null for a contract creation. */
    to: text('to'),
    value: uint256('value').notNull(),
    input: text('input').notNull(),
    gasLimit: uint256('gas_limit').notNull(),
    /** The most that its first rung can cost the signer. */
    worstCost: uint256('worst_cost').notNull(),
    /** The asset in which the fee is paid, and the most that it can be; null if it is paid in the coin. */
    feeAsset: text('fee_asset'),
    feeAssetCost: uint256('fee_asset_cost'),
    status: text('status', { enum: TRANSACTION_STATUSES }).notNull().default('submitted'),
    /** Why it failed. */
    errorCode: text('error_code', { enum: FAILURE_CODES }),
    error: text('error'),
    /** True while live, and forever once mined: no other transaction may have this nonce. False is final. */
    holdsNonce: boolean('holds_nonce').notNull().default(true),
    /** No reorganisation can change it any more. */
    final: boolean('final').notNull().default(false),
    /** For mortal extrinsics of Substrate: the first and the last block that could take it. */
    bornAtBlock: bigint('born_at_block', { mode: 'bigint' }),
    validUntilBlock: bigint('valid_until_block', { mode: 'bigint' }),
    /** The number of rungs of the fee ladder; the cancel comes after them. */
    rungs: smallint('rungs').notNull(),
    /** The caller fixed the fee: no rung offers more. */
    hasFixedFees: boolean('has_fixed_fees').notNull().default(false),
    /** The ladder has fewer rungs, because the signer could not pay the higher ones. */
    isCutByFunds: boolean('is_cut_by_funds').notNull().default(false),
    /** The number of the attempt to send: a rung, or `rungs` for the cancel. */
    chosen: smallint('chosen').notNull().default(0),
    chosenAt: instant('chosen_at'),
    /** Why the cancel is chosen. */
    givenUp: text('given_up', { enum: GIVE_UPS }),
    /** Since when it is its signer's lowest live nonce and a node was asked: only then may it climb or expire. */
    clockStartedAt: instant('clock_started_at'),
    /** The hash that callers see: of the last accepted attempt, then of the mined one. */
    shownHash: text('shown_hash'),
    minedBlockNumber: bigint('mined_block_number', { mode: 'bigint' }),
    minedBlockHash: text('mined_block_hash'),
    contractAddress: text('contract_address'),
    createdAt: instant('created_at').notNull().default(now),
    broadcastAt: instant('broadcast_at'),
    settledAt: instant('settled_at'),
    updatedAt: instant('updated_at').notNull().default(now),
    /** The span of the request that recorded it (W3C Trace Context), if its trace is recorded. */
    traceparent: text('traceparent'),
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
    // No index names a column that changes when a node accepts it: that update is heap-only (HOT).
    index('transactions_unfinished').on(table.network, table.createdAt).where(sql`not ${table.final}`),
    index('transactions_in_a_block')
      .on(table.network, table.minedBlockNumber)
      .where(sql`not ${table.final} and ${table.minedBlockNumber} is not null`),
    index('transactions_untold')
      .on(table.network, table.minedBlockNumber)
      .where(sql`not ${table.final} and ${table.minedBlockNumber} is not null and ${table.settledAt} is null`),
    // For callers' lists (transaction-lists.ts); failed ones are few, and a list of them does not pass the rest.
    index('transactions_of_project').on(table.projectId, table.network, table.createdAt, table.id),
    index('transactions_of_wallet').on(table.walletId, table.createdAt, table.id),
    index('transactions_failed_of_project')
      .on(table.projectId, table.network, table.createdAt, table.id)
      .where(sql`${table.errorCode} is not null`),
    // For the operators' view and command line: the newest of all projects.
    index('transactions_newest').on(table.createdAt),
    index('transactions_failed').on(table.createdAt).where(sql`error_code is not null`),
    index('transactions_mortal')
      .on(table.network, table.validUntilBlock)
      .where(sql`not ${table.final} and ${table.validUntilBlock} is not null`),
    index('transactions_of_contract_wallet')
      .on(table.network, table.contractWallet)
      .where(sql`not ${table.final} and ${table.contractWallet} is not null`),
    index('transactions_deployments').on(table.network, table.contractWallet).where(sql`${table.kind} = 'deployment'`),
    index('transactions_created').on(table.network, table.contractAddress).where(sql`contract_address is not null`),
    check('transactions_kind', oneOf('kind', TRANSACTION_KINDS)),
    check('transactions_fee_asset', sql`(${table.feeAsset} is null) = (${table.feeAssetCost} is null)`),
    check('transactions_status', oneOf('status', TRANSACTION_STATUSES)),
    check('transactions_error_code', oneOf('error_code', FAILURE_CODES)),
    check('transactions_failed_says_why', sql`(${table.status} = 'failed') = (${table.errorCode} is not null)`),
    check('transactions_chosen', sql`${table.rungs} >= 1 and ${table.chosen} between 0 and ${table.rungs}`),
    check('transactions_traceparent', sql`length(${table.traceparent}) = 55`),
    check('transactions_given_up', oneOf('given_up', GIVE_UPS)),
    check('transactions_given_up_is_chosen', sql`(${table.chosen} = ${table.rungs}) = (${table.givenUp} is not null)`),
    // The nonces of a reaped account start again from 0, so its final transactions hold none. An extrinsic that a
    // restore inserted beside a later one with its nonce holds none either.
    check(
      'transactions_live_holds_nonce',
      sql`${table.holdsNonce} or ${table.status} = 'failed' or ${table.validUntilBlock} is not null`,
    ),
  ],
)

const itsTransaction = () => uuid('transaction_id').references(() => transactions.id)

export const transactionId = () => itsTransaction().notNull()

/** The columns that change with the outcome. All others say what the transaction does. */
export const OUTCOME_COLUMNS = [
  'status',
  'errorCode',
  'error',
  'holdsNonce',
  'final',
  'chosen',
  'chosenAt',
  'givenUp',
  'clockStartedAt',
  'shownHash',
  'minedBlockNumber',
  'minedBlockHash',
  'contractAddress',
  'broadcastAt',
  'settledAt',
  'updatedAt',
] as const satisfies readonly (keyof typeof transactions.$inferSelect)[]

// The worker and the console may change only the outcome: the API signs again from the other columns (speed-up), and
// simulates later intents after them.

const outcome = `select, update (${OUTCOME_COLUMNS.map((key) => transactions[key].name).join(', ')})`

export const transactionsAccess = access(transactions, {
  api: 'select, insert, update',
  // Was what it has signed recorded?
  vault: 'select (id, final)',
  worker: outcome,
  console: outcome,
  views: 'select',
})

/**
 * What the chain has of a wallet and a restored database lacked. After the wallet is released, an equal transaction is
 * refused for a day, because it may be a request that is repeated.
 */
export const lostTransactions = pgTable(
  'lost_transactions',
  {
    walletId: walletId(),
    hash: text('hash').notNull(),
    /** As `SentTransaction` of src/chains/blocks.ts. */
    callText: text('call_text').notNull(),
    /** null while the wallet is frozen. */
    releasedAt: instant('released_at'),
  },
  (table) => [primaryKey({ columns: [table.walletId, table.hash] })],
)

export const lostTransactionsAccess = access(lostTransactions, { api: 'select, insert, update, delete' })

/**
 * The signed attempts of a transaction in lists, by their numbers: the rungs, the cancel, then former cancels. Any
 * reader can send `raws`, so they are erased when the transaction is final.
 */
export const ladders = pgTable(
  'ladders',
  {
    transactionId: itsTransaction().primaryKey(),
    network: text('network').notNull(),
    hashes: hexes('hashes').notNull(),
    /** The first eight bytes of each hash, by which it is found: an index of whole hashes would be twice as large. */
    hashKeys: bigint('hash_keys', { mode: 'bigint' }).array().notNull(),
    raws: hexes('raws'),
    /** In wei: no block with a higher base fee takes an attempt. null if the runtime sets the fee. */
    maxFeesPerGas: uint256s('max_fees_per_gas'),
    /** When a node first accepted each. */
    acceptedAt: instants('accepted_at').notNull(),
    /** The node's last refusal of each; null after it accepted the attempt. */
    lastErrors: text('last_errors').array().$type<readonly (string | null)[]>().notNull(),
  },
  (table) => [
    // Written at once: a list of pending entries would have to be read for each hash.
    index('ladders_hashes').using('gin', table.hashKeys).with({ fastupdate: false }),
  ],
)

// The console reads no bytes: any reader of them can send the transaction.

export const laddersAccess = access(ladders, {
  api: 'select, insert, update',
  worker: 'select, update (raws, accepted_at, last_errors)',
  console: 'select (transaction_id, network, hashes, hash_keys, max_fees_per_gas, accepted_at, last_errors)',
  views: 'select',
})
