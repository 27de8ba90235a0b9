// What a call or a revert says, by the declarations that we know. A guess would be worse than silence, so:
// 1. What the operator bound to the called contract (or to the implementation behind it) decides where it has the selector.
// 2. Else what is built in and the operator's other declarations decide together. Of one signature, the built-in names are
//    shown (those of the contract's standard first), then those that were added first.
// 3. Where declarations of different signatures share the selector, the one that the data is exactly of is it; if that is
//    none or several, nothing is said.

import type { AssetStandard } from '../../../db/words.ts'
import type { AbiItem, DecodedCall, Hex, Intent } from '../chain.ts'
import { signatureOf } from './abi-types.ts'
import { readArguments } from './abi-values.ts'
import { knownErrors, knownFunctions } from './abis.ts'

/**
 * Nodes keep no larger transaction in their pools (go-ethereum core/txpool/legacypool, txMaxSize), and decoding costs
 * microseconds a word: call data above this is shown as it is.
 */
export const DECODE_LIMIT_BYTES = 131_072

/** What the operator declared with one selector, in the order of adding. */
export type Declared = {
  /** For the called contract. */
  readonly bound: readonly AbiItem[]
  readonly general: readonly AbiItem[]
}

export const NOTHING_DECLARED: Declared = { bound: [], general: [] }

/** A declaration, and the arguments by their bare names. */
type Reading = AbiItem & { readonly arguments: Readonly<Record<string, unknown>> }

/** By the one declaration that the data is exactly of. */
const readAs = (items: readonly AbiItem[], data: string): Reading | null => {
  const bySignature = new Map<string, AbiItem>()
  for (const item of items) {
    const signature = signatureOf(item)
    if (!bySignature.has(signature)) bySignature.set(signature, item)
  }
  const readings = [...bySignature.values()].flatMap((item) => {
    const values = readArguments(item.inputs, data)
    return values === null ? [] : [{ ...item, arguments: values }]
  })
  return readings.length === 1 ? (readings[0] ?? null) : null
}

const read = (input: Hex, builtIn: readonly AbiItem[], { bound, general }: Declared): Reading | null => {
  if (input.length < 10 || input.length > 2 + 2 * DECODE_LIMIT_BYTES) return null
  return readAs(bound.length > 0 ? bound : [...builtIn, ...general], input.slice(10))
}

/** The selector of call data; null where it is shorter. Pure. */
export const selectorIn = (input: Hex): Hex | null =>
  input.length < 10 ? null : `0x${input.slice(2, 10).toLowerCase()}`

/** Those of the contract's own standard first. */
const functionsOf = (selector: string, standard: AssetStandard | undefined): readonly AbiItem[] => {
  const functions = knownFunctions(selector)
  const own = functions.filter((each) => each.standard === standard)
  return own.length === 0 ? functions : [...own, ...functions]
}

/** Whether the meaning of a call depends on the standard of the contract it goes to. Pure. */
export const dependsOnStandard = (input: Hex): boolean => knownFunctions(selectorIn(input) ?? '').length > 1

/** Null for a creation, a plain transfer, an unknown selector, and data that is not exactly of the function. Pure. */
export const decodeCall = (
  { to, input }: Pick<Intent, 'to' | 'input'>,
  standard?: AssetStandard,
  declared: Declared = NOTHING_DECLARED,
): DecodedCall | null => {
  const selector = selectorIn(input)
  if (to === null || selector === null) return null
  const reading = read(input, functionsOf(selector, standard), declared)
  return reading === null ? null : { functionName: reading.name, arguments: reading.arguments }
}

/** Null for an unknown error, and data that is not exactly of it. Pure. */
export const decodeError = (data: Hex, declared: Declared = NOTHING_DECLARED): Reading | null =>
  read(data, knownErrors(selectorIn(data) ?? ''), declared)
