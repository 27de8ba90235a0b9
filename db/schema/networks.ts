// The networks of this deployment. A name is bound to its chain at the first use (src/platform/deployment.ts).

import { bigint, check, pgTable, text } from 'drizzle-orm/pg-core'
import { access, instant, now, oneOf } from '../tables.ts'
import { CHAIN_FAMILIES } from '../words.ts'

export const networks = pgTable(
  'networks',
  {
    name: text('name').primaryKey(),
    family: text('family', { enum: CHAIN_FAMILIES }).notNull(),
    /** EIP-155; null for a family that has no chain ids. */
    chainId: bigint('chain_id', { mode: 'number' }).unique(),
    createdAt: instant('created_at').notNull().default(now),
  },
  () => [check('networks_family', oneOf('family', CHAIN_FAMILIES))],
)

/**
 * A column: the network that a row belongs to. `transactions` refer to a signer, which refers to its network.
 * `ladders` and `movements` have no foreign key: each check locks the network's row. With 16 connections that share
 * this row it took 7 % more of the database's time to record an intent with six attempts, and 20 % more to insert
 * movements (PostgreSQL 18, 2026-11).
 */
export const networkName = () =>
  text('network')
    .notNull()
    .references(() => networks.name)

export const networksAccess = access(networks, {
  api: 'select',
  vault: 'select, insert',
  worker: 'select',
  console: 'select',
})
