import { and, asc, between, eq, lte, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { doubtfulContracts, movements } from '../schema.ts'
import type { AssetStandard, Network } from '../words.ts'
import { holdIndexer } from './backfills.ts'

type ContractOnNetwork = { readonly network: Network; readonly contract: string }

type DoubtfulContract = ContractOnNetwork & { readonly tries: number }

const at = ({ network, contract }: ContractOnNetwork) =>
  and(eq(doubtfulContracts.network, network), eq(doubtfulContracts.contract, contract))

/** Call it in the transaction that stores their movements: a correction waits for the lock, and then sees them. */
export const doubtContracts = async (
  tx: Tx,
  input: Pick<typeof doubtfulContracts.$inferSelect, 'network' | 'fromBlock' | 'toBlock'> & {
    readonly contracts: readonly string[]
  },
) => {
  const { network, contracts, fromBlock, toBlock } = input
  if (contracts.length === 0) return
  await tx
    .insert(doubtfulContracts)
    // Always in the same order, to avoid deadlocks.
    .values([...contracts].sort().map((contract) => ({ network, contract, fromBlock, toBlock })))
    .onConflictDoUpdate({
      target: [doubtfulContracts.network, doubtfulContracts.contract],
      set: {
        fromBlock: sql`least(${doubtfulContracts.fromBlock}, excluded.from_block)`,
        toBlock: sql`greatest(${doubtfulContracts.toBlock}, excluded.to_block)`,
      },
    })
}

/** Those whose next try is due, the longest due first. */
export const dueDoubtfulContracts = (
  db: Queryable,
  input: { readonly network: Network; readonly limit: number },
): Promise<readonly DoubtfulContract[]> =>
  db
    .select()
    .from(doubtfulContracts)
    .where(and(eq(doubtfulContracts.network, input.network), lte(doubtfulContracts.nextTryAt, sql`now()`)))
    .orderBy(asc(doubtfulContracts.nextTryAt))
    .limit(input.limit)

export const postponeDoubtfulContract = async (
  db: Queryable,
  input: ContractOnNetwork & { readonly tries: number; readonly afterSeconds: number },
) => {
  const { tries, afterSeconds } = input
  await db
    .update(doubtfulContracts)
    .set({ tries, nextTryAt: sql`now() + make_interval(secs => ${afterSeconds})` })
    .where(at(input))
}

/** Does to stored movements what `asStandard` does to new ones; other standards change nothing. */
const CORRECTIONS = {
  erc721: { from: 'erc20', set: { standard: 'erc721', tokenId: sql`${movements.amount}`, amount: 1n } },
  erc20: { from: 'erc721', set: { standard: 'erc20', tokenId: null, amount: sql`${movements.tokenId}` } },
} as const

/** Corrects a contract's stored movements by its standard, and deletes its row here. */
export const settleDoubtfulContract = (db: Db, input: ContractOnNetwork & { readonly standard: AssetStandard }) =>
  db.transaction(async (tx) => {
    const { network, contract, standard } = input
    // Every writer of movements holds this first.
    await holdIndexer(tx, network)
    const [doubt] = await tx.select().from(doubtfulContracts).where(at(input)).for('update')
    if (doubt === undefined) return
    if (standard === 'erc721' || standard === 'erc20') {
      const { from, set } = CORRECTIONS[standard]
      const isIn = between(movements.blockNumber, doubt.fromBlock, doubt.toBlock)
      await tx
        .update(movements)
        .set(set)
        .where(
          and(eq(movements.network, network), isIn, eq(movements.contract, contract), eq(movements.standard, from)),
        )
    }
    await tx.delete(doubtfulContracts).where(at(input))
  })
