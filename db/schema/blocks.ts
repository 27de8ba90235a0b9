// The cursors of the block followers, and the movements that they found.

import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, numeric, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { access, instant, now, oneOf, uint256 } from '../tables.ts'
import { ASSET_STANDARDS, BACKFILL_HINDRANCES, CURSOR_PURPOSES } from '../words.ts'
import { networkName, networks } from './networks.ts'

/** A follower has processed every block up to this one. */
export const cursors = pgTable(
  'cursors',
  {
    network: networkName(),
    purpose: text('purpose', { enum: CURSOR_PURPOSES }).notNull(),
    blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
    blockHash: text('block_hash').notNull(),
    /** In wei, of the newest block that the tracker saw; null if the runtime sets fees. */
    baseFeePerGas: uint256('base_fee_per_gas'),
    /** When it last moved. */
    updatedAt: instant('updated_at').notNull().default(now),
    /** When it moved again after the chain, its nodes or the workers had stood still; null if they never have. */
    resumedAt: instant('resumed_at'),
    /** When the follower last took a step, with or without a new block. It is written every few seconds. */
    steppedAt: instant('stepped_at').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.purpose] }),
    check('cursors_purpose', oneOf('purpose', CURSOR_PURPOSES)),
  ],
)

export const cursorsAccess = access(cursors, {
  api: 'select',
  worker: 'select, insert, update',
  console: 'select',
  views: 'select',
})

/**
 * For operators: how far the followers were behind the chain, a row for each network and minute. A worker writes it,
 * and deletes what is older than the console shows.
 */
export const heads = pgTable(
  'heads',
  {
    network: networkName(),
    /** The beginning of the minute. */
    at: instant('at').notNull(),
    /** The newest block of a node that answers; null if none did. */
    head: bigint('head', { mode: 'bigint' }),
    /** The blocks of the cursors; null before a follower began. */
    tracked: bigint('tracked', { mode: 'bigint' }),
    indexed: bigint('indexed', { mode: 'bigint' }),
  },
  (table) => [primaryKey({ columns: [table.network, table.at] })],
)

export const headsAccess = access(heads, { worker: 'select, insert, update, delete', console: 'select' })

/** For operators: the networks that workers follow, and with which settings. Every worker refreshes its rows. */
export const followedNetworks = pgTable('followed_networks', {
  network: text('network')
    .primaryKey()
    .references(() => networks.name),
  confirmations: integer('confirmations').notNull(),
  climbAfterSeconds: integer('climb_after_seconds').notNull(),
  expireAfterSeconds: integer('expire_after_seconds').notNull(),
  stalledAfterSeconds: integer('stalled_after_seconds').notNull(),
  updatedAt: instant('updated_at').notNull().default(now),
})

export const followedNetworksAccess = access(followedNetworks, { worker: 'select, insert, update', views: 'select' })

/** Hashes of blocks that are not final yet: from these a follower finds the fork of a reorganisation. */
export const seenBlocks = pgTable(
  'seen_blocks',
  {
    network: networkName(),
    purpose: text('purpose', { enum: CURSOR_PURPOSES }).notNull(),
    number: bigint('number', { mode: 'bigint' }).notNull(),
    hash: text('hash').notNull(),
  },
  (table) => [primaryKey({ columns: [table.network, table.purpose, table.number] })],
)

export const seenBlocksAccess = access(seenBlocks, { worker: 'select, insert, update, delete' })

/** One movement of an asset for one known address: a transfer between two known addresses is two rows. */
export const movements = pgTable(
  'movements',
  {
    /** UUIDv5 over network, transaction, log, item, address and direction, so that no movement is stored twice. */
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
    /** Who sent the transaction; null if it has no sender, or it is not known. */
    initiatedBy: text('initiated_by'),
    /** false for a stranger's, which is kept only because the collection was created here. */
    ofWallet: boolean('of_wallet').notNull().default(true),
  },
  (table) => [
    // Read backwards. Not .desc(), which puts nulls last: a plain `order by … desc` could not use the index.
    index('movements_listed').on(
      table.network,
      table.address,
      table.blockNumber,
      table.logIndex,
      table.itemIndex,
      table.id,
    ),
    index('movements_block').on(table.network, table.blockNumber),
    index('movements_received')
      .on(table.network, table.address, table.contract, table.blockNumber)
      .where(sql`direction = 'in' and token_id is null and contract is not null`),
    check('movements_direction', sql`direction in ('in', 'out')`),
    check('movements_standard', oneOf('standard', ASSET_STANDARDS)),
  ],
)

export const movementsAccess = access(movements, { api: 'select', worker: 'select, insert, update, delete' })

/**
 * What wallets hold of NFTs: the sum of their movements, which a trigger keeps (grants.ts). So a list reads what is
 * held, and nothing that came and went.
 */
export const holdings = pgTable(
  'holdings',
  {
    network: text('network').notNull(),
    address: text('address').notNull(),
    contract: text('contract').notNull(),
    tokenId: uint256('token_id').notNull(),
    /** Below 0 if movements are missing, as during a backfill. No limit, because a contract may report any amount. */
    amount: numeric('amount').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.address, table.contract, table.tokenId] }),
    index('holdings_of').on(table.network, table.contract, table.tokenId, table.address),
    check('holdings_some', sql`amount <> 0`),
  ],
)

export const holdingsAccess = access(holdings, { api: 'select', worker: 'select, insert, update, delete' })

/**
 * Backfills: searches for what an address moved before it became a wallet's, from the indexer's block downwards. One
 * for each address, even if several projects have it.
 */
export const backfills = pgTable(
  'backfills',
  {
    network: networkName(),
    address: text('address').notNull(),
    /** When the key was made: it moved nothing before. null for an imported key. */
    keyMadeAt: instant('key_made_at'),
    requestedAt: instant('requested_at').notNull().default(now),
    /** The indexer watches the address in every block above `from_block`. */
    begunAt: instant('begun_at'),
    fromBlock: bigint('from_block', { mode: 'bigint' }),
    /** Movements from this block up to `from_block` are stored; those of the coin only from `coins_reached_block`. */
    reachedBlock: bigint('reached_block', { mode: 'bigint' }),
    coinsReachedBlock: bigint('coins_reached_block', { mode: 'bigint' }),
    /** And the coin's movements within transactions, which need a node that traces, only from this block. */
    tracedReachedBlock: bigint('traced_reached_block', { mode: 'bigint' }),
    /** Why and since when it waits, how often it was tried, and when the next try is. A success clears all of it. */
    hindrance: text('hindrance', { enum: BACKFILL_HINDRANCES }),
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
    check('backfills_hindrance', oneOf('hindrance', BACKFILL_HINDRANCES)),
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
 * Contracts whose standard could not be read when movements of them were stored. Until the contract answers, the
 * movements in these blocks are stored as their events say.
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
