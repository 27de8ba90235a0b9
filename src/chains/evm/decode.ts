// Decodes calls and reverts with the known declarations. A wrong decoding is worse than none, so:
// 1. If the operator bound declarations of the selector to the called contract or its implementation, only these count.
// 2. Otherwise the built-in declarations and the operator's general ones count. If several have the same signature, the
//    names come from the contract's standard, then from other built-in ones, then from the one that was added first.
// 3. If several signatures share the selector, the one that fits the data exactly counts. If none or several fit, the
//    data is not decoded.

import type { AssetStandard } from '../../../db/words.ts'
import type { AbiItem, DecodedCall, Hex, Intent } from '../chain.ts'
import { signatureOf } from './abi-types.ts'
import { readArguments } from './abi-values.ts'
import { knownErrors, knownFunctions } from './abis.ts'

/**
 * Longer call data is not decoded: nodes accept no larger transaction (go-ethereum core/txpool/legacypool, txMaxSize),
 * and decoding takes microseconds per word.
 */
export const DECODE_LIMIT_BYTES = 131_072

/** The operator's declarations for one selector, in the order in which they were added. */
export type Declared = {
  /** Those for the called contract. */
  readonly bound: readonly AbiItem[]
  readonly general: readonly AbiItem[]
}

export const NOTHING_DECLARED: Declared = { bound: [], general: [] }

/** A declaration with the decoded arguments by name. */
type DecodedItem = AbiItem & { readonly arguments: Readonly<Record<string, unknown>> }

/** Decodes by the only declaration that fits the data exactly; null if none or several fit. */
const readAs = (items: readonly AbiItem[], data: string): DecodedItem | null => {
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

const read = (input: Hex, builtIn: readonly AbiItem[], { bound, general }: Declared): DecodedItem | null => {
  if (input.length < 10 || input.length > 2 + 2 * DECODE_LIMIT_BYTES) return null
  return readAs(bound.length > 0 ? bound : [...builtIn, ...general], input.slice(10))
}

/** The selector of call data; null if the data is shorter. Pure. */
export const selectorIn = (input: Hex): Hex | null =>
  input.length < 10 ? null : `0x${input.slice(2, 10).toLowerCase()}`

/** The built-in functions, those of the contract's standard first. */
const orderFunctions = (selector: string, standard: AssetStandard | undefined): readonly AbiItem[] => {
  const functions = knownFunctions(selector)
  const own = functions.filter((each) => each.standard === standard)
  return own.length === 0 ? functions : [...own, ...functions]
}

/** Whether the meaning of a call depends on the standard of the contract it goes to. Pure. */
export const dependsOnStandard = (input: Hex): boolean => knownFunctions(selectorIn(input) ?? '').length > 1

/** null for a creation, a plain transfer, an unknown selector, and data that does not fit exactly. Pure. */
export const decodeCall = (
  { to, input }: Pick<Intent, 'to' | 'input'>,
  standard?: AssetStandard,
  declared: Declared = NOTHING_DECLARED,
): DecodedCall | null => {
  const selector = selectorIn(input)
  if (to === null || selector === null) return null
  const reading = read(input, orderFunctions(selector, standard), declared)
  return reading === null ? null : { functionName: reading.name, arguments: reading.arguments }
}

/** null for an unknown error, and for data that does not fit it exactly. Pure. */
export const decodeError = (data: Hex, declared: Declared = NOTHING_DECLARED): DecodedItem | null =>
  read(data, knownErrors(selectorIn(data) ?? ''), declared)
