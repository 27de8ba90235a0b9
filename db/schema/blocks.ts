// Where the followers of the chains stand, and what moved.

import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { access } from '../access.ts'
import { instant, now, oneOf, uint256 } from '../columns.ts'
import { ASSET_STANDARDS, CURSOR_PURPOSES, HINDRANCES } from '../words.ts'
import { networkName, networks } from './networks.ts'

/** Where a follower of a network stands: everything up to this block is in our tables. */
export const cursors = pgTable(
  'cursors',
  {
    network: networkName(),
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

export const cursorsAccess = access(cursors, { api: 'select', worker: 'select, insert, update', views: 'select' })

/** The networks that workers follow, and by which rules: written by every worker again and again, for operators. */
export const followedNetworks = pgTable('followed_networks', {
  network: text('network')
    .primaryKey()
    .references(() => networks.name),
  confirmations: integer('confirmations').notNull(),
  climbAfterSeconds: integer('climb_after_seconds').notNull(),
  expireAfterSeconds: integer('expire_after_seconds').notNull(),
  updatedAt: instant('updated_at').notNull().default(now),
})

export const followedNetworksAccess = access(followedNetworks, { worker: 'select, insert, update', views: 'select' })

/** Hashes of the blocks that are not final yet: how a follower finds where a reorganisation forked off. */
export const seenBlocks = pgTable(
  'seen_blocks',
  {
    network: text('network').notNull(),
    purpose: text('purpose', { enum: CURSOR_PURPOSES }).notNull(),
    number: bigint('number', { mode: 'bigint' }).notNull(),
    hash: text('hash').notNull(),
  },
  (table) => [primaryKey({ columns: [table.network, table.purpose, table.number] })],
)

export const seenBlocksAccess = access(seenBlocks, { worker: 'select, insert, update, delete' })

/** One asset's move as one known address sees it: a transfer between two known addresses is two rows. */
export const movements = pgTable(
  'movements',
  {
    /** Follows from what it is of (UUIDv5 over network, transaction, log, item, address and direction): nothing is kept twice. */
    id: uuid('id').primaryKey(),
    network: text('network').notNull(),
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

export const movementsAccess = access(movements, { api: 'select', worker: 'select, insert, update, delete' })

/**
 * The walks back through what an address moved before it became a wallet's: from where the indexer stood, downwards. One
 * an address, whichever projects have it.
 */
export const backfills = pgTable(
  'backfills',
  {
    network: networkName(),
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
    check('backfills_begins_whole', sql`num_nonnulls(begun_at, from_block, reached_block) in (0, 3)`),
    check('backfills_hindrance', oneOf('hindrance', HINDRANCES)),
    check(
      'backfills_hindered_whole',
      sql`num_nonnulls(hindrance, hindrance_reason, hindered_at, next_try_at) = case tries when 0 then 0 else 4 end`,
    ),
  ],
)

export const backfillsAccess = access(backfills, {
  api: 'select, insert',
  worker: 'select, insert, update',
  views: 'select',
})

/**
 * Contracts that did not say of what standard they are when movements of theirs were kept: those of these blocks stand as
 * their events tell them, until the contract is asked again.
 */
export const doubtfulContracts = pgTable(
  'doubtful_contracts',
  {
    network: networkName(),
    contract: text('contract').notNull(),
    fromBlock: bigint('from_block', { mode: 'bigint' }).notNull(),
    toBlock: bigint('to_block', { mode: 'bigint' }).notNull(),
    tries: integer('tries').notNull().default(0),
    nextTryAt: instant('next_try_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.network, table.contract] })],
)

export const doubtfulContractsAccess = access(doubtfulContracts, {
  api: 'select',
  worker: 'select, insert, update, delete',
})
