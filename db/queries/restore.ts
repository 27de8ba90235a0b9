// What `cli restore` asks of the tables that are not custody's.

import { and, eq, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { attempts, transactions, wallets } from '../schema.ts'
import { ofSigner, type Signer } from './transactions.ts'

/** @returns false if the wallet is there, or another one of its owner or with its address. */
export const insertWalletUnlessKnown = async (db: Queryable, row: typeof wallets.$inferInsert): Promise<boolean> =>
  ((await db.insert(wallets).values(row).onConflictDoNothing()).rowCount ?? 0) > 0

/** What stands in the way of recording a transaction; null if nothing does. */
export const obstacleTo = async (
  tx: Tx,
  of: { readonly id: string; readonly walletId: string; readonly signer: Signer; readonly nonce: number },
): Promise<'recorded' | 'nonce_held' | 'no_wallet' | null> => {
  const { id, walletId, signer, nonce } = of
  const isHeld = and(ofSigner(signer), eq(transactions.nonce, nonce), transactions.holdsNonce)
  const [row] = await tx
    .select({
      recorded: sql<boolean>`exists (select from ${transactions} where ${eq(transactions.id, id)})`,
      held: sql<boolean>`exists (select from ${transactions} where ${isHeld})`,
      wallet: sql<boolean>`exists (select from ${wallets} where ${eq(wallets.id, walletId)})`,
    })
    .from(sql`(values (1)) as one`)
  if (row?.recorded === true) return 'recorded'
  if (row?.held === true) return 'nonce_held'
  return row?.wallet === true ? null : 'no_wallet'
}

/** Whether a transaction that is not final lacks an attempt. */
export const lacksAttempt = async (
  tx: Tx,
  of: { readonly id: string; readonly network: string; readonly hash: string },
): Promise<boolean> => {
  const { id, network, hash } = of
  const [row] = await tx
    .select({ id: transactions.id })
    .from(transactions)
    .leftJoin(attempts, and(eq(attempts.network, network), eq(attempts.hash, hash)))
    .where(and(eq(transactions.id, id), eq(transactions.final, false), sql`${attempts.hash} is null`))
    .for('update', { of: transactions })
  return row !== undefined
}
