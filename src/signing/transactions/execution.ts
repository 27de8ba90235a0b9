// What a contract wallet's execution depends on, and why it would fail.

import { setTimeout as sleep } from 'node:timers/promises'
import type { HasDb, Queryable } from '../../../db/client.ts'
import { pendingInputs } from '../../../db/queries/contract-wallets.ts'
import { type Signer, type UnminedRow, unminedBefore } from '../../../db/queries/transactions.ts'
import type { TransactionKind } from '../../../db/words.ts'
import type { Chain, Intent, RecordedIntent } from '../../chains/chain.ts'
import type { FailingCall } from '../../chains/contract-wallets.ts'
import { destinationsOf, isHex, sumOfValues } from '../../chains/intent.ts'
import { AppError } from '../../platform/errors.ts'
import type { Turn } from '../../platform/queue.ts'
import { coinAmount } from '../token.ts'
import type { ReadContractWallet } from '../wallets/signer.ts'

/** The newest ones: nodes limit the gas of a simulation. */
const RECORDED_LIMIT = 500
/** A new transaction is usually sent within milliseconds; after this time it counts as stuck. */
const BROADCAST_WITHIN_SECONDS = 2
const POLL_MS = 20

const readIntent = (row: UnminedRow): RecordedIntent => ({
  from: row.signerAddress,
  nonce: row.nonce,
  to: row.to,
  value: row.value,
  input: isHex(row.input) ? row.input : '0x',
  gasLimit: row.gasLimit,
})

/**
 * The pending transactions that an intent may depend on: the signer's own, in the order of their nonces, and those of
 * the project's other signers that go to the same addresses or create a contract. Those count once a node has them; for
 * new ones it waits a moment.
 * @param input.to the destination of the intent and, for a contract wallet, of its calls; empty for a creation.
 * @param input.turn after which the signer's earlier requests are recorded.
 */
export const recordedBefore = async (
  ctx: HasDb,
  input: {
    readonly signer: Signer
    readonly projectId: string
    readonly to: readonly string[]
    readonly turn: Turn
  },
): Promise<readonly RecordedIntent[]> => {
  await input.turn()
  const isOwn = (row: UnminedRow) => row.signerAddress === input.signer.address
  const isUnsent = (row: UnminedRow) => !isOwn(row) && row.status === 'submitted'
  for (const endsAt = performance.now() + BROADCAST_WITHIN_SECONDS * 1_000; ; await sleep(POLL_MS)) {
    const rows = await unminedBefore(ctx.db, { ...input, limit: RECORDED_LIMIT })
    const isWorthWaiting = rows.some((row) => isUnsent(row) && row.ageSeconds < BROADCAST_WITHIN_SECONDS)
    if (isWorthWaiting && performance.now() < endsAt) continue
    const inNonceOrder = rows.filter(isOwn).sort((one, other) => one.nonce - other.nonce)
    return rows
      .filter((row) => !isUnsent(row))
      .flatMap((row) => (isOwn(row) ? (inNonceOrder.shift() ?? []) : row))
      .map(readIntent)
  }
}

export type Execution = ReadContractWallet & {
  readonly chain: Chain
  readonly kind: TransactionKind
  readonly intents: readonly Intent[]
  /** After this, what its signer was asked for earlier is recorded. */
  readonly turn: Turn
  readonly pending: () => Promise<readonly RecordedIntent[]>
}

export const makeExecution = (
  ctx: HasDb,
  input: Pick<Execution, 'chain' | 'kind' | 'intents' | 'turn'> & {
    readonly projectId: string
    readonly contract: ReadContractWallet
  },
): Execution => {
  const { chain, kind, projectId, contract, intents, turn } = input
  const { address, owner } = contract.wallet
  const to = [address, ...destinationsOf(intents)]
  const signer = { network: chain.network, address: owner }
  return {
    ...contract,
    chain,
    kind,
    intents,
    turn,
    pending: () => recordedBefore(ctx, { signer, projectId, to, turn }),
  }
}

/** The newest ones: the oldest are mined first. */
const HELD_LIMIT = 500

/** The coins that the wallet's pending executions send. */
const heldValue = async (db: Queryable, { chain, wallet, contractWallets, turn }: Execution): Promise<bigint> => {
  await turn()
  const { network } = chain
  const inputs = await pendingInputs(db, { network, contractWallet: wallet.address, limit: HELD_LIMIT })
  return sumOfValues(inputs.flatMap((input) => (isHex(input) ? (contractWallets.executed(input) ?? []) : [])))
}

const readCoin = async ({ chain, wallet }: Execution): Promise<bigint> =>
  (await chain.balances({ address: wallet.address, contracts: [] })).coin

/** The error names the wallet, which pays what its calls send, and not its key, which pays the fee. */
const unfunded = async (execution: Execution, held: bigint): Promise<AppError> => {
  const amount = (wei: bigint) => coinAmount(execution.chain, wei)
  // The sum of all intents, even if an earlier one fails first: with less the next request would fail as well.
  const needed = sumOfValues(execution.intents)
  const spent = held === 0n ? '' : `, of which its pending transactions spend ${amount(held)}`
  return new AppError(
    'balance_insufficient',
    `${execution.wallet.address} needs ${amount(needed)} for this transaction, and has ${amount(await readCoin(execution))}${spent}.`,
  )
}

type Refusal = { readonly failingCall: FailingCall; readonly held: bigint; readonly cause?: unknown }

const explainRefusal = async (execution: Execution, { failingCall, held, cause }: Refusal): Promise<AppError> => {
  const { reason, index, isUnfunded } = failingCall
  if (isUnfunded) return unfunded(execution, held)
  const field = execution.kind === 'token_transfer' ? 'transfers' : 'unsigned_transactions'
  const place = execution.intents.length === 1 ? '' : ` (${field}.${index})`
  return new AppError('execution_reverted', `${reason}${place}`, { cause })
}

/** An error code of the Safe contracts (their docs/error_codes.md), which says nothing to most readers. */
const SAFE_CODE = /\bGS[0-9]{3}$/

/**
 * The Safe contracts say only that an inner call failed. So this simulates the calls from the wallet itself, first
 * alone, then after the pending transactions. @throws execution_reverted
 */
export const withInnerReason = async <Result>(
  db: Queryable,
  { execution, simulate }: { readonly execution: Execution; readonly simulate: () => Promise<Result> },
): Promise<Result> => {
  try {
    return await simulate()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'execution_reverted') throw error
    const { contractWallets, wallet, intents, pending } = execution
    const { address } = wallet
    const alone = await contractWallets.failingCall({ address, intents })
    if (alone !== null) throw await explainRefusal(execution, { failingCall: alone, held: 0n, cause: error })
    const failingCall = await contractWallets.failingCall({ address, intents, pending: await pending() })
    if (failingCall !== null)
      throw await explainRefusal(execution, { failingCall, held: await heldValue(db, execution), cause: error })
    if (!SAFE_CODE.test(error.message)) throw error
    const sentence = `${error.message}: the calls of the contract wallet fail after its pending transactions, or for lack of gas`
    throw new AppError('execution_reverted', sentence, { cause: error })
  }
}

/** Pending executions may bring in coins, so a simulation decides on a low balance. @throws execution_reverted */
export const refuseOverspent = async (db: Queryable, execution: Execution): Promise<void> => {
  const value = sumOfValues(execution.intents)
  const held = value === 0n ? 0n : await heldValue(db, execution)
  if (held === 0n || held + value <= (await readCoin(execution))) return
  const { contractWallets, wallet, intents, pending } = execution
  const failingCall = await contractWallets.failingCall({ address: wallet.address, intents, pending: await pending() })
  if (failingCall !== null) throw await explainRefusal(execution, { failingCall, held })
}
