// Previews intents. A runtime with DryRunApi simulates them. On other runtimes the result is a forecast from the calls
// and the state, which says what was not simulated; messages are simulated on the program.

import { AppError } from '../../platform/errors.ts'
import type { Hex, Intent, Preview, SubstrateUnsigned } from '../chain.ts'
import { type FinalState, readFinalState } from './blocks.ts'
import { decodedCall, readTree } from './codec.ts'
import { failureOf, type Trial, tryWithFees } from './dry-run.ts'
import { afterFees, describeLack, type FeeInAsset, readFeeInAsset } from './fee-assets.ts'
import { cannotPayFee, forecast } from './forecast.ts'
import { isMessage, previewMessage, withGasLimit } from './gear.ts'
import type { SubstrateNode } from './node.ts'
import { buildUnsigned, withMargin } from './prepare.ts'
import { dispatchQuestion, feeQuestion, readPayer, unlessUndecodable } from './query-fee.ts'
import { transfersOf } from './transfers.ts'

type Context = FinalState & { readonly from: string; readonly blockHash: Hex }

type Outcome = Omit<Preview, 'decoded'>
/** Sets gas limits. The gas of a message that fails cannot be estimated, so such a message stays without a limit. */
const withGasLimits = async (node: SubstrateNode, context: Context, intent: Intent): Promise<Intent> => {
  try {
    return await withGasLimit(node, { ...context, intent })
  } catch (error) {
    if (error instanceof AppError && error.code === 'execution_reverted') return intent
    throw error
  }
}

const ONLY_REPLIED = 'not simulated: only the reply of the program was computed, and what would move is not known'

/** If only an inner call fails, the effects of the other calls remain, so they are shown as changes. */
const describeTrial = (
  { row }: SubstrateNode,
  { runtime, from }: Context,
  { trial, fee }: { readonly trial: Trial & { readonly isFeePaid: boolean }; readonly fee: bigint },
): Outcome => {
  if (!trial.isFeePaid) return { success: false, error: cannotPayFee({ from, fee }), changes: [] }
  const failure = failureOf(runtime, trial)
  return {
    success: failure === null,
    error: failure === null ? null : `execution reverted: ${failure}`,
    changes:
      trial.failed === null
        ? transfersOf({ runtime, row }, trial.events).map(({ logIndex, extrinsic, ...movement }) => movement)
        : [],
  }
}

type Bundle = { readonly intents: readonly Intent[]; readonly drafts: readonly SubstrateUnsigned[] }

/** `fee`: what the fee and tip take from the signer's coins. `tooGreat`: why no block can hold the extrinsic. */
const readDispatches = async (node: SubstrateNode, context: Context, { intents, drafts }: Bundle) => {
  const infos = await node.rpc.askAll(
    drafts.map((draft) => dispatchQuestion(context.runtime, draft, context.blockHash)),
  )
  const payers = await Promise.all(drafts.map(({ call }) => readPayer(node, { ...context, call })))
  return infos.map(({ fee, tooGreat }, index) => ({
    fee:
      payers[index] === context.from && intents[index]?.feeAsset === undefined ? fee + (drafts[index]?.tip ?? 0n) : 0n,
    tooGreat,
  }))
}

const withoutTrial = async (
  node: SubstrateNode,
  context: Context,
  {
    intents,
    calls,
    fees,
  }: Pick<Bundle, 'intents'> & { readonly calls: readonly Hex[]; readonly fees: readonly bigint[] },
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
const readFeesInAssets = async (
  node: SubstrateNode,
  context: Context,
  { intents, drafts }: Bundle,
): Promise<readonly (FeeInAsset | null)[]> => {
  if (intents.every(({ feeAsset }) => feeAsset === undefined)) return intents.map(() => null)
  const marketFees = await node.rpc.askAll(
    drafts.map((draft) => (draft.feeAsset === null ? null : feeQuestion(draft, draft.blockHash))),
  )
  const fees = await Promise.all(
    drafts.map((draft, index) => {
      const fee = withMargin(marketFees[index] ?? 0n) + draft.tip
      return readFeeInAsset(node, { runtime: context.runtime, draft, fee, contract: intents[index]?.feeAsset })
    }),
  )
  return fees.map((fee, index) => {
    const before = fees.slice(0, index).filter((each) => each !== null)
    return fee === null ? null : afterFees(fee, before)
  })
}

const withFee = (outcome: Outcome, fee: FeeInAsset | null): Outcome => {
  if (fee === null) return outcome
  const { contract, amount } = fee
  const lack = describeLack(fee)
  const paid = lack === null ? outcome : { success: false, error: `balance insufficient: ${lack}`, changes: [] }
  return { ...paid, feeInAsset: { contract, amount } }
}

export const previewBundle = async (
  node: SubstrateNode,
  { from, intents }: { readonly from: string; readonly intents: readonly Intent[] },
): Promise<readonly Preview[]> => {
  const { head, runtime } = await readFinalState(node)
  const context: Context = { runtime, from, head, blockHash: head.hash }
  const whole = await Promise.all(intents.map((intent) => withGasLimits(node, context, intent)))
  const drafts = whole.map((intent) =>
    buildUnsigned(node, { ...context, intent, nonce: 0, eraBlocks: node.row.era.least }),
  )
  const calls = drafts.map(({ call }) => call)
  const outcomes = await unlessUndecodable(node, { runtime, drafts: () => drafts }, async () => {
    const fees = await readFeesInAssets(node, context, { intents: whole, drafts })
    const dispatches = await readDispatches(node, context, { intents: whole, drafts })
    const inCoins = dispatches.map(({ fee }) => fee)
    const trials = await tryWithFees(node, { ...context, calls, fees: inCoins })
    const outcomes =
      trials?.map((trial, index) => describeTrial(node, context, { trial, fee: inCoins[index] ?? 0n })) ??
      (await withoutTrial(node, context, { intents: whole, calls, fees: inCoins }))
    return outcomes.map((outcome, index) => {
      const tooGreat = dispatches[index]?.tooGreat ?? null
      const bounded =
        tooGreat === null ? outcome : { success: false, error: `execution reverted: ${tooGreat}.`, changes: [] }
      return withFee(bounded, fees[index] ?? null)
    })
  })
  return calls.map((call, index) => {
    const [tree, outcome] = [readTree(runtime, call), outcomes[index]]
    if (outcome === undefined) throw new Error('expected an outcome for each call')
    return { ...outcome, decoded: tree === null ? null : decodedCall(tree) }
  })
}
