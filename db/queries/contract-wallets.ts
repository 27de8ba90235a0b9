// The pending executions of contract wallets and the deployments that they wait for. If two projects hold the owner's
// key, a deployment serves both.

import { and, asc, desc, eq, isNotNull, isNull, ne, or, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { pickColumns } from '../rows.ts'
import { transactions } from '../schema.ts'
import type { Network } from '../words.ts'
import { isLive } from './transactions.ts'

type OfContractWallet = { readonly network: Network; readonly contractWallet: string | null }

const isToBeExecuted = and(
  isNotNull(transactions.contractWallet),
  isLive,
  ne(transactions.kind, 'deployment'),
  isNull(transactions.minedBlockHash),
)

/** The call data of a contract wallet's executions in no block, of the newest `limit`. */
export const pendingInputs = async (
  db: Queryable,
  { limit, ...wallet }: OfContractWallet & { readonly limit: number },
): Promise<readonly string[]> => {
  const rows = await db
    .select({ input: transactions.input })
    .from(transactions)
    .where(and(ofContractWallet(wallet), isToBeExecuted))
    .orderBy(desc(transactions.nonce))
    .limit(limit)
  return rows.map(({ input }) => input)
}

/** The ids of these wallets' executions in no block, in the order of their nonces. */
export const pendingExecutions = async (
  tx: Tx,
  wallets: readonly OfContractWallet[],
): Promise<readonly { id: string; network: Network }[]> => {
  if (wallets.length === 0) return []
  return await tx
    .select({ id: transactions.id, network: transactions.network })
    .from(transactions)
    .where(and(or(...wallets.map(ofContractWallet)), isToBeExecuted))
    .orderBy(asc(transactions.nonce))
}

const ofContractWallet = ({ network, contractWallet }: OfContractWallet) =>
  and(eq(transactions.network, network), eq(transactions.contractWallet, contractWallet ?? ''))

const readDeployments = (db: Queryable, wallet: OfContractWallet) =>
  db
    .select(pickColumns(transactions, 'nonce', 'status', 'final', 'givenUp'))
    .from(transactions)
    .where(and(ofContractWallet(wallet), eq(transactions.kind, sql`'deployment'`)))

/** Whether a deployment of the wallet is recorded that has succeeded, or is pending and not given up. */
export const hasDeployment = async (db: Queryable, wallet: OfContractWallet) => {
  const rows = await readDeployments(db, wallet)
  return rows.some(({ status, givenUp }) => status === 'success' || (status !== 'failed' && givenUp === null))
}

/** Whether no recorded deployment can still be mined before a nonce: each is final, or has a higher nonce. */
export const areDeploymentsOver = async (
  db: Queryable,
  { nonce, ...wallet }: OfContractWallet & { readonly nonce: number },
) => {
  const rows = await readDeployments(db, wallet)
  return rows.length > 0 && rows.every((deployment) => deployment.final || deployment.nonce > nonce)
}
