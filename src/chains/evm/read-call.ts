// Reads the calls of one function for policies, with its declaration only. A wrong reading would be a security hole, so
// encoding the values again must give the same bytes.

import type { AbiInput, CallReader, CallValue, CompiledFunction } from '../chain.ts'
import { chooseNames, signatureOf } from './abi-types.ts'
import { readArguments } from './abi-values.ts'
import { parseDeclaration } from './declaration.ts'
import { DECODE_LIMIT_BYTES } from './decode.ts'

type Leaf = readonly [path: string, value: CallValue]

const ARRAY = /^(.*)\[([0-9]*)\]$/
const PLACE = /^(?:0|[1-9][0-9]{0,8})$/

const parseArray = (input: AbiInput): { readonly item: AbiInput; readonly length: number | null } | null => {
  const [, type, length] = ARRAY.exec(input.type) ?? []
  return type === undefined ? null : { item: { ...input, type }, length: length ? Number(length) : null }
}

const kindOfType = (type: string): CallValue['kind'] => {
  if (/^u?int/.test(type)) return 'integer'
  if (type === 'address' || type === 'bool') return type
  return type === 'string' ? 'text' : 'bytes'
}

const toValue = (type: string, value: unknown): CallValue => {
  const kind = kindOfType(type)
  const text = String(value)
  return kind === 'integer' ? { kind, value: BigInt(text) } : { kind, value: text }
}

const within = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

const collectLeaves = (input: AbiInput, value: unknown, path: string): readonly Leaf[] => {
  const array = parseArray(input)
  if (array !== null) {
    const items: readonly unknown[] = Array.isArray(value) ? value : []
    // With the length, a rule can refuse additional items.
    const length: Leaf = [within(path, 'length'), { kind: 'integer', value: BigInt(items.length) }]
    return [length, ...items.flatMap((each, at) => collectLeaves(array.item, each, within(path, String(at))))]
  }
  if (input.type !== 'tuple') return [[path, toValue(input.type, value)]]
  return collectAllLeaves(input.components ?? [], value, path)
}

const collectAllLeaves = (inputs: readonly AbiInput[], values: unknown, path: string): readonly Leaf[] => {
  const byName = new Map(Object.entries(values ?? {}))
  const names = chooseNames(inputs)
  return inputs.flatMap((input, index) => {
    const name = names[index] ?? ''
    return collectLeaves(input, byName.get(name), within(path, name))
  })
}

const kindIn = (inputs: readonly AbiInput[], [name, ...rest]: readonly string[]): CallValue['kind'] | null => {
  const input = inputs[chooseNames(inputs).indexOf(name ?? '')]
  return input === undefined ? null : kindWithin(input, rest)
}

const kindWithin = (input: AbiInput, path: readonly string[]): CallValue['kind'] | null => {
  const array = parseArray(input)
  const [place = '', ...rest] = path
  if (array !== null) {
    if (place === 'length' && rest.length === 0) return 'integer'
    const isPlace = PLACE.test(place) && (array.length === null || Number(place) < array.length)
    return isPlace ? kindWithin(array.item, rest) : null
  }
  if (input.type === 'tuple') return kindIn(input.components ?? [], path)
  return path.length === 0 ? kindOfType(input.type) : null
}

/** See `Calls.calls`. */
export const readerOf = ({ selector, declaration }: CompiledFunction): CallReader | null => {
  const item = parseDeclaration(declaration)
  if (item === null) return null
  const { name: functionName, inputs } = item
  const signature = signatureOf(item)
  return {
    names: chooseNames(inputs),
    kindOf: (path) => kindIn(inputs, path.split('.')),
    read: (input) => {
      if (input.slice(0, 10).toLowerCase() !== selector || input.length > 2 + 2 * DECODE_LIMIT_BYTES) return null
      const values = readArguments(inputs, input.slice(10))
      return values === null ? null : { functionName, signature, values: new Map(collectAllLeaves(inputs, values, '')) }
    },
  }
}
