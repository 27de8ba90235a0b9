// Previews a bundle of intents. A runtime with DryRunApi simulates them and gives events and errors. On other runtimes the
// result is a forecast from the calls and the state, which says what was not simulated; messages are simulated on the program.

import { AppError } from '../../errors.ts'
import type { Hex, Intent, Movement, Preview } from '../chain.ts'
import { type FinalState, readFinalState } from './blocks.ts'
import { callOf } from './calls.ts'
import { decodedCall, readTree } from './decode.ts'
import { failureOf, type Trial, tryCalls } from './dry-run.ts'
import { afterFees, type FeeInAsset, lackOf } from './fee-in-asset.ts'
import { forecast } from './forecast.ts'
import { isMessage, previewMessage, withGasLimit } from './gear.ts'
import type { SubstrateNode } from './node.ts'
import { payerOf } from './payer.ts'
import { feeInAssetOf, unsignedOf, withMargin } from './prepare.ts'
import { feeQuestion, unlessUndecodable } from './query-fee.ts'
import { type EventMovement, transfersOf } from './transfers.ts'

type Context = FinalState & { readonly from: string; readonly blockHash: Hex }

type Outcome = Omit<Preview, 'decoded'>

/** Sets gas limits. The gas of a message that fails cannot be estimated, so such a message stays without a limit. */
const filled = async (node: SubstrateNode, context: Context, intent: Intent): Promise<Intent> => {
  try {
    return await withGasLimit(node, { ...context, intent })
  } catch (error) {
    if (error instanceof AppError && error.code === 'execution_reverted') return intent
    throw error
  }
}

const ONLY_REPLIED = 'not simulated: only the reply of the program was computed, and what would move is not known'

const movementOf = ({ logIndex, extrinsic, ...movement }: EventMovement): Movement => movement

/** If only an inner call fails, the effects of the other calls remain, so they are shown as changes. */
const outcomeOf = ({ row }: SubstrateNode, { runtime }: Context, trial: Trial): Outcome => {
  const failure = failureOf(runtime, trial)
  return {
    success: failure === null,
    error: failure === null ? null : `execution reverted: ${failure}`,
    changes: trial.failed === null ? transfersOf({ runtime, row }, trial.events).map(movementOf) : [],
  }
}

const draftsOf = (node: SubstrateNode, context: Context, intents: readonly Intent[]) =>
  intents.map((intent) => unsignedOf(node, { ...context, intent, nonce: 0, eraBlocks: node.row.era.least }))

const withoutTrial = async (
  node: SubstrateNode,
  context: Context,
  { intents, calls }: { readonly intents: readonly Intent[]; readonly calls: readonly Hex[] },
): Promise<readonly Outcome[]> => {
  const marketFees = await node.rpc.askAll(
    draftsOf(node, context, intents).map((draft) => feeQuestion(draft, context.blockHash)),
  )
  const payers = await Promise.all(calls.map((call) => payerOf(node, { ...context, call, block: context.head })))
  // Fees that a voucher pays, or that are paid in an asset, do not come from the signer's coins.
  const fees = marketFees.map((fee, index) =>
    payers[index] === context.from && intents[index]?.feeAsset === undefined ? fee : 0n,
  )
  const foreseen = await forecast(node, { ...context, calls, fees })
  return Promise.all(
    intents.map(async (intent, index): Promise<Outcome> => {
      const each = foreseen[index]
      if (each === undefined) throw new Error('expected a forecast of each call')
      const { to } = intent
      if (!each.success || to === null || !isMessage(intent)) return each
      const { success, error } = await previewMessage(node, { ...context, intent: { ...intent, to } })
      return success ? { ...each, error: ONLY_REPLIED } : { success, error, changes: [] }
    }),
  )
}

/** For each intent its fee in an asset, after the fees of the intents before it; null if it pays in the coin. */
const feesInAssets = async (
  node: SubstrateNode,
  context: Context,
  intents: readonly Intent[],
): Promise<readonly (FeeInAsset | null)[]> => {
  if (intents.every(({ feeAsset }) => feeAsset === undefined)) return intents.map(() => null)
  const drafts = draftsOf(node, context, intents)
  const marketFees = await node.rpc.askAll(
    drafts.map((draft) => (draft.feeAsset === null ? null : feeQuestion(draft, draft.blockHash))),
  )
  const fees = await Promise.all(
    drafts.map((draft, index) => {
      const fee = withMargin(marketFees[index] ?? 0n) + draft.tip
      return feeInAssetOf(node, { runtime: context.runtime, draft, fee, contract: intents[index]?.feeAsset })
    }),
  )
  return fees.map((fee, index) => {
    const before = fees.slice(0, index).filter((each) => each !== null)
    return fee === null ? null : afterFees(fee, before)
  })
}

/** An extrinsic that cannot pay its fee is not executed. */
const withFee = (outcome: Outcome, fee: FeeInAsset | null): Outcome => {
  if (fee === null) return outcome
  const { contract, amount } = fee
  const lack = lackOf(fee)
  const paid = lack === null ? outcome : { success: false, error: `balance insufficient: ${lack}`, changes: [] }
  return { ...paid, feeInAsset: { contract, amount } }
}

/** Implements `Chain.preview`. */
export const previewBundle = async (
  node: SubstrateNode,
  { from, intents }: { readonly from: string; readonly intents: readonly Intent[] },
): Promise<readonly Preview[]> => {
  const { head, runtime } = await readFinalState(node)
  const context: Context = { runtime, from, head, blockHash: head.hash }
  const whole = await Promise.all(intents.map((intent) => filled(node, context, intent)))
  const calls = whole.map((intent) => callOf(runtime, node.row, intent))
  const drafts = () => draftsOf(node, context, whole)
  const outcomes = await unlessUndecodable(node, { runtime, drafts }, async () => {
    const fees = await feesInAssets(node, context, whole)
    const trials = await tryCalls(node, { ...context, calls })
    const unpaid =
      trials?.map((trial) => outcomeOf(node, context, trial)) ??
      (await withoutTrial(node, context, { intents: whole, calls }))
    return unpaid.map((outcome, index) => withFee(outcome, fees[index] ?? null))
  })
  return calls.map((call, index) => {
    const [tree, outcome] = [readTree(runtime, call), outcomes[index]]
    if (outcome === undefined) throw new Error('expected an outcome for each call')
    return { ...outcome, decoded: tree === null ? null : decodedCall(tree) }
  })
}
