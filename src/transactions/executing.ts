// A contract wallet's intents as its owner's key sends them: one execution for all of them, and where there is no code at the
// address yet a deployment before it.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Queryable } from '../../db/client.ts'
import { hasDeployment, heldInputs } from '../../db/queries/contract-wallets.ts'
import { type Signer, type UnminedRow, unminedBefore } from '../../db/queries/transactions.ts'
import type { Network } from '../../db/words.ts'
import type { Chain, Hex, Intent, RecordedIntent } from '../chains/chain.ts'
import type { Hindrance } from '../chains/contract-wallets.ts'
import { destinationsOf, sumOfValues } from '../chains/intent.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { displayAmount, nativeToken } from '../tokens/token.ts'
import type { ReadContractWallet } from '../wallets/contract-wallet.ts'

/** Of more than this the oldest are left out: nodes bound the gas of a simulation. */
const RECORDED_LIMIT = 500
/** What another signer has just been promised is sent within milliseconds; what has waited for longer is stuck. */
const BROADCAST_WITHIN_SECONDS = 2
const POLL_MS = 20

const intentOf = (row: UnminedRow): RecordedIntent => ({
  from: row.signerAddress,
  nonce: row.nonce,
  to: row.to,
  value: row.value,
  input: row.input.startsWith('0x') ? (row.input as Hex) : '0x',
  gasLimit: row.gasLimit,
})

/**
 * What an intent of a signer may depend on and the chain does not have yet: the signer's own live transactions, which its
 * nonces keep in order, and those of the project's other signers that go to the same address or create a contract. These
 * have no order but that of being sent: they count once a node has them, for which it waits a moment.
 * @param input.to where the intent goes, and for a contract wallet where its calls go; a creation goes nowhere.
 */
export const recordedBefore = async (
  ctx: Pick<Ctx, 'db'>,
  input: { readonly signer: Signer; readonly projectId: string; readonly to: readonly string[] },
): Promise<readonly RecordedIntent[]> => {
  const isOwn = (row: UnminedRow) => row.signerAddress === input.signer.address
  const isUnsent = (row: UnminedRow) => !isOwn(row) && row.status === 'submitted'
  for (const endsAt = Date.now() + BROADCAST_WITHIN_SECONDS * 1_000; ; await sleep(POLL_MS)) {
    const rows = await unminedBefore(ctx.db, { ...input, limit: RECORDED_LIMIT })
    const isWorthWaiting = rows.some((row) => isUnsent(row) && row.ageSeconds < BROADCAST_WITHIN_SECONDS)
    if (isWorthWaiting && Date.now() < endsAt) continue
    const inNonceOrder = rows.filter(isOwn).sort((one, other) => one.nonce - other.nonce)
    return rows
      .filter((row) => !isUnsent(row))
      .flatMap((row) => (isOwn(row) ? (inNonceOrder.shift() ?? []) : row))
      .map(intentOf)
  }
}

/** Where the wallet stands among what is recorded. */
export type Executing = ReadContractWallet & {
  readonly chain: Chain
  readonly intents: readonly Intent[]
  /** What is recorded before it. */
  readonly behind: () => Promise<readonly RecordedIntent[]>
}

type Wanted = {
  readonly chain: Chain
  readonly projectId: string
  readonly contract: ReadContractWallet
  readonly intents: readonly Intent[]
}

/** Of what a wallet is to do. Pure. */
export const executing = (ctx: Pick<Ctx, 'db'>, { chain, projectId, contract, intents }: Wanted): Executing => {
  const { address, owner } = contract.wallet
  const to = [address, ...destinationsOf(intents)]
  const signer = { network: chain.network, address: owner }
  return { ...contract, chain, intents, behind: () => recordedBefore(ctx, { signer, projectId, to }) }
}

/** Whether no deployment is recorded that could still put code there; one that did is unknown to a node that lags behind. */
export const lacksDeployment = async (
  db: Queryable,
  wallet: { readonly network: Network; readonly contractWallet: string },
): Promise<boolean> => !(await hasDeployment(db, wallet))

/** Of more than this the oldest are left out: they are mined first. */
const HELD_LIMIT = 500

const isHex = (text: string): text is Hex => text.startsWith('0x')

/** The coins that the wallet is to send by what is in no block yet. */
const heldValue = async (db: Queryable, { chain, wallet, contractWallets }: Executing): Promise<bigint> => {
  const { network } = chain
  const inputs = await heldInputs(db, { network, contractWallet: wallet.address, limit: HELD_LIMIT })
  return sumOfValues(inputs.flatMap((input) => (isHex(input) ? (contractWallets.executed(input) ?? []) : [])))
}

const coinOf = async ({ chain, wallet }: Executing): Promise<bigint> =>
  (await chain.balances({ address: wallet.address, contracts: [] })).coin

/** The wallet pays what its calls send, and the owner's key the fee: the sentence names the one that lacks it. */
const unfunded = async (of: Executing, held: bigint): Promise<AppError> => {
  const { decimals, symbol } = nativeToken(of.chain)
  const amount = (wei: bigint) => `${displayAmount(wei, decimals)} ${symbol}`
  // Of all of them, though an earlier one may be the first that fails: with less the next request would fail as well.
  const needed = sumOfValues(of.intents)
  const spent = held === 0n ? '' : `, of which its pending transactions spend ${amount(held)}`
  return new AppError(
    'balance_insufficient',
    `${of.wallet.address} needs ${amount(needed)} for this transaction, and has ${amount(await coinOf(of))}${spent}.`,
  )
}

type Told = { readonly hindrance: Hindrance; readonly held: bigint; readonly cause?: unknown }

const refusalOf = async (of: Executing, { hindrance, held, cause }: Told): Promise<AppError> => {
  const { reason, index, isUnfunded } = hindrance
  if (isUnfunded) return unfunded(of, held)
  const place = of.intents.length === 1 ? '' : ` (unsigned_transactions.${index})`
  return new AppError('execution_reverted', `${reason}${place}`, { cause })
}

const hindranceBehind = async ({ contractWallets, wallet, intents, behind }: Executing): Promise<Hindrance | null> =>
  contractWallets.hindrance({ address: wallet.address, intents, behind: await behind() })

/** A revert that nobody can read but in docs/error_codes.md of Safe's contracts. */
const SAFE_CODE = /\bGS[0-9]{3}$/

/**
 * The Safe contracts say of what fails within only that it failed. Where the wallet itself cannot do what it is to do, by
 * itself or behind what is recorded, that is the reason.
 * @throws execution_reverted, balance_insufficient, and whatever `judge` throws.
 */
export const withReasonWithin = async <Result>(
  db: Queryable,
  { of, judge }: { readonly of: Executing; readonly judge: () => Promise<Result> },
): Promise<Result> => {
  try {
    return await judge()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'execution_reverted') throw error
    const { contractWallets, wallet, intents } = of
    const alone = await contractWallets.hindrance({ address: wallet.address, intents })
    if (alone !== null) throw await refusalOf(of, { hindrance: alone, held: 0n, cause: error })
    const hindrance = await hindranceBehind(of)
    if (hindrance !== null) throw await refusalOf(of, { hindrance, held: await heldValue(db, of), cause: error })
    if (!SAFE_CODE.test(error.message)) throw error
    const sentence = `${error.message}: what the contract wallet is to do fails, behind what is pending or for want of gas`
    throw new AppError('execution_reverted', sentence, { cause: error })
  }
}

/**
 * Refuses what the wallet can do by itself, and not behind what it is to do before. That may bring in coins as well: where
 * the sum is too much for the balance, a simulation decides. @throws balance_insufficient, execution_reverted.
 */
export const refuseOverspent = async (db: Queryable, of: Executing): Promise<void> => {
  const value = sumOfValues(of.intents)
  const held = value === 0n ? 0n : await heldValue(db, of)
  if (held === 0n || held + value <= (await coinOf(of))) return
  const hindrance = await hindranceBehind(of)
  if (hindrance !== null) throw await refusalOf(of, { hindrance, held })
}
