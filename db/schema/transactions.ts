// Intents and their signed encodings.

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
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { access } from '../access.ts'
import { instant, now, oneOf, uint256 } from '../columns.ts'
import { ATTEMPT_KINDS, GIVE_UPS, TRANSACTION_KINDS, TRANSACTION_STATUSES } from '../words.ts'
import { wallets } from './custody.ts'
import { projectId } from './projects.ts'

/** An actor: locking its row serialises the choice of a nonce. Global, as two projects may hold one key. */
export const signers = pgTable(
  'signers',
  {
    network: text('network').notNull(),
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

export const signersAccess = access(signers, {
  api: 'select, insert, update',
  worker: 'select, update (mined_count, pending_count, balance, heard_at)',
  views: 'select',
})

/** One intent and what became of it. */
export const transactions = pgTable(
  'transactions',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    walletId: uuid('wallet_id')
      .notNull()
      .references(() => wallets.id),
    network: text('network').notNull(),
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
    /** The asset that its fee is paid in, and the most that it can take of it; null where that is the coin. */
    feeAsset: text('fee_asset'),
    feeAssetCost: uint256('fee_asset_cost'),
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
    check('transactions_fee_asset', sql`(${table.feeAsset} is null) = (${table.feeAssetCost} is null)`),
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

/** What becomes of a transaction once it is recorded. Every other column says what the transaction does, and never changes. */
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

// The worker makes no row and changes nothing that a transaction does: the API signs again by these columns (speed-up), and
// judges later intents behind them.

export const transactionsAccess = access(transactions, {
  api: 'select, insert, update',
  worker: `select, update (${OUTCOME_COLUMNS.map((key) => transactions[key].name).join(', ')})`,
  views: 'select',
})

/** One signed encoding of a transaction. `raw` is erased when the nonce is final: it would be a bearer instrument. */
export const attempts = pgTable(
  'attempts',
  {
    network: text('network').notNull(),
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
// The API deletes what was never sent, where a transaction is signed anew.

export const attemptsAccess = access(attempts, {
  api: 'select, insert, update, delete',
  worker: 'select, update (raw, broadcast_at, last_error)',
  views: 'select',
})
