// Decodes a call for policies. A wrong guess would be a security hole, so this is stricter than a preview: all declarations
// with the selector must have one signature, for whichever contract they were added. The names of values can still differ: the
// second value of approve is `value` in ERC-20 and `tokenId` in ERC-721. They come from the operator's declarations for the
// called contract, otherwise from its standard. Otherwise a value has a name only if all declarations agree on it.

import type { AbiInput, AbiItem, CallValue, Facts, Intent, ReadCall } from '../chain.ts'
import { namesOf, signatureOf } from './abi-types.ts'
import { readArguments } from './abi-values.ts'
import { type KnownFunction, knownFunctions } from './abis.ts'
import { DECODE_LIMIT_BYTES, selectorIn } from './decode.ts'
import type { NodeContext } from './limits.ts'

type Context = Pick<NodeContext, 'memory' | 'network'> & Pick<Facts, 'facts'>

type Leaf = { readonly path: string; readonly value: CallValue }

const ITEM_OF_ARRAY = /^(.*)\[[0-9]*\]$/

const wordOf = (type: string, value: unknown): CallValue => {
  const text = String(value)
  if (/^u?int/.test(type)) return { kind: 'integer', value: BigInt(text) }
  if (type === 'address' || type === 'bool') return { kind: type, value: text }
  return { kind: type === 'string' ? 'text' : 'bytes', value: text }
}

const within = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

const leavesOf = (input: AbiInput, value: unknown, path: string): readonly Leaf[] => {
  const [, item] = ITEM_OF_ARRAY.exec(input.type) ?? []
  if (item !== undefined) {
    const items: readonly unknown[] = Array.isArray(value) ? value : []
    const length: Leaf = { path: within(path, 'length'), value: { kind: 'integer', value: BigInt(items.length) } }
    // With the length, a rule can refuse additional items.
    return [length, ...items.flatMap((each, at) => leavesOf({ ...input, type: item }, each, within(path, String(at))))]
  }
  if (input.type !== 'tuple') return [{ path, value: wordOf(input.type, value) }]
  return leavesOfAll(input.components ?? [], value, path)
}

const leavesOfAll = (inputs: readonly AbiInput[], values: unknown, path: string): readonly Leaf[] => {
  const byName = new Map(Object.entries(values ?? {}))
  const names = namesOf(inputs)
  return inputs.flatMap((input, index) => {
    const name = names[index] ?? ''
    return leavesOf(input, byName.get(name), within(path, name))
  })
}

/** The values in order, by the names on which all of these declarations agree. They have one signature. */
const valuesBy = (declarations: readonly AbiItem[], data: string): ReadonlyMap<string, CallValue> | null => {
  const readings: (readonly Leaf[])[] = []
  for (const { inputs } of declarations) {
    const values = readArguments(inputs, data)
    if (values === null) return null
    readings.push(leavesOfAll(inputs, values, ''))
  }
  const agreed = (readings[0] ?? []).filter(({ path }, index) => readings.every((each) => each[index]?.path === path))
  return new Map(agreed.map(({ path, value }) => [path, value]))
}

const ofStandard = async (
  { facts }: Context,
  input: { readonly to: string; readonly builtIn: readonly KnownFunction[] },
): Promise<readonly KnownFunction[]> => {
  const { to, builtIn } = input
  if (builtIn.length < 2) return []
  const standard = (await facts([to])).get(to)?.standard
  return builtIn.filter((each) => each.standard === standard)
}

/** See `Calls.readCall`. */
export const readCall = async (
  context: Context,
  { to, input }: Pick<Intent, 'to' | 'input'>,
): Promise<ReadCall | null> => {
  const { memory, network } = context
  const selector = selectorIn(input)
  if (to === null || selector === null || input.length > 2 + 2 * DECODE_LIMIT_BYTES) return null
  const builtIn = knownFunctions(selector)
  const added = await memory.readAbiItems({ network, kind: 'function', selectors: [selector] })
  const declarations = [...builtIn, ...added]
  const [first] = declarations
  if (first === undefined || new Set(declarations.map(signatureOf)).size > 1) return null
  const bound = added.filter(({ addresses }) => addresses.includes(to))
  const own = bound.length > 0 ? bound : await ofStandard(context, { to, builtIn })
  const values = valuesBy(own.length > 0 ? own : declarations, input.slice(10))
  return values === null ? null : { functionName: first.name, values }
}
