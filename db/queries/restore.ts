// What `cli restore` reads and writes outside of the tables of the vault.

import { and, eq, gt, isNull, lt, or, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { type Given, prepare } from '../prepare.ts'
import { firstRow, readRows } from '../rows.ts'
import { lostTransactions, networks, transactions, wallets } from '../schema.ts'
import type { Network } from '../words.ts'
import { attemptsWith, hexOf } from './attempts.ts'
import { ofSigner, type Signer } from './transactions.ts'
import type { WalletRow } from './wallets.ts'

/** @returns false if the wallet is there, or another one of its owner or with its address. */
export const insertWalletUnlessKnown = async (db: Queryable, row: typeof wallets.$inferInsert) =>
  ((await db.insert(wallets).values(row).onConflictDoNothing()).rowCount ?? 0) > 0

/** Why a transaction cannot be recorded: it is recorded, or its wallet is missing; null if it can. */
export const readRecordingHindrance = async (
  tx: Tx,
  { id, walletId }: { readonly id: string; readonly walletId: string },
): Promise<'recorded' | 'no_wallet' | null> => {
  const [row] = await tx
    .select({
      recorded: sql<boolean>`exists (select from ${transactions} where ${eq(transactions.id, id)})`,
      wallet: sql<boolean>`exists (select from ${wallets} where ${eq(wallets.id, walletId)})`,
    })
    .from(sql`(values (1)) as one`)
  if (row?.recorded === true) return 'recorded'
  return row?.wallet === true ? null : 'no_wallet'
}

const isHeld = (signer: Signer, at: number) =>
  and(ofSigner(signer), eq(transactions.nonce, at), transactions.holdsNonce)

/** The extrinsic had expired. It is still tracked: it may have been mined before its account was removed. */
export const releaseBornBefore = async (
  tx: Tx,
  signer: Signer,
  input: { readonly nonce: number; readonly block: bigint },
) => {
  await tx
    .update(transactions)
    .set({ holdsNonce: false })
    .where(and(isHeld(signer, input.nonce), lt(transactions.validUntilBlock, input.block)))
}

export const isNonceHeld = async (tx: Tx, signer: Signer, at: number) =>
  (await firstRow(tx.select({ id: transactions.id }).from(transactions).where(isHeld(signer, at)).limit(1))) !== null

export const findKnownIds = async (db: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const given = sql`any(${sql.param(ids)}::uuid[])`
  const { rows } = await db.execute<{ readonly id: string }>(sql`
    select id from ${transactions} where id = ${given} union all select id from ${wallets} where id = ${given}`)
  return new Set(rows.map(({ id }) => id))
}

/** Also false if an attempt from its rung on was sent: that may be mined, so nothing replaces it. */
export const lacksAttempt = async (
  tx: Tx,
  input: { readonly id: string; readonly hash: string; readonly firstRung: number },
) => {
  const { id, hash, firstRung } = input
  const isHindrance = sql`decode(${hash.slice(2)}, 'hex') = any(ladder.hashes)
    or array_remove(ladder.accepted_at[${firstRung + 1}:${transactions.rungs}], null) <> '{}'`
  const [row] = await tx
    .select({ id: transactions.id })
    .from(transactions)
    .where(
      and(
        eq(transactions.id, id),
        eq(transactions.final, false),
        sql`not exists (select from public.ladders ladder where ladder.transaction_id = ${id} and (${isHindrance}))`,
      ),
    )
    .for('update')
  return row !== undefined
}

export const findKnownHashes = async (
  db: Queryable,
  input: { readonly network: Network; readonly hashes: readonly string[] },
): Promise<ReadonlySet<string>> => {
  if (input.hashes.length === 0) return new Set()
  const rows = await readRows<{ hash: string }>(db)`
    select ${hexOf(sql`asked.hash`)} as hash from ${attemptsWith(input)}`
  return new Set(rows.map(({ hash }) => hash))
}

export const findWalletsByAddresses = async (
  db: Queryable,
  { network, addresses }: { readonly network: Network; readonly addresses: readonly string[] },
): Promise<readonly Pick<WalletRow, 'id' | 'address' | 'type'>[]> => {
  if (addresses.length === 0) return []
  return db
    .select({ id: wallets.id, address: wallets.address, type: wallets.type })
    .from(wallets)
    .where(and(eq(wallets.network, network), eq(wallets.address, sql`any(${sql.param(addresses)}::text[])`)))
}

export const listContractWallets = (
  db: Queryable,
  network: Network,
): Promise<readonly Pick<WalletRow, 'id' | 'address' | 'type' | 'publicKey'>[]> =>
  db
    .select({ id: wallets.id, address: wallets.address, type: wallets.type, publicKey: wallets.publicKey })
    .from(wallets)
    .where(and(eq(wallets.network, network), eq(wallets.type, 'contract')))

export const networksWithWallets = async (db: Queryable): Promise<readonly Network[]> => {
  const rows = await db
    .select({ network: networks.name })
    .from(networks)
    .where(sql`exists (select from public.wallets wallet where wallet.network = networks.name)`)
    .orderBy(networks.name)
  return rows.map(({ network }) => network)
}

type Lost = Omit<typeof lostTransactions.$inferInsert, 'releasedAt'>

const ROWS_A_STATEMENT = 500

export const insertLostTransactions = async (db: Queryable, rows: readonly Lost[]) => {
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    const page = rows.slice(start, start + ROWS_A_STATEMENT)
    await db.insert(lostTransactions).values(page).onConflictDoNothing()
  }
}

export const walletsWithLost = async (db: Queryable): Promise<readonly string[]> => {
  const { walletId, releasedAt } = lostTransactions
  const rows = await db.selectDistinct({ walletId }).from(lostTransactions).where(isNull(releasedAt))
  return rows.map((row) => row.walletId)
}

/** Equal transactions of the wallet are then refused for a day. Deletes rows of earlier releases. */
export const releaseLost = async (db: Queryable, walletId: string) => {
  await db.delete(lostTransactions).where(lt(lostTransactions.releasedAt, sql`now() - interval '1 day'`))
  const ofWallet = and(eq(lostTransactions.walletId, walletId), isNull(lostTransactions.releasedAt))
  await db.update(lostTransactions).set({ releasedAt: sql`now()` }).where(ofWallet)
}

/** What a wallet had done that was lost, unless it was released more than a day ago. */
const lostOf = prepare((db, { walletId }: Given<{ readonly walletId: string }>) =>
  db
    .select({ hash: lostTransactions.hash, callText: lostTransactions.callText })
    .from(lostTransactions)
    .where(
      and(
        eq(lostTransactions.walletId, walletId),
        or(isNull(lostTransactions.releasedAt), gt(lostTransactions.releasedAt, sql`now() - interval '1 day'`)),
      ),
    ),
)

export const listLost = (db: Queryable, walletId: string): Promise<readonly Pick<Lost, 'hash' | 'callText'>[]> =>
  lostOf(db, { walletId })
