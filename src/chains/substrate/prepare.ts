// Turns an intent into an unsigned extrinsic. It is mortal, and its era begins at the newest final block. `prepare` also checks
// that it can be paid, and that no account would fall below the existential deposit.

import { AppError } from '../../errors.ts'
import { displayAmount } from '../amount.ts'
import type { Hex, Intent, Prepared, PrepareOptions, RecordedIntent, SubstrateUnsigned } from '../chain.ts'
import { NodeUnavailable } from '../node/unavailable.ts'
import { type Account, accountQuestion, existentialDeposit, larger, nextIndexQuestion } from './account.ts'
import { type FinalHead, readFinalHead } from './blocks.ts'
import { callOf } from './calls.ts'
import { refuseFailing } from './dry-run.ts'
import { chosenEra } from './eras.ts'
import { feeAssetOf } from './fee-assets.ts'
import { type FeeInAsset, lackOf, preparedFee, readFeeInAsset } from './fee-in-asset.ts'
import { isMessage, withGasLimit } from './gear.ts'
import type { SubstrateNode } from './node.ts'
import { payerOf } from './payer.ts'
import type { Runtime } from './runtime.ts'
import { gasOnVoucher, gasPaidBy, type Spending, spentBy } from './spending.ts'
import { headerQuestion } from './storage.ts'
import { feeQuestion, unlessUndecodable } from './weigh.ts'

/** The fee may rise with the congestion of the block that takes it (TransactionPayment.NextFeeMultiplier). */
const FEE_MARGIN_PERCENT = 25n

/** The highest fee to expect by the time that a block takes the extrinsic. Pure. */
export const withMargin = (fee: bigint): bigint => fee + (fee * FEE_MARGIN_PERCENT) / 100n

type Filling = {
  readonly intent: Intent
  readonly from: string
  readonly nonce: number
  readonly head: FinalHead
  /** How many blocks the extrinsic stays valid, if the caller did not choose. */
  readonly eraBlocks: number
}

/** Builds the unsigned extrinsic, still without the metadata hash. */
export const unsignedOf = (
  node: SubstrateNode,
  runtime: Runtime,
  { intent, from, nonce, head, eraBlocks }: Filling,
): SubstrateUnsigned => {
  const { row } = node
  const { number, hash } = head.ref
  const { form } = runtime
  if (form.unsupported.length > 0) {
    const names = form.unsupported.join(', ')
    throw new AppError(
      'not_implemented',
      `The runtime of ${row.network} wants ${names} signed, which is not known here.`,
    )
  }
  const period = intent.era === undefined ? eraBlocks : chosenEra(runtime, intent.era)
  return {
    family: 'substrate',
    from,
    nonce,
    to: intent.to,
    value: intent.value,
    input: intent.input,
    gasLimit: intent.gasLimit ?? 0n,
    call: callOf(runtime, row, intent),
    tip: intent.maxPriorityFeePerGas ?? 0n,
    feeAsset: intent.feeAsset === undefined ? null : feeAssetOf(runtime, row, intent.feeAsset),
    form,
    metadataHash: null,
    specVersion: runtime.specVersion,
    transactionVersion: runtime.transactionVersion,
    genesisHash: row.genesisHash,
    era: { current: Number(number), period },
    blockHash: hash,
    // The era counts the block where it begins.
    validUntilBlock: number + BigInt(period) - 1n,
  }
}

/** Converts a fee in planck to the draft's fee asset; null if the fee is paid in the coin. */
export const feeInAssetOf = async (
  node: Pick<SubstrateNode, 'rpc' | 'row'>,
  { runtime, draft, fee, word }: { runtime: Runtime; draft: SubstrateUnsigned; fee: bigint; word: string | undefined },
): Promise<FeeInAsset | null> => {
  const { feeAsset } = draft
  if (word === undefined || feeAsset === null) return null
  return readFeeInAsset(node, { runtime, word, draft: { ...draft, feeAsset }, planck: fee })
}

/** @throws balance_insufficient if the signer has too little of the asset that pays the fee. */
const refuseWithoutAsset = (fee: FeeInAsset | null): void => {
  const lack = fee === null ? null : lackOf(fee)
  if (lack !== null) throw new AppError('balance_insufficient', lack)
}

const amountOf = ({ row }: SubstrateNode, planck: bigint): string =>
  `${displayAmount(planck, row.coin.decimals)} ${row.coin.symbol}`

/** @throws balance_insufficient if the signer has too little of the coin. */
const refusePoor = (
  node: SubstrateNode,
  input: { from: string; account: Account; cost: bigint; deposit: bigint; what: string },
): void => {
  const { from, account, cost, deposit, what } = input
  if (account.transferable >= cost) return
  throw new AppError(
    'balance_insufficient',
    `${from} needs ${amountOf(node, cost)} for ${what}, beside the ${amountOf(node, deposit)} that keep the account alive, and has ${amountOf(node, account.free)}.`,
  )
}

/** @throws balance_insufficient if the voucher's account has too little. */
const refuseEmpty = (
  node: SubstrateNode,
  { payer, voucher, cost }: { payer: string; voucher: Account; cost: bigint },
): void => {
  if (voucher.transferable >= cost) return
  throw new AppError(
    'balance_insufficient',
    `${payer}, the account of the voucher, needs ${amountOf(node, cost)} for the fee and the gas of this transaction, and has ${amountOf(node, voucher.free)}.`,
  )
}

/**
 * `cost`: what the signer must have. `worstCost`: what counts against the balance while the transaction is pending, which is the
 * most that it may take if that is known.
 */
const costOf = (
  { needed, most }: Spending,
  { account, fee }: { account: Account; fee: bigint },
): { readonly cost: bigint; readonly worstCost: bigint } => {
  const cost = needed + fee
  const bound = most === null ? cost : most === 'all' ? account.transferable : most + fee
  return { cost, worstCost: bound > account.transferable ? larger(account.transferable, cost) : bound }
}

/** @throws execution_reverted if the recipient has no account and would get less than the existential deposit. */
const refuseDust = (
  node: SubstrateNode,
  { intent, recipient, deposit }: { intent: Intent; recipient: Account | null; deposit: bigint },
): void => {
  if (recipient === null || recipient.exists || intent.value >= deposit) return
  throw new AppError(
    'execution_reverted',
    `Token.BelowMinimum: ${intent.to} has no account yet, and one begins with ${amountOf(node, deposit)} or more.`,
  )
}

/** If finality lags, an era that begins at the final block may already be over. */
const refuseUnfinal = (
  { row }: SubstrateNode,
  { final, newest, period }: { final: bigint; newest: bigint; period: number },
): void => {
  if (newest - final < BigInt(period)) return
  throw new NodeUnavailable(
    'refused',
    `${row.network} has made ${newest - final} blocks since its newest final one: what is signed now no block would take. Try again once it finalizes.`,
  )
}

/** Sets the gas limit of a message to a program. */
const withGas = async (
  node: SubstrateNode,
  runtime: Runtime,
  { intent, from, head }: Pick<Filling, 'intent' | 'from' | 'head'>,
): Promise<Intent> =>
  node.row.hasPrograms && isMessage(intent)
    ? withGasLimit(node, { runtime, intent, from, blockHash: head.ref.hash })
    : intent

/** The signer's pending calls. In recorded intents a gas limit of 0 means no limit was given. */
const callsBehind = (
  { row }: SubstrateNode,
  runtime: Runtime,
  { from, behind }: { readonly from: string; readonly behind: readonly RecordedIntent[] },
): readonly Hex[] =>
  behind
    .filter((recorded) => recorded.from === from)
    .map(({ gasLimit, ...intent }) => callOf(runtime, row, gasLimit ? { ...intent, gasLimit } : intent))

/** Adds the metadata hash. */
const bound = async (node: SubstrateNode, runtime: Runtime, draft: SubstrateUnsigned): Promise<SubstrateUnsigned> => {
  const { blockHash } = draft
  return { ...draft, metadataHash: await node.trust.metadataHash({ runtime, draft, blockHash }) }
}

/**
 * Prepares an intent to be signed and sent, and checks that it can be paid and would not fail.
 * @throws execution_reverted
 */
export const prepare = async (
  node: SubstrateNode,
  { intent, from, pending }: { readonly intent: Intent; readonly from: string } & Pick<PrepareOptions, 'pending'>,
): Promise<Prepared> => {
  const { rpc } = node
  const head = await readFinalHead(node)
  const { hash } = head.ref
  const runtime = await node.runtimes.of(head.version, hash)
  const filled = await withGas(node, runtime, { intent, from, head })
  const eraBlocks = await node.eras.blocks(head.ref)
  const draft = unsignedOf(node, runtime, { intent: filled, from, nonce: intent.nonce ?? 0, head, eraBlocks })
  const paid = intent.to === null || intent.input !== '0x' ? null : intent.to
  const payer = await payerOf(node, { runtime, from, call: draft.call, block: head.ref })
  const ask = () =>
    rpc.askAll([
      headerQuestion(),
      accountQuestion(runtime, from, hash),
      nextIndexQuestion(from),
      feeQuestion(draft, hash),
      paid === null ? null : accountQuestion(runtime, paid, hash),
      payer === from ? null : accountQuestion(runtime, payer, hash),
    ])
  const told = await unlessUndecodable(node, { runtime, drafts: () => [draft] }, ask)
  const [newest, account, next, marketFee, recipient, voucher] = told
  refuseUnfinal(node, { final: head.ref.number, newest: newest?.number ?? 0n, period: draft.era.period })
  const deposit = existentialDeposit(runtime)
  const fee = withMargin(marketFee) + draft.tip
  const inAsset = await feeInAssetOf(node, { runtime, draft, fee, word: intent.feeAsset })
  refuseWithoutAsset(inAsset)
  if (voucher !== null) refuseEmpty(node, { payer, voucher, cost: fee + gasOnVoucher(runtime, draft.call) })
  const ownFee = voucher === null && inAsset === null ? fee : 0n
  const { cost, worstCost } = costOf(spentBy(runtime, draft.call), { account, fee: ownFee })
  const what = inAsset === null ? 'this transaction and its fee' : 'this transaction'
  refusePoor(node, { from, account, cost, deposit, what })
  refuseDust(node, { intent, recipient, deposit })
  await refuseFailing(node, {
    runtime,
    from,
    blockHash: hash,
    call: draft.call,
    behind: async () => callsBehind(node, runtime, { from, behind: await pending() }),
  })
  const minedCount = account.nonce
  const pendingCount = Math.max(minedCount, next)
  const unsigned = await bound(node, runtime, { ...draft, nonce: intent.nonce ?? pendingCount })
  // What a voucher pays counts against a policy as well.
  const surcharge = fee + gasPaidBy(runtime, draft.call)
  const balance = account.transferable
  const feeAsset = inAsset === null ? null : preparedFee(inAsset)
  return { unsigned, atMarket: unsigned, minedCount, pendingCount, balance, worstCost, surcharge, feeAsset }
}

/** Fills an intent to sign, without checking the balance. @throws metadata_untrusted */
export const fill = async (
  node: SubstrateNode,
  { intent, from, nonce, head }: Omit<Filling, 'eraBlocks'>,
): Promise<SubstrateUnsigned> => {
  const runtime = await node.runtimes.of(head.version, head.ref.hash)
  const filled = await withGas(node, runtime, { intent, from, head })
  const eraBlocks = await node.eras.blocks(head.ref)
  const draft = unsignedOf(node, runtime, { intent: filled, from, nonce, head, eraBlocks })
  // Asking for the fee checks that the runtime can read a raw call, and that a fee asset has a price.
  if (intent.to === null || intent.feeAsset !== undefined) {
    const ask = () => node.rpc.ask(feeQuestion(draft, draft.blockHash))
    const fee = await unlessUndecodable(node, { runtime, drafts: () => [draft] }, ask)
    await feeInAssetOf(node, { runtime, draft, fee: withMargin(fee) + draft.tip, word: intent.feeAsset })
  }
  return bound(node, runtime, draft)
}
