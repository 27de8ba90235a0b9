// What a call says, by the ABIs that we know. A guess would be worse than silence: data that does not encode again to the
// same bytes was not made for this function.

import { type AbiParameter, decodeAbiParameters, encodeAbiParameters } from 'viem'
import type { AssetStandard } from '../../../db/words.ts'
import type { DecodedCall, Hex, Intent } from '../chain.ts'
import { type KnownFunction, knownFunctions } from './abis.ts'

/** Decoding costs microseconds a word; call data above this is shown as it is. */
const DECODE_LIMIT_BYTES = 131_072

const nameOf = (parameter: AbiParameter, index: number): string => parameter.name?.replace(/^_+/, '') || String(index)

const componentsOf = (parameter: AbiParameter): readonly AbiParameter[] =>
  'components' in parameter ? parameter.components : []

/** Integers become decimal strings, whatever their width; tuples become objects by their components' names. */
const readable = (parameter: AbiParameter, value: unknown): unknown => {
  const item = /^(.*)\[\d*\]$/.exec(parameter.type)
  if (item !== null && Array.isArray(value)) {
    return value.map((each: unknown) => readable({ ...parameter, type: item[1] ?? '' }, each))
  }
  if (parameter.type === 'tuple') {
    const fields: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? { ...value } : {}
    const components = componentsOf(parameter)
    return Object.fromEntries(
      components.map((component, index) => [
        nameOf(component, index),
        readable(component, Array.isArray(value) ? value[index] : fields[component.name ?? '']),
      ]),
    )
  }
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : value
}

const decodeArguments = (inputs: readonly AbiParameter[], data: Hex): readonly unknown[] | null => {
  if (inputs.length === 0) return data === '0x' ? [] : null
  try {
    const values = decodeAbiParameters(inputs, data)
    return encodeAbiParameters(inputs, values) === data ? values : null
  } catch {
    return null
  }
}

/** The contract's own standard decides between functions of one selector; without it, the first of the list. */
const choose = (selector: string, standard: AssetStandard | undefined): KnownFunction | undefined => {
  const functions = knownFunctions(selector)
  return functions.find((each) => each.standard === standard) ?? functions[0]
}

/** Whether the meaning of a call depends on the standard of the contract it goes to. Pure. */
export const dependsOnStandard = (input: Hex): boolean => knownFunctions(input.slice(0, 10).toLowerCase()).length > 1

/** Null for a creation, a plain transfer, an unknown selector, and data that is not exactly of the function. Pure. */
export const decodeCall = (intent: Pick<Intent, 'to' | 'input'>, standard?: AssetStandard): DecodedCall | null => {
  const input = intent.input.toLowerCase()
  if (intent.to === null || input.length < 10 || (input.length - 2) / 2 > DECODE_LIMIT_BYTES) return null
  const known = choose(input.slice(0, 10), standard)
  if (known === undefined) return null
  const values = decodeArguments(known.inputs, `0x${input.slice(10)}`)
  if (values === null) return null
  const named = known.inputs.map((parameter, index) => [nameOf(parameter, index), readable(parameter, values[index])])
  return { functionName: known.name, arguments: Object.fromEntries(named) }
}
