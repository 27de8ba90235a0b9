// What a bundle would do. Where the runtime runs calls in advance, its own events and errors tell it; else as much as follows
// from the calls and from what is there, with what was not simulated said. A message to a program is tried on the program.

import { AppError } from '../../errors.ts'
import type { Hex, Intent, Movement, Preview } from '../chain.ts'
import { type FinalHead, readFinalHead } from './blocks.ts'
import { callOf } from './calls.ts'
import { readTree, told } from './decode.ts'
import { failureOf, type Trial, tryCalls } from './dry-run.ts'
import { behindFees, type FeeInAsset, lackOf } from './fee-in-asset.ts'
import { forecast } from './forecast.ts'
import { isMessage, previewMessage, withGasLimit } from './gear.ts'
import type { SubstrateNode } from './node.ts'
import { payerOf } from './payer.ts'
import { feeInAssetOf, unsignedOf, withMargin } from './prepare.ts'
import type { Runtime } from './runtime.ts'
import { transfersOf } from './transfers.ts'
import { feeQuestion, unlessUndecodable } from './weigh.ts'

type Context = { readonly runtime: Runtime; readonly from: string; readonly head: FinalHead; readonly blockHash: Hex }

type End = Omit<Preview, 'decoded'>

/** A message that fails needs no gas that anybody could tell. */
const filled = async (node: SubstrateNode, context: Context, intent: Intent): Promise<Intent> => {
  if (!node.row.hasPrograms) return intent
  try {
    return await withGasLimit(node, { ...context, intent })
  } catch (error) {
    if (error instanceof AppError && error.code === 'execution_reverted') return intent
    throw error
  }
}

const ONLY_REPLIED = 'not simulated: the program was asked for its reply, and what would move is not known'

const movementOf = ({ standard, contract, tokenId, from, to, amount }: Movement): Movement => ({
  standard,
  contract,
  tokenId,
  from,
  to,
  amount,
})

/** Where a call within fails, what the others do happens all the same. */
const endOf = ({ row }: SubstrateNode, { runtime }: Context, trial: Trial): End => {
  const failure = failureOf(runtime, trial)
  return {
    success: failure === null,
    error: failure === null ? null : `execution reverted: ${failure}`,
    changes: trial.failed === null ? transfersOf({ runtime, row }, trial.events).map(movementOf) : [],
  }
}

const draftsOf = (node: SubstrateNode, context: Context, intents: readonly Intent[]) =>
  intents.map((intent) =>
    unsignedOf(node, context.runtime, { ...context, intent, nonce: 0, eraBlocks: node.row.era.least }),
  )

const withoutTrial = async (
  node: SubstrateNode,
  context: Context,
  { intents, calls }: { readonly intents: readonly Intent[]; readonly calls: readonly Hex[] },
): Promise<readonly End[]> => {
  const marketFees = await node.rpc.askAll(
    draftsOf(node, context, intents).map((draft) => feeQuestion(draft, context.blockHash)),
  )
  const payers = await Promise.all(calls.map((call) => payerOf(node, { ...context, call, block: context.head.ref })))
  // Neither what a voucher pays, nor what is paid in an asset.
  const fees = marketFees.map((fee, index) =>
    payers[index] === context.from && intents[index]?.feeAsset === undefined ? fee : 0n,
  )
  const foreseen = await forecast(node, { ...context, calls, fees })
  return Promise.all(
    intents.map(async (intent, index): Promise<End> => {
      const each = foreseen[index]
      if (each === undefined) throw new Error('expected a forecast of each call')
      const { to } = intent
      if (!each.success || to === null || !isMessage(intent)) return each
      const { success, error } = await previewMessage(node, { ...context, intent: { ...intent, to } })
      return success ? { ...each, error: ONLY_REPLIED } : { success, error, changes: [] }
    }),
  )
}

/** The fees of those that pay in an asset, each behind those before it; null for the others. */
const feesInAssets = async (
  node: SubstrateNode,
  { runtime, ...context }: Context,
  intents: readonly Intent[],
): Promise<readonly (FeeInAsset | null)[]> => {
  if (intents.every(({ feeAsset }) => feeAsset === undefined)) return intents.map(() => null)
  const drafts = draftsOf(node, { runtime, ...context }, intents)
  const marketFees = await node.rpc.askAll(
    drafts.map((draft) => (draft.feeAsset === null ? null : feeQuestion(draft, draft.blockHash))),
  )
  const fees = await Promise.all(
    drafts.map((draft, index) => {
      const fee = withMargin(marketFees[index] ?? 0n) + draft.tip
      return feeInAssetOf(node, { runtime, draft, fee, word: intents[index]?.feeAsset })
    }),
  )
  return fees.map((fee, index) =>
    fee === null
      ? null
      : behindFees(
          fee,
          fees.slice(0, index).filter((each) => each !== null),
        ),
  )
}

/** What cannot pay its fee does nothing. */
const withFee = (end: End, fee: FeeInAsset | null): End => {
  if (fee === null) return end
  const { contract, amount } = fee
  const lack = lackOf(fee)
  const told = lack === null ? end : { success: false, error: `balance insufficient: ${lack}`, changes: [] }
  return { ...told, feeInAsset: { contract, amount } }
}

/** As `Chain.preview` says. @throws invalid_input, not_implemented, node_unavailable. */
export const previewBundle = async (
  node: SubstrateNode,
  { from, intents }: { readonly from: string; readonly intents: readonly Intent[] },
): Promise<readonly Preview[]> => {
  const head = await readFinalHead(node)
  const blockHash = head.ref.hash
  const runtime = await node.runtimes.of(head.version, blockHash)
  const context: Context = { runtime, from, head, blockHash }
  const whole = await Promise.all(intents.map((intent) => filled(node, context, intent)))
  const calls = whole.map((intent) => callOf(runtime, node.row, intent))
  const ends = await unlessUndecodable(node, { runtime, drafts: () => draftsOf(node, context, whole) }, async () => {
    const fees = await feesInAssets(node, context, whole)
    const trials = await tryCalls(node, { ...context, calls })
    const told =
      trials === null
        ? await withoutTrial(node, context, { intents: whole, calls })
        : trials.map((trial) => endOf(node, context, trial))
    return told.map((end, index) => withFee(end, fees[index] ?? null))
  })
  return calls.map((call, index) => {
    const [tree, end] = [readTree(runtime, call), ends[index]]
    if (end === undefined) throw new Error('expected an end for each call')
    return { ...end, decoded: tree === null ? null : told(tree) }
  })
}
