import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { access, bytes, instant, now } from '../tables.ts'
import { projectId } from './projects.ts'

/** The contracts to which a project's eoa wallets may delegate (EIP-7702); none if the project has no row. */
export const delegateLists = pgTable('delegate_lists', {
  projectId: projectId().primaryKey(),
  /** Each is the name of a network, a space and an address in lower case. */
  delegates: text('delegates').array().notNull(),
  /** Rises by one with each change. */
  version: integer('version').notNull(),
  /** A MAC of the fields above, under a key that the database does not have. */
  mac: bytes('mac').notNull(),
  updatedAt: instant('updated_at').notNull().default(now),
})

export const delegateListsAccess = access(delegateLists, {
  vault: 'select, insert, update (delegates, version, mac, updated_at)',
})
