// A contract wallet's intents as its owner's key sends them: one execution for all of them, and where there is no code at the
// address yet a deployment before it.

import type { Queryable } from '../../db/client.ts'
import { hasDeployment } from '../../db/queries/contract-wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Chain, Intent } from '../chains/chain.ts'
import { sumOfValues } from '../chains/intent.ts'
import { AppError } from '../errors.ts'
import { displayAmount, nativeToken } from '../tokens/token.ts'
import type { ReadContractWallet } from '../wallets/contract-wallet.ts'

/** Where the wallet stands among what is recorded. */
export type Executing = ReadContractWallet & { readonly chain: Chain; readonly intents: readonly Intent[] }

/** Whether no deployment is recorded that could still put code there; one that did is unknown to a node that lags behind. */
export const lacksDeployment = async (
  db: Queryable,
  wallet: { readonly network: Network; readonly contractWallet: string },
): Promise<boolean> => !(await hasDeployment(db, wallet))

/** The wallet pays what its calls send, and the owner's key the fee: the sentence names the one that lacks it. */
const unfunded = async ({ chain, wallet, intents }: Executing, index: number): Promise<AppError> => {
  const { coin } = await chain.balances({ address: wallet.address, contracts: [] })
  const { decimals, symbol } = nativeToken(chain.network)
  const amount = (wei: bigint) => `${displayAmount(wei, decimals)} ${symbol}`
  const needed = sumOfValues(intents.slice(0, index + 1))
  return new AppError(
    'balance_insufficient',
    `${wallet.address} needs ${amount(needed)} for this transaction, and has ${amount(coin)}.`,
  )
}

/**
 * The Safe contracts say of what fails within only that it failed. Where the wallet itself cannot do what it is to do, that is
 * the reason. @throws execution_reverted, balance_insufficient, and whatever `judge` throws.
 */
export const withReasonWithin = async <Result>(of: Executing, judge: () => Promise<Result>): Promise<Result> => {
  try {
    return await judge()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'execution_reverted') throw error
    const { contractWallets, wallet, intents } = of
    const hindrance = await contractWallets.hindrance({ address: wallet.address, intents })
    if (hindrance === null) throw error
    if (hindrance.isUnfunded) throw await unfunded(of, hindrance.index)
    const place = intents.length === 1 ? '' : ` (unsigned_transactions.${hindrance.index})`
    throw new AppError('execution_reverted', `${hindrance.reason}${place}`, { cause: error })
  }
}
