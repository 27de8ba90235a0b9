// An intent becomes a transaction: one batch asks for everything; only a revert or an empty purse asks again.
// Estimates name no fees, so a node cannot mistake missing gas money for a revert: whether the sender can pay is judged
// here, from the balance in the same batch.

import { encodeFunctionData, formatUnits, parseAbi } from 'viem'
import { AppError } from '../../errors.ts'
import type { EvmUnsigned, Intent, Prepared, PrepareOptions } from '../chain.ts'
import type { EvmNetworkRow } from '../networks.ts'
import { runBundle, type SimulationLimits } from './bundle.ts'
import { readQuestion, transactionObject } from './call.ts'
import { serializeUnsigned } from './encode.ts'
import { assertRelayed, chooseFees, feeQuestion } from './fees.ts'
import { intrinsicGas } from './intrinsic.ts'
import { isExecutionFailure, isNoFunds } from './nodeErrors.ts'
import { failureOf } from './reverts.ts'
import { type Answer, type Question, question, type Rpc, type RpcError } from './rpc.ts'
import { assertFees, type Fees, fillIn, worstCost } from './unsigned.ts'
import { MalformedAnswer, quantity, smallQuantity, toQuantity } from './wire.ts'

/** Estimates are nearly exact, and the state moves on until the transaction is mined. A plain transfer needs no margin. */
const ESTIMATE_MARGIN_PERCENT = 20n
/**
 * What was used is less than what is needed: refunds (EIP-3529) give back up to a fifth, and each inner call keeps a
 * 64th behind (EIP-150).
 */
const GAS_USED_MARGIN_PERCENT = 50n
const TRANSACTION_GAS = 21_000n
/** Layer 1's fees may rise until the transaction is included. */
const L1_FEE_MARGIN_PERCENT = 25n
/** What the sender is given to estimate the gas of a transfer that it cannot pay. */
const RICH = 2n ** 200n

const ORACLE_ABI = parseAbi(['function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256)'])

export type PrepareContext = { readonly rpc: Rpc; readonly row: EvmNetworkRow; readonly limits: SimulationLimits }

const raised = (amount: bigint, percent: bigint): bigint => amount + (amount * percent) / 100n

const estimateQuestion = (from: string, intent: Intent): Question<bigint> =>
  question('eth_estimateGas', [transactionObject(from, intent), 'pending'], quantity)

/** A caller's gas limit is kept; whether the call succeeds within it is asked all the same. */
const gasQuestion = (from: string, intent: Intent): Question<bigint> => {
  const { gasLimit } = intent
  if (gasLimit === undefined) return estimateQuestion(from, intent)
  return question('eth_call', [transactionObject(from, intent), 'pending'], () => gasLimit)
}

const marginOf = (intent: Intent, gas: bigint): bigint => {
  if (intent.gasLimit !== undefined) return intent.gasLimit
  return gas === TRANSACTION_GAS ? gas : raised(gas, ESTIMATE_MARGIN_PERCENT)
}

/** GasPriceOracle.getL1FeeUpperBound (OP stack, since Fjord) for the longest that this transaction can be. */
const l1FeeQuestion = (row: EvmNetworkRow, intent: Intent): Question<bigint> | null => {
  if (row.gasPriceOracle === null) return null
  const longest = fillIn(intent, {
    chainId: row.chainId,
    nonce: 2 ** 32,
    gasLimit: 2n ** 32n,
    maxFeePerGas: row.maxFeePerGasCapWei,
    maxPriorityFeePerGas: row.maxFeePerGasCapWei,
  })
  const size = BigInt((serializeUnsigned(longest).length - 2) / 2)
  const data = encodeFunctionData({ abi: ORACLE_ABI, functionName: 'getL1FeeUpperBound', args: [size] })
  const read = readQuestion({ to: row.gasPriceOracle, data })
  const parse = (result: unknown): bigint => {
    const word = read.parse(result)
    if (word.length !== 66) throw new MalformedAnswer('the fee of the GasPriceOracle')
    return raised(BigInt(word), L1_FEE_MARGIN_PERCENT)
  }
  return { ...read, parse }
}

const reverted = (failure: string, cause: unknown): AppError => new AppError('execution_reverted', failure, { cause })

const insufficient = (
  row: EvmNetworkRow,
  state: { readonly from: string; readonly needed: bigint; readonly balance: bigint; readonly least: boolean },
): AppError => {
  const amount = (wei: bigint): string => `${formatUnits(wei, row.coin.decimals)} ${row.coin.symbol}`
  const needs = `${state.least ? 'at least ' : ''}${amount(state.needed)}`
  return new AppError(
    'balance_insufficient',
    `${state.from} needs ${needs} for this transaction and its fee, and has ${amount(state.balance)}.`,
  )
}

/** The gas that the call would take if the sender could pay its value; null where that cannot be told. */
const estimateRich = async (rpc: Rpc, from: string, intent: Intent): Promise<Answer<bigint>> => {
  const object = transactionObject(from, intent)
  return rpc.try(question('eth_estimateGas', [object, 'pending', { [from]: { balance: toQuantity(RICH) } }], quantity))
}

/** @returns the error to throw: what is needed and what is there, behind the sender's own pending transactions. */
const explainNoFunds = async (
  context: PrepareContext,
  state: { readonly intent: Intent; readonly from: string; readonly fees: Fees; readonly surcharge: bigint },
): Promise<AppError> => {
  const { intent, from } = state
  const [balance, gas] = await Promise.all([
    context.rpc.ask(question('eth_getBalance', [from, 'pending'], quantity)),
    estimateRich(context.rpc, from, intent),
  ])
  const gasLimit = intent.gasLimit ?? (gas.ok ? marginOf(intent, gas.value) : intrinsicGas(intent))
  const needed = intent.value + gasLimit * state.fees.maxFeePerGas + state.surcharge
  return insufficient(context.row, { from, needed, balance, least: intent.gasLimit === undefined && !gas.ok })
}

/** Runs the signer's live transactions first, in case this one depends on them. @throws execution_reverted */
const judgeBehind = async (
  context: PrepareContext,
  state: {
    readonly intent: Intent
    readonly from: string
    readonly behind: readonly Intent[]
    readonly minedCount: number
    readonly error: RpcError
  },
): Promise<bigint> => {
  const { intent, from, error } = state
  // One that was mined meanwhile has had its effect.
  const live = state.behind.filter(({ nonce }) => nonce === undefined || nonce >= state.minedCount)
  if (live.length === 0) throw reverted(failureOf(error), error)
  const ends = await runBundle(context.rpc, context.limits, { from, calls: [...live, intent] })
  const end = ends?.at(-1)
  if (end === undefined) throw reverted(failureOf(error), error)
  if (end.failure !== null) throw reverted(end.failure, error)
  return intent.gasLimit ?? raised(end.gasUsed, GAS_USED_MARGIN_PERCENT)
}

/** @throws execution_reverted, balance_insufficient, fee_too_low, node_unavailable. */
export const prepare = async (
  context: PrepareContext,
  input: { readonly intent: Intent; readonly from: string; readonly options: PrepareOptions },
): Promise<Prepared> => {
  const { rpc, row } = context
  const { intent, from } = input
  const answers = await rpc.tryAll([
    question('eth_getTransactionCount', [from, 'latest'], smallQuantity),
    question('eth_getTransactionCount', [from, 'pending'], smallQuantity),
    question('eth_getBalance', [from, 'latest'], quantity),
    feeQuestion(intent),
    l1FeeQuestion(row, intent),
    gasQuestion(from, intent),
  ])
  const [mined, pending, purse, market, l1Fee, gas] = answers
  const minedCount = rpc.need(mined)
  const pendingCount = Math.max(minedCount, rpc.need(pending))
  const balance = rpc.need(purse)
  const surcharge = rpc.need(l1Fee) ?? 0n
  const fees = chooseFees(intent, rpc.need(market), row)
  assertRelayed(fees, row)
  let gasLimit: bigint
  if (gas.ok) gasLimit = marginOf(intent, gas.value)
  else if (isNoFunds(gas.error)) throw await explainNoFunds(context, { intent, from, fees, surcharge })
  else if (!isExecutionFailure(gas.error)) throw rpc.refusal(gas.error)
  else
    gasLimit = await judgeBehind(context, { intent, from, behind: input.options.behind, minedCount, error: gas.error })
  const unsigned = fillIn(intent, { ...fees, chainId: row.chainId, nonce: intent.nonce ?? pendingCount, gasLimit })
  const cost = worstCost(unsigned) + surcharge
  if (balance < cost) throw insufficient(row, { from, needed: cost, balance, least: false })
  return { unsigned, minedCount, pendingCount, balance, worstCost: cost }
}

/** Fees and gas for signing: a sender without money may sign as well. @throws execution_reverted, node_unavailable. */
export const fill = async (
  context: PrepareContext,
  input: { readonly intent: Intent; readonly from: string; readonly nonce: number },
): Promise<EvmUnsigned> => {
  const { rpc, row } = context
  const { intent, from, nonce } = input
  const given = intent.gasLimit
  const [market, estimate] = await rpc.tryAll([
    feeQuestion(intent),
    given === undefined ? estimateQuestion(from, intent) : null,
  ])
  const fees = chooseFees(intent, rpc.need(market), row)
  assertFees(fees)
  let gas: Answer<bigint | null> = estimate
  if (!gas.ok && isNoFunds(gas.error)) gas = await estimateRich(rpc, from, intent)
  if (!gas.ok && isExecutionFailure(gas.error)) throw reverted(failureOf(gas.error), gas.error)
  const gasLimit = given ?? marginOf(intent, rpc.need(gas) ?? intrinsicGas(intent))
  return fillIn(intent, { ...fees, chainId: row.chainId, nonce, gasLimit })
}
