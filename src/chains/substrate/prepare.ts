// Turns an intent into an unsigned extrinsic. It is mortal, and its era begins at the newest final block. `prepare`
// also checks that it can be paid, and that no account would fall below the existential deposit.

import { displayAmount, higher } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, Intent, Prepared, PrepareOptions, RecordedIntent, SubstrateUnsigned } from '../chain.ts'
import { NodeUnavailable } from '../node/wire.ts'
import { notProvided } from '../provided.ts'
import { type Account, accountQuestion, existentialDeposit, nextIndexQuestion } from './account.ts'
import { type FinalState, readFinalState } from './blocks.ts'
import { encodeIntent } from './calls.ts'
import { refuseFailing } from './dry-run.ts'
import { chosenEra } from './eras.ts'
import { describeLack, feeAssetOf, preparedFee, readFeeInAsset } from './fee-assets.ts'
import { withGasLimit } from './gear.ts'
import type { SubstrateNode } from './node.ts'
import { dispatchQuestion, feeQuestion, readPayer, unlessUndecodable } from './query-fee.ts'
import type { Runtime } from './runtime.ts'
import { gasOnVoucher, gasPaidBy, type Spending, spentBy } from './spending.ts'
import { headerQuestion } from './storage.ts'

/** The fee may rise with the congestion of the block that takes it (TransactionPayment.NextFeeMultiplier). */
const FEE_MARGIN_PERCENT = 25n

/** An extrinsic that is made here. */
type MortalUnsigned = SubstrateUnsigned & {
  readonly era: NonNullable<SubstrateUnsigned['era']>
  readonly validUntilBlock: bigint
}

/** The highest fee to expect by the time that a block takes the extrinsic. Pure. */
export const withMargin = (fee: bigint): bigint => fee + (fee * FEE_MARGIN_PERCENT) / 100n

type Filling = FinalState & {
  readonly intent: Intent
  readonly from: string
  readonly nonce: number
  /** Used if the caller did not choose how many blocks the extrinsic stays valid. */
  readonly eraBlocks: number
}

/** @throws not_implemented for a runtime whose extrinsics cannot be made here. */
export const requireForm = ({ form }: Runtime, { network }: Pick<SubstrateNetworkRow, 'network'>): void => {
  if (form.unsupported.length === 0) return
  const names = form.unsupported.join(', ')
  throw notProvided(`The runtime of ${network} requires signatures to cover ${names}, which is not supported here.`)
}

/** Builds the unsigned extrinsic, still without the metadata hash. */
export const buildUnsigned = (
  { row }: Pick<SubstrateNode, 'row'>,
  { runtime, intent, from, nonce, head, eraBlocks }: Filling,
): MortalUnsigned => {
  requireForm(runtime, row)
  const { form } = runtime
  const period = intent.era === undefined ? eraBlocks : chosenEra(runtime, { period: intent.era })
  return {
    family: 'substrate',
    from,
    nonce,
    to: intent.to,
    value: intent.value,
    input: intent.input,
    gasLimit: intent.gasLimit ?? 0n,
    call: encodeIntent(runtime, row, intent),
    tip: intent.maxPriorityFeePerGas ?? 0n,
    feeAsset: intent.feeAsset === undefined ? null : feeAssetOf(runtime, row, intent.feeAsset),
    form,
    metadataHash: null,
    specVersion: runtime.specVersion,
    transactionVersion: runtime.transactionVersion,
    genesisHash: row.genesisHash,
    era: { current: Number(head.number), period },
    blockHash: head.hash,
    // The era counts the block where it begins.
    validUntilBlock: head.number + BigInt(period) - 1n,
  }
}

const amountOf = ({ row }: SubstrateNode, planck: bigint): string =>
  `${displayAmount(planck, row.coin.decimals)} ${row.coin.symbol}`

/** What an account has, in words: if coins are frozen, also how many can leave it. */
const describeHolding = (node: SubstrateNode, { free, transferable }: Account, deposit: bigint): string => {
  const locked = free - transferable
  if (locked <= deposit)
    return `beside the ${amountOf(node, deposit)} that keep the account alive, and has ${amountOf(node, free)}`
  return `and can move ${amountOf(node, transferable)} of its ${amountOf(node, free)}: the other ${amountOf(node, locked)} are bonded, locked or frozen`
}

/**
 * `cost` is what the signer must have. `worstCost`, the most that the transaction may take, counts while it is pending.
 */
const computeCost = ({ needed, most }: Spending, { account, fee }: { account: Account; fee: bigint }) => {
  const cost = needed + fee
  const bound = most === null ? cost : most === 'all' ? account.transferable : most + fee
  return { cost, worstCost: bound > account.transferable ? higher(account.transferable, cost) : bound }
}

/** @throws execution_reverted if the recipient has no account and would get less than the existential deposit. */
const refuseDust = (
  node: SubstrateNode,
  { intent, recipient, deposit }: { intent: Intent; recipient: Account | null; deposit: bigint },
): void => {
  if (recipient === null || recipient.exists || intent.value >= deposit) return
  const least = amountOf(node, deposit)
  const sentence = `Token.BelowMinimum: ${intent.to} has no account yet, and a new account needs at least ${least}.`
  throw new AppError('execution_reverted', sentence)
}

/** If finality lags, an era that begins at the final block may already have ended. */
const refuseExpired = (
  { row }: SubstrateNode,
  { final, newest, period }: { final: bigint; newest: bigint; period: number },
): void => {
  if (newest - final < BigInt(period)) return
  const sentence = `${row.network} has made ${newest - final} blocks since its newest final one, so a transaction signed now would already be expired. Try again once the network finalizes blocks.`
  throw new NodeUnavailable('refused', sentence)
}

/** The signer's pending calls. In recorded intents a gas limit of 0 means no limit was given. */
const pendingCalls = (
  { row }: SubstrateNode,
  runtime: Runtime,
  { from, pending }: { readonly from: string; readonly pending: readonly RecordedIntent[] },
): readonly Hex[] =>
  pending
    .filter((recorded) => recorded.from === from)
    .map(({ gasLimit, ...intent }) => encodeIntent(runtime, row, gasLimit ? { ...intent, gasLimit } : intent))

/** Sets the gas limit and builds the extrinsic, still without the metadata hash. */
const buildDraft = async (node: SubstrateNode, filling: Omit<Filling, 'eraBlocks'>): Promise<MortalUnsigned> => {
  const intent = await withGasLimit(node, { ...filling, blockHash: filling.head.hash })
  return buildUnsigned(node, { ...filling, intent, eraBlocks: await node.eras.blocks(filling.head) })
}

const withMetadataHash = async (node: SubstrateNode, runtime: Runtime, draft: SubstrateUnsigned) => {
  const metadataHash = await node.trust.metadataHash({ runtime, draft, blockHash: draft.blockHash })
  return { ...draft, metadataHash }
}

/** Prepares an intent to be sent: checks that it can be paid and would not fail. @throws execution_reverted */
export const prepare = async (
  node: SubstrateNode,
  { intent, from, pending }: { readonly intent: Intent; readonly from: string } & Pick<PrepareOptions, 'pending'>,
): Promise<Prepared> => {
  const { head, runtime } = await readFinalState(node)
  const blockHash = head.hash
  const draft = await buildDraft(node, { head, runtime, intent, from, nonce: intent.nonce ?? 0 })
  const { call } = draft
  const paid = intent.to === null || intent.input !== '0x' ? null : intent.to
  const payer = await readPayer(node, { runtime, from, call, head })
  const ask = () =>
    node.rpc.askAll([
      headerQuestion(),
      accountQuestion(runtime, from, blockHash),
      nextIndexQuestion(from),
      dispatchQuestion(runtime, draft, blockHash),
      paid === null ? null : accountQuestion(runtime, paid, blockHash),
      payer === from ? null : accountQuestion(runtime, payer, blockHash),
    ])
  const answers = await unlessUndecodable(node, { runtime, drafts: () => [draft] }, ask)
  const [newest, account, next, dispatch, recipient, voucher] = answers
  refuseExpired(node, { final: head.number, newest: newest?.number ?? 0n, period: draft.era.period })
  const deposit = existentialDeposit(runtime)
  if (dispatch.tooGreat !== null) throw new AppError('execution_reverted', `execution reverted: ${dispatch.tooGreat}.`)
  const fee = withMargin(dispatch.fee) + draft.tip
  const inAsset = await readFeeInAsset(node, { runtime, draft, fee, contract: intent.feeAsset })
  const lack = inAsset === null ? null : describeLack(inAsset)
  if (lack !== null) throw new AppError('balance_insufficient', lack)
  if (voucher !== null) {
    const cost = fee + gasOnVoucher(runtime, call)
    if (voucher.transferable < cost) {
      const sentence = `${payer}, the account of the voucher, needs ${amountOf(node, cost)} for the fee and the gas of this transaction, ${describeHolding(node, voucher, deposit)}.`
      throw new AppError('balance_insufficient', sentence)
    }
  }
  const ownFee = voucher === null && inAsset === null ? fee : 0n
  const { cost, worstCost } = computeCost(spentBy(runtime, call), { account, fee: ownFee })
  const what = inAsset === null ? 'this transaction and its fee' : 'this transaction'
  if (account.transferable < cost) {
    const sentence = `${from} needs ${amountOf(node, cost)} for ${what}, ${describeHolding(node, account, deposit)}.`
    throw new AppError('balance_insufficient', sentence)
  }
  refuseDust(node, { intent, recipient, deposit })
  await refuseFailing(node, {
    runtime,
    from,
    blockHash,
    call,
    pending: async () => pendingCalls(node, runtime, { from, pending: await pending() }),
  })
  const minedCount = account.nonce
  const pendingCount = Math.max(minedCount, next)
  const unsigned = await withMetadataHash(node, runtime, { ...draft, nonce: intent.nonce ?? pendingCount })
  // What a voucher pays counts against a policy as well.
  const surcharge = fee + gasPaidBy(runtime, call)
  const balance = account.transferable
  const feeAsset = inAsset === null ? null : preparedFee(inAsset)
  return { unsigned, atMarket: unsigned, minedCount, pendingCount, balance, worstCost, surcharge, feeAsset }
}

/** Fills an intent to sign, without checking the balance. @throws metadata_untrusted */
export const fill = async (node: SubstrateNode, filling: Omit<Filling, 'eraBlocks'>): Promise<SubstrateUnsigned> => {
  const { runtime, intent } = filling
  const draft = await buildDraft(node, filling)
  // Asking for the fee checks that the runtime can read a raw call, and that a fee asset has a price.
  if (intent.to === null || intent.feeAsset !== undefined) {
    const ask = () => node.rpc.ask(feeQuestion(draft, draft.blockHash))
    const fee = await unlessUndecodable(node, { runtime, drafts: () => [draft] }, ask)
    await readFeeInAsset(node, { runtime, draft, fee: withMargin(fee) + draft.tip, contract: intent.feeAsset })
  }
  return withMetadataHash(node, runtime, draft)
}
