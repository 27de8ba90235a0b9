// Makes a transaction from an intent. One batch asks for everything; only a revert or a lack of funds needs more
// questions. Estimates have no fees, so that a node cannot report missing funds for gas as a revert. Whether the sender
// can pay is checked here, by the balance from the same batch.

import { formatUnits } from 'viem/utils'
import { lower } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { EvmUnsigned, FillOptions, Intent, Prepared, PrepareOptions, RecordedIntent } from '../chain.ts'
import type { ContractWallet } from '../contract-wallets.ts'
import { type Answer, type Question, question } from '../node/rpc.ts'
import { bytes, quantity, record } from '../node/wire.ts'
import { runBundle } from './bundle.ts'
import { transactionObject } from './call.ts'
import { countQuestion, joinCounts, notYetMined } from './counts.ts'
import { describeFailures, type Failed, failedBy, failedIn } from './failures.ts'
import { assertRelayed, chooseFees, marketFees } from './fees.ts'
import { dataOnlyGas, intrinsicGas, tooMuchGas } from './intrinsic.ts'
import type { NodeContext } from './limits.ts'
import { assertBelowCeiling, type FeeHistory, historyQuestion, marketOf } from './market.ts'
import { isExecutionFailure, isNoFunds, isPendingMissing } from './node-errors.ts'
import { asDeployed } from './safe/settings.ts'
import { type Overrides, overridesObject } from './simulate.ts'
import { surchargeFrom, surchargeQuestions } from './surcharge.ts'
import { assertForm, complete, type Fees, fillIn, pricedFees, worstCost } from './unsigned.ts'

/** The state may change until the transaction is mined. A plain transfer needs no margin. */
const ESTIMATE_MARGIN_PERCENT = 20n
/**
 * More gas is needed than used: refunds (EIP-3529) return up to a fifth, and each inner call leaves a 64th behind
 * (EIP-150).
 */
const GAS_USED_MARGIN_PERCENT = 50n
const TRANSACTION_GAS = 21_000n
/** go-ethereum's estimate is up to 1.5 % too high (eth/gasestimator). */
const ESTIMATE_ERROR_PERCENT = 3n
/** Half of the smallest blocks that are known, those of HyperEVM (Hyperliquid docs, dual-block architecture). */
const FITS_ANY_BLOCK_GAS = 1_000_000n
/** The assumed balance for estimating a transfer that the sender cannot pay. */
const RICH = 2n ** 200n

type PrepareContext = Omit<NodeContext, 'network'> & { readonly row: EvmNetworkRow }

const raised = (amount: bigint, percent: bigint): bigint => amount + (amount * percent) / 100n

/** The state on which the transaction will run, as far as the node knows. */
const chooseState = ({ limits }: PrepareContext): string => (limits.lacks('pending') ? 'latest' : 'pending')

/** `overrides`: assumptions about the state. */
type Sending = { readonly from: string; readonly intent: Intent; readonly overrides: Overrides }

const createSending = (intent: Intent, from: string, asIfDeployed: ContractWallet | undefined): Sending => ({
  intent,
  from,
  overrides: asIfDeployed === undefined ? {} : asDeployed(asIfDeployed),
})

const gasParams = (context: PrepareContext, { from, intent, overrides }: Sending): readonly unknown[] => [
  transactionObject(from, intent),
  chooseState(context),
  ...(Object.keys(overrides).length === 0 ? [] : [overridesObject(overrides)]),
]

/** The caller's gas limit is kept, but the call is simulated with it. */
const gasQuestion = (context: PrepareContext, sending: Sending): Question<bigint> => {
  const { gasLimit } = sending.intent
  const params = gasParams(context, sending)
  if (gasLimit === undefined) return question('eth_estimateGas', params, quantity)
  return question('eth_call', params, (result) => {
    bytes(result)
    return gasLimit
  })
}

/** If the node has no pending state, asks again on the newest block. */
const settleGas = async (context: PrepareContext, sending: Sending, gas: Answer<bigint>): Promise<Answer<bigint>> => {
  if (gas.ok || !isPendingMissing(gas.error)) return gas
  context.limits.learn('pending')
  return context.rpc.try(gasQuestion(context, sending))
}

/** null if every block takes this much gas. */
const blockGasLimitQuestion = (gasLimit: bigint | undefined): Question<bigint> | null =>
  gasLimit === undefined || gasLimit <= FITS_ANY_BLOCK_GAS
    ? null
    : question('eth_getBlockByNumber', ['latest', false], (block) => quantity(record(block).gasLimit))

/** Every node would refuse the transaction, and it would block the sender's later nonces. */
const assertFitsBlock = (intent: Intent, blockGasLimit: bigint | null): void => {
  if (intent.gasLimit === undefined || blockGasLimit === null || intent.gasLimit <= blockGasLimit) return
  throw new AppError(
    'invalid_input',
    `Field "unsigned_transaction.gasLimit" must not be above the gas limit of a block, ${blockGasLimit}.`,
  )
}

const withMargin = (gas: bigint, percent: bigint): bigint => (gas === TRANSACTION_GAS ? gas : raised(gas, percent))

/**
 * The gas limit for what needs this much: with a margin, as far as the network and its blocks allow one.
 * @throws execution_reverted if no transaction may have as much as it needs.
 */
const gasLimitFor = async (
  { rpc, row }: PrepareContext,
  { needed, percent }: { readonly needed: bigint; readonly percent: bigint },
): Promise<bigint> => {
  const wanted = withMargin(needed, percent)
  const asked = blockGasLimitQuestion(wanted)
  const blockGasLimit = asked === null ? wanted : await rpc.ask(asked)
  const most = lower(blockGasLimit, row.maxTransactionGas ?? blockGasLimit)
  if (needed > most) throw new AppError('execution_reverted', tooMuchGas(row, { needed, most }))
  return lower(wanted, most)
}

const reverted = async (
  { rpc, row, memory }: PrepareContext,
  { to, failed, cause }: { readonly to: string | null; readonly failed: Failed; readonly cause: unknown },
): Promise<AppError> => {
  const [sentence] = await describeFailures({ rpc, memory, network: row.network }, [{ to, failed }])
  return new AppError('execution_reverted', sentence ?? failed.failure, { cause })
}

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

/** Estimates the gas as if the sender could pay the value. */
const estimateRich = (context: PrepareContext, sending: Sending): Promise<Answer<bigint>> => {
  const overrides = { ...sending.overrides, [sending.from]: { balance: RICH } }
  return context.rpc.try(question('eth_estimateGas', gasParams(context, { ...sending, overrides }), quantity))
}

/** @returns the error to throw, with the amount needed and the balance after the sender's pending transactions. */
const explainNoFunds = async (
  context: PrepareContext,
  sending: Sending,
  state: { readonly fees: Fees; readonly surchargeAt: ReturnType<typeof surchargeFrom> },
): Promise<AppError> => {
  const { intent, from } = sending
  const [balance, gas] = await Promise.all([
    context.rpc.ask(question('eth_getBalance', [from, chooseState(context)], quantity)),
    estimateRich(context, sending),
  ])
  const wanted = gas.ok ? withMargin(gas.value, ESTIMATE_MARGIN_PERCENT) : intrinsicGas(intent)
  const gasLimit = intent.gasLimit ?? lower(wanted, context.row.maxTransactionGas ?? wanted)
  const needed = intent.value + gasLimit * state.fees.maxFeePerGas + state.surchargeAt(gasLimit)
  return insufficient(context.row, { from, needed, balance, least: intent.gasLimit === undefined && !gas.ok })
}

type EstimatedSending = Sending & {
  readonly pending: PrepareOptions['pending']
  readonly gas: Answer<bigint>
}

/** The gas limit by the estimate alone. @throws execution_reverted */
const gasAlone = async (
  context: PrepareContext,
  { intent, gas }: Pick<EstimatedSending, 'intent' | 'gas'>,
): Promise<bigint> => {
  if (gas.ok) return intent.gasLimit ?? gasLimitFor(context, { needed: gas.value, percent: ESTIMATE_MARGIN_PERCENT })
  throw await reverted(context, { to: intent.to, failed: failedBy(gas.error), cause: gas.error })
}

/** Asks again, because the first answer may be older than the block with a transaction that this one depends on. */
const estimateAgain = async (context: PrepareContext, sending: Sending): Promise<Answer<bigint>> => {
  const gas = await context.rpc.try(gasQuestion(context, sending))
  if (!gas.ok && !isExecutionFailure(gas.error)) throw context.rpc.refusal(gas.error)
  return gas
}

/** Simulates the transaction after the pending ones, in case it depends on them. @returns the gas limit */
const gasAfterPending = async (context: PrepareContext, estimated: EstimatedSending): Promise<bigint> => {
  const { intent, from, gas } = estimated
  const live = await notYetMined(context.rpc, await estimated.pending())
  // Only a creation or a call of another contract can put code at an address without code.
  const mayMatter = (each: RecordedIntent) =>
    !gas.ok || each.to === null || (each.input !== '0x' && each.to !== intent.to)
  if (!gas.ok && live.length === 0) return gasAlone(context, { intent, gas: await estimateAgain(context, estimated) })
  if (!live.some(mayMatter)) return gasAlone(context, estimated)
  const ends = await runBundle(context.rpc, context.limits, { from, calls: [...live, intent] })
  const end = ends?.at(-1)
  if (end === undefined) return gasAlone(context, estimated)
  const failed = failedIn(end)
  if (failed !== null) throw await reverted(context, { to: intent.to, failed, cause: gas.ok ? null : gas.error })
  if (gas.ok && end.gasUsed <= gas.value) return gasAlone(context, estimated)
  return intent.gasLimit ?? gasLimitFor(context, { needed: end.gasUsed, percent: GAS_USED_MARGIN_PERCENT })
}

/**
 * Whether a call needs so little gas that its target seems to have no code. If a pending transaction creates the
 * contract, the estimate is far too low.
 */
const seemsWithoutCode = (intent: Intent, gas: bigint): boolean =>
  intent.to !== null &&
  intent.input !== '0x' &&
  intent.gasLimit === undefined &&
  gas <= raised(dataOnlyGas(intent), ESTIMATE_ERROR_PERCENT)

/** @throws execution_reverted, invalid_input for what no node takes. */
export const prepare = async (
  context: PrepareContext,
  input: { readonly intent: Intent; readonly from: string; readonly options: PrepareOptions },
): Promise<Prepared> => {
  const { rpc, row } = context
  const { intent, from, options } = input
  assertForm(intent, row)
  const sending = createSending(intent, from, options.asIfDeployed)
  const answers = await rpc.tryAll([
    countQuestion(from, 'latest'),
    countQuestion(from, 'pending'),
    question('eth_getBalance', [from, 'latest'], quantity),
    historyQuestion(),
    gasQuestion(context, sending),
    blockGasLimitQuestion(intent.gasLimit),
    ...surchargeQuestions(row, intent),
  ])
  const [mined, pending, balanceAnswer, feeHistory, firstGas, blockGasLimit, ...surchargeAnswers] = answers
  assertFitsBlock(intent, rpc.need(blockGasLimit))
  const counts = joinCounts(rpc.need(mined), rpc.need(pending))
  const balance = rpc.need(balanceAnswer)
  const surchargeAt = surchargeFrom(rpc, surchargeAnswers)
  const market = await marketOf(context, rpc.need(feeHistory))
  assertBelowCeiling(intent, market, row)
  const fees = chooseFees(intent, market)
  assertRelayed(fees, row)
  const gas = await settleGas(context, sending, firstGas)
  if (!gas.ok && isNoFunds(gas.error)) throw await explainNoFunds(context, sending, { fees, surchargeAt })
  if (!gas.ok && !isExecutionFailure(gas.error)) throw rpc.refusal(gas.error)
  const standsAlone = gas.ok && !seemsWithoutCode(intent, gas.value)
  const estimated = { ...sending, gas, pending: options.pending }
  const gasLimit = standsAlone ? await gasAlone(context, estimated) : await gasAfterPending(context, estimated)
  const unsigned = fillIn(intent, { ...fees, row, nonce: intent.nonce ?? counts.pendingCount, gasLimit })
  const surcharge = surchargeAt(gasLimit)
  const cost = worstCost(unsigned) + surcharge
  if (balance < cost && input.options.skipsBalanceCheck !== true)
    throw insufficient(row, { from, needed: cost, balance, least: false })
  const atMarket = { ...unsigned, ...marketFees(market) }
  return { ...counts, unsigned, atMarket, balance, worstCost: cost, surcharge, feeAsset: null }
}

const asked = <Value>(answer: Answer<Value | null>): Answer<Value> => {
  if (!answer.ok) return answer
  if (answer.value === null) throw new Error('the node was not asked for this')
  return { ok: true, value: answer.value }
}

/** @param answer to `gasQuestion`, which is asked only if the caller left the gas limit open. */
const estimateForSigning = async (
  context: PrepareContext,
  sending: Sending,
  answer: Answer<bigint | null>,
): Promise<bigint> => {
  const { intent } = sending
  if (intent.gasLimit !== undefined) return intent.gasLimit
  let gas = await settleGas(context, sending, asked(answer))
  if (!gas.ok && isNoFunds(gas.error)) gas = await estimateRich(context, sending)
  if (!gas.ok && !isExecutionFailure(gas.error)) throw context.rpc.refusal(gas.error)
  return gasAlone(context, { intent, gas })
}

const fixedFees = (intent: Intent): Fees | null => {
  const { maxFeePerGas, maxPriorityFeePerGas } = pricedFees(intent) ?? intent
  return maxFeePerGas === undefined || maxPriorityFeePerGas === undefined
    ? null
    : { maxFeePerGas, maxPriorityFeePerGas }
}

/** @throws fee_ceiling_reached */
const feesAtMarket = async (context: PrepareContext, intent: Intent, history: FeeHistory): Promise<Fees> => {
  const market = await marketOf(context, history)
  assertBelowCeiling(intent, market, context.row)
  return chooseFees(intent, market)
}

/** See `Submission.fill`. One batch asks for all that is open. A sender needs no funds. @throws fee_ceiling_reached */
export const fill = async (
  context: PrepareContext,
  input: { readonly intent: Intent; readonly from: string; readonly options: FillOptions },
): Promise<EvmUnsigned> => {
  const { rpc, row } = context
  const { intent, from, options } = input
  const { nonce: wanted, asIfDeployed } = options
  const whole = typeof wanted === 'number' ? complete(row, { ...intent, nonce: wanted }) : null
  if (whole !== null) return whole
  const sending = createSending(intent, from, asIfDeployed)
  const fixed = fixedFees(intent)
  const isOpen = typeof wanted !== 'number'
  const [mined, pending, history, gas, blockGasLimit] = await rpc.tryAll([
    isOpen ? countQuestion(from, 'latest') : null,
    isOpen ? countQuestion(from, 'pending') : null,
    fixed === null ? historyQuestion() : null,
    intent.gasLimit === undefined ? gasQuestion(context, sending) : null,
    blockGasLimitQuestion(intent.gasLimit),
  ])
  const nonce = isOpen ? await wanted(joinCounts(rpc.need(asked(mined)), rpc.need(asked(pending)))) : wanted
  assertFitsBlock(intent, rpc.need(blockGasLimit))
  const [fees, gasLimit] = await Promise.all([
    fixed ?? feesAtMarket(context, intent, rpc.need(asked(history))),
    estimateForSigning(context, sending, gas),
  ])
  return fillIn(intent, { ...fees, row, nonce, gasLimit })
}
