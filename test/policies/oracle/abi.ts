// What call data of an EVM contract means, by the ABI specification and docs/custody.md. It is read in the strict form
// alone: each tail follows the one before, so encoding the values again gives the same bytes.

import { type AbiFunction, toFunctionSelector } from 'viem'
import type { AssetStandard } from '../../../db/words.ts'
import { byPath, type Call, type Reading, type Value } from './oracle.ts'

/** A function that is known, built in for a standard, or added by the operator for some contracts or for all. */
export type Known = {
  readonly item: AbiFunction
  readonly standard?: AssetStandard
  readonly boundTo?: readonly string[]
}
export type Contracts = { readonly known: ReadonlyMap<string, readonly Known[]>; standardOf(to: string): AssetStandard }

/** What is known, by selector. */
export const bySelector = (known: readonly Known[]): Contracts['known'] =>
  Map.groupBy(known, ({ item }) => toFunctionSelector(item))

const WORD = 32
const ITEMS_MAX = 10_000

class Uncertain extends Error {}
const certain = (condition: boolean): void => {
  if (!condition) throw new Uncertain()
}

type Parsed = Value | { readonly items: readonly Parsed[]; readonly isList: boolean }
type Parameter = {
  readonly type: string
  readonly name?: string | undefined
  readonly components?: readonly Parameter[] | undefined
}

const listOf = ({ type }: Parameter): { readonly of: string; readonly length: number | null } | null => {
  const [, of, length] = /^(.*)\[([0-9]*)\]$/.exec(type) ?? []
  if (of === undefined) return null
  return { of, length: length === undefined || length === '' ? null : Number(length) }
}

const isDynamic = (parameter: Parameter): boolean => {
  const list = listOf(parameter)
  if (list !== null) return list.length === null || isDynamic({ ...parameter, type: list.of })
  if (parameter.type === 'tuple') return (parameter.components ?? []).some(isDynamic)
  return parameter.type === 'bytes' || parameter.type === 'string'
}

const headBytes = (parameter: Parameter): number => {
  if (isDynamic(parameter)) return WORD
  const list = listOf(parameter)
  if (list !== null) return (list.length ?? 0) * headBytes({ ...parameter, type: list.of })
  if (parameter.type !== 'tuple') return WORD
  return (parameter.components ?? []).reduce((sum, each) => sum + headBytes(each), 0)
}

const bytesAt = (data: Buffer, at: number, length: number): Buffer => {
  certain(at >= 0 && length >= 0 && at + length <= data.length)
  return data.subarray(at, at + length)
}
const hexOf = (bytes: Buffer): string => `0x${bytes.toString('hex')}`
const wordAt = (data: Buffer, at: number): bigint => BigInt(hexOf(bytesAt(data, at, WORD)))
const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0)

const parseWord = (type: string, data: Buffer, at: number): Value => {
  const word = bytesAt(data, at, WORD)
  const number = wordAt(data, at)
  const [, sign, bits] = /^(u?)int([0-9]*)$/.exec(type) ?? []
  if (sign !== undefined) {
    const width = BigInt(bits || '256')
    const integer = sign === 'u' ? number : BigInt.asIntN(256, number)
    certain(integer === (sign === 'u' ? BigInt.asUintN(Number(width), integer) : BigInt.asIntN(Number(width), integer)))
    return { kind: 'integer', integer }
  }
  if (type === 'address') {
    certain(isZero(word.subarray(0, 12)))
    return { kind: 'address', text: hexOf(word.subarray(12)) }
  }
  if (type === 'bool') {
    certain(number < 2n)
    return { kind: 'bool', text: number === 1n ? 'true' : 'false' }
  }
  const [, length] = /^bytes([0-9]+)$/.exec(type) ?? []
  if (length === undefined) throw new Uncertain()
  certain(isZero(word.subarray(Number(length))))
  return { kind: 'bytes', text: hexOf(word.subarray(0, Number(length))) }
}

type Ended = { readonly parsed: Parsed; readonly end: number }

const parseBytes = (type: string, data: Buffer, at: number): Ended => {
  const length = Number(wordAt(data, at))
  const content = bytesAt(data, at + WORD, length)
  const padded = Math.ceil(length / WORD) * WORD
  certain(isZero(bytesAt(data, at + WORD, padded).subarray(length)))
  const end = at + WORD + padded
  if (type === 'bytes') return { parsed: { kind: 'bytes', text: hexOf(content) }, end }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
    return { parsed: { kind: 'text', text }, end }
  } catch {
    throw new Uncertain()
  }
}

const parseSequence = (parameters: readonly Parameter[], data: Buffer, at: number) => {
  const items: Parsed[] = []
  let head = at
  let tail = at + parameters.reduce((sum, each) => sum + headBytes(each), 0)
  certain(tail <= data.length)
  for (const parameter of parameters) {
    if (isDynamic(parameter)) {
      certain(wordAt(data, head) === BigInt(tail - at))
      const { parsed, end } = parseOne(parameter, data, tail)
      items.push(parsed)
      tail = end
    } else items.push(parseOne(parameter, data, head).parsed)
    head += headBytes(parameter)
  }
  return { items, end: tail }
}

const parseOne = (parameter: Parameter, data: Buffer, at: number): Ended => {
  const list = listOf(parameter)
  if (list !== null) {
    const counted = list.length === null ? wordAt(data, at) : BigInt(list.length)
    certain(counted <= ITEMS_MAX)
    const of = Array.from({ length: Number(counted) }, () => ({ ...parameter, type: list.of }))
    const { items, end } = parseSequence(of, data, list.length === null ? at + WORD : at)
    return { parsed: { items, isList: true }, end }
  }
  if (parameter.type === 'tuple') {
    const { items, end } = parseSequence(parameter.components ?? [], data, at)
    return { parsed: { items, isList: false }, end }
  }
  if (isDynamic(parameter)) return parseBytes(parameter.type, data, at)
  return { parsed: parseWord(parameter.type, data, at), end: at + WORD }
}

type Named = readonly [path: string, value: Value]

/** Without leading underscores; without a name, or with that of an earlier one, a value has its number. */
const namesOf = (parameters: readonly Parameter[]): readonly string[] => {
  const bare = parameters.map(({ name = '' }) => name.replace(/^_+/, ''))
  return bare.map((name, index) => (name === '' || bare.indexOf(name) < index ? String(index) : name))
}

const namedOf = (parameters: readonly Parameter[], items: readonly Parsed[], prefix: string): readonly Named[] => {
  const names = namesOf(parameters)
  return items.flatMap((item, index) => namedIn(parameters[index] as Parameter, item, `${prefix}${names[index]}`))
}

const namedIn = (parameter: Parameter, parsed: Parsed, path: string): readonly Named[] => {
  if ('kind' in parsed) return [[path, parsed]]
  const { items, isList } = parsed
  if (!isList) return namedOf(parameter.components ?? [], items, `${path}.`)
  const item = { ...parameter, type: listOf(parameter)?.of ?? '' }
  const inner = items.flatMap((each, index) => namedIn(item, each, `${path}.${index}`))
  return [...inner, [`${path}.length`, { kind: 'integer', integer: BigInt(items.length) }]]
}

/** The declarations that name the values of a call to a contract. */
const naming = ({ standardOf }: Contracts, candidates: readonly Known[], to: string): readonly Known[] => {
  const bound = candidates.filter(({ boundTo }) => boundTo?.includes(to) === true)
  if (bound.length > 0) return bound
  const own = candidates.filter(({ standard }) => standard !== undefined && standard === standardOf(to))
  return own.length > 0 ? own : candidates
}

/** The meaning of call data; null if it is not certain. */
export const readContractCall = (contracts: Contracts, { to, input }: Call): Reading | null => {
  const data = Buffer.from(input.slice(2), 'hex')
  if (to === null || data.length < 4) return null
  const candidates = contracts.known.get(hexOf(data.subarray(0, 4))) ?? []
  const signatures = new Set(candidates.map(({ item }) => `${item.name}(${item.inputs.map(typeText).join()})`))
  const [first] = candidates
  if (first === undefined || signatures.size !== 1) return null
  try {
    const content = data.subarray(4)
    const { items, end } = parseSequence(first.item.inputs, content, 0)
    certain(end === content.length)
    const all = naming(contracts, candidates, to).map(({ item }) => namedOf(item.inputs, items, ''))
    const agreed = (all[0] ?? []).map(([path, value], index) => {
      const isAgreed = all.every((each) => each[index]?.[0] === path)
      return [isAgreed ? path : null, value] as const
    })
    return { name: first.item.name, values: byPath(agreed) }
  } catch (error) {
    if (error instanceof Uncertain) return null
    throw error
  }
}

/** The type as a signature has it. */
const typeText = (parameter: Parameter): string =>
  parameter.type.startsWith('tuple')
    ? `(${(parameter.components ?? []).map(typeText).join()})${parameter.type.slice(5)}`
    : parameter.type
