// Whether a block can hold a call at all. A node refuses what it cannot, but only after it was signed
// (frame_system, CheckWeight: ExhaustsResources).

import type { Hex } from '../chain.ts'
import { MalformedAnswer } from '../node/wire.ts'
import type { Runtime } from './runtime.ts'

/** The codec's values, in two dimensions since 2022. Runtimes before that have one, and are not judged. */
type Weight = { readonly refTime: { toBigInt(): bigint }; readonly proofSize: { toBigInt(): bigint } }
type Limit = { readonly isSome: boolean; unwrap(): Weight }
type ClassLimits = { readonly maxExtrinsic: Limit; readonly maxTotal: Limit }
type BlockWeights = { readonly maxBlock: Weight; readonly perClass: Readonly<Record<DispatchClass, ClassLimits>> }

const CLASSES = ['normal', 'operational', 'mandatory'] as const
type DispatchClass = (typeof CLASSES)[number]

type Info = { readonly weight: Weight; readonly class: { readonly index: number } }

const hasTwoDimensions = (weight: object): weight is Weight => 'refTime' in weight && 'proofSize' in weight

const infoOf = ({ registry }: Runtime, encoded: Hex): Info => {
  try {
    return registry.createType('RuntimeDispatchInfo', encoded) as unknown as Info
  } catch {
    throw new MalformedAnswer('the weight of an extrinsic')
  }
}

/**
 * Why no block can hold an extrinsic; null if one can, or if that is not known. Pure.
 * @param encoded RuntimeDispatchInfo.
 */
export const weightTooGreat = (runtime: Runtime, encoded: Hex): string | null => {
  const limits = runtime.constants.system?.blockWeights as unknown as BlockWeights | undefined
  if (limits === undefined || !hasTwoDimensions(limits.maxBlock)) return null
  const { weight, class: dispatchClass } = infoOf(runtime, encoded)
  const { maxExtrinsic, maxTotal } = limits.perClass[CLASSES[dispatchClass.index] ?? 'normal']
  const most = [maxExtrinsic, maxTotal].find(({ isSome }) => isSome)?.unwrap() ?? limits.maxBlock
  /** In percent of what is allowed; null if that is not too much. */
  const excess = (part: keyof Weight): bigint | null => {
    const [own, allowed] = [weight[part].toBigInt(), most[part].toBigInt()]
    return own > allowed ? (own * 100n) / (allowed === 0n ? 1n : allowed) : null
  }
  const [time, size] = [excess('refTime'), excess('proofSize')]
  const percent = time ?? size
  if (percent === null) return null
  const what = time === null ? 'its proof may be' : 'it may take'
  return `no block holds this call: ${what} ${percent} % of what a block allows for one. Split it`
}
