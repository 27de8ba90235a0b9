// Previews a bundle of intents. A runtime with DryRunApi simulates them and gives events and errors. On other runtimes the
// result is a forecast from the calls and the state, which says what was not simulated; messages are simulated on the program.

import { AppError } from '../../platform/errors.ts'
import type { Hex, Intent, Movement, Preview } from '../chain.ts'
import { weightTooGreat } from './block-weights.ts'
import { type FinalState, readFinalState } from './blocks.ts'
import { callOf } from './calls.ts'
import { decodedCall, readTree } from './decode.ts'
import { failureOf, type Trial, tryWithFees } from './dry-run.ts'
import { afterFees, type FeeInAsset, lackOf } from './fee-in-asset.ts'
import { cannotPayFee, forecast } from './forecast.ts'
import { isMessage, previewMessage, withGasLimit } from './gear.ts'
import type { SubstrateNode } from './node.ts'
import { payerOf } from './payer.ts'
import { feeInAssetOf, unsignedOf, withMargin } from './prepare.ts'
import { dispatchQuestion, feeQuestion, unlessUndecodable } from './query-fee.ts'
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

/**
 * If only an inner call fails, the effects of the other calls remain, so they are shown as changes. An extrinsic that cannot pay its
 * fee is not executed.
 */
const outcomeOf = (
  { row }: SubstrateNode,
  { runtime, from }: Context,
  { trial, fee }: { readonly trial: Trial & { readonly isFeePaid: boolean }; readonly fee: bigint },
): Outcome => {
  if (!trial.isFeePaid) return { success: false, error: cannotPayFee({ from, fee }), changes: [] }
  const failure = failureOf(runtime, trial)
  return {
    success: failure === null,
    error: failure === null ? null : `execution reverted: ${failure}`,
    changes: trial.failed === null ? transfersOf({ runtime, row }, trial.events).map(movementOf) : [],
  }
}

const draftsOf = (node: SubstrateNode, context: Context, intents: readonly Intent[]) =>
  intents.map((intent) => unsignedOf(node, { ...context, intent, nonce: 0, eraBlocks: node.row.era.least }))

type Bundle = { readonly intents: readonly Intent[]; readonly calls: readonly Hex[] }

/**
 * What each extrinsic takes from the signer's coins as its fee and tip (0 if a voucher pays it, or if it is paid in an asset), and
 * why no block can hold it.
 */
const dispatchesOf = async (node: SubstrateNode, context: Context, { intents, calls }: Bundle) => {
  const drafts = draftsOf(node, context, intents)
  const infos = await node.rpc.askAll(drafts.map((draft) => dispatchQuestion(draft, context.blockHash)))
  const payers = await Promise.all(calls.map((call) => payerOf(node, { ...context, call, block: context.head })))
  return infos.map(({ fee, encoded }, index) => ({
    fee:
      payers[index] === context.from && intents[index]?.feeAsset === undefined ? fee + (drafts[index]?.tip ?? 0n) : 0n,
    tooGreat: weightTooGreat(context.runtime, encoded),
  }))
}

const withoutTrial = async (
  node: SubstrateNode,
  context: Context,
  { intents, calls, fees }: Bundle & { readonly fees: readonly bigint[] },
): Promise<readonly Outcome[]> => {
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
    const dispatches = await dispatchesOf(node, context, { intents: whole, calls })
    const inCoins = dispatches.map(({ fee }) => fee)
    const trials = await tryWithFees(node, { ...context, calls, fees: inCoins })
    const outcomes =
      trials?.map((trial, index) => outcomeOf(node, context, { trial, fee: inCoins[index] ?? 0n })) ??
      (await withoutTrial(node, context, { intents: whole, calls, fees: inCoins }))
    return outcomes.map((outcome, index) => {
      const tooGreat = dispatches[index]?.tooGreat ?? null
      const held =
        tooGreat === null ? outcome : { success: false, error: `execution reverted: ${tooGreat}.`, changes: [] }
      return withFee(held, fees[index] ?? null)
    })
  })
  return calls.map((call, index) => {
    const [tree, outcome] = [readTree(runtime, call), outcomes[index]]
    if (outcome === undefined) throw new Error('expected an outcome for each call')
    return { ...outcome, decoded: tree === null ? null : decodedCall(tree) }
  })
}
