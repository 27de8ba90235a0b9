// What call data of an EVM contract means, by the ABI specification and docs/custody.md. It is read in the strict form
// alone: each tail follows the one before, so encoding the values again gives the same bytes.

import { type AbiFunction, getAddress, parseAbiItem, toFunctionSelector, toFunctionSignature } from 'viem'
import type { AssetStandard } from '../../../db/words.ts'
import { type Agreement, byPath, type Call, type Reading, type Rule, type Value } from './oracle.ts'

/** A function that is known, built in for a standard, or added by the operator for some contracts or for all. */
export type Known = {
  readonly item: AbiFunction
  readonly standard?: AssetStandard
  readonly boundTo?: readonly string[]
}
/** What was known when a policy was made. */
export type Contracts = {
  readonly known: ReadonlyMap<string, readonly Known[]>
  standardOf(to: string): AssetStandard
  /** Whether the code of the contract has the selector. */
  hasInCode(to: string, selector: string): boolean
}

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

const signatures = new Map<AbiFunction, string>()
const signatureOf = (item: AbiFunction): string => {
  const known = signatures.get(item) ?? toFunctionSignature(item)
  signatures.set(item, known)
  return known
}

/** A signature as somebody must write it; null for another text. */
const wholeFunction = (text: string): AbiFunction | null => {
  try {
    const item = parseAbiItem(`function ${text}` as string) as AbiFunction
    return signatureOf(item) === text ? item : null
  } catch {
    return null
  }
}

/** The function that a rule names, with the declarations that name its arguments; null if it is refused. */
const meantFunction = (
  contracts: Contracts,
  { name, to }: { readonly name: string; readonly to: string | null },
): readonly AbiFunction[] | null => {
  const whole = name.includes('(') ? wholeFunction(name) : null
  if (name.includes('(') && whole === null) return null
  const all = [...contracts.known.values()].flat()
  const bound = all.filter(({ boundTo }) => to !== null && boundTo?.includes(to) === true)
  const own = all.filter(
    ({ standard }) =>
      to !== null && standard !== undefined && standard !== 'other' && standard === contracts.standardOf(to),
  )
  const isMeant = ({ item }: Known) => (whole === null ? item.name === name : signatureOf(item) === name)
  const looked: Known[] = []
  let meant: readonly Known[] = []
  for (const place of [bound, own, all]) {
    looked.push(...place)
    meant = place.filter(isMeant)
    if (meant.length > 0) break
  }
  if (meant.length === 0 && whole !== null) meant = [{ item: whole }]
  let names = [...new Set(meant.map(({ item }) => signatureOf(item)))]
  const selectorOf = (signature: string) => toFunctionSelector(`function ${signature}`)
  const present = to === null ? [] : names.filter((each) => contracts.hasInCode(to, selectorOf(each)))
  if (names.length > 1 && present.length === 1) names = present
  const [signature] = names
  if (signature === undefined || names.length > 1) return null
  const isOther = ({ item }: Known) => signatureOf(item) !== signature
  const sameSelector = contracts.known.get(selectorOf(signature)) ?? []
  if (sameSelector.some((each) => looked.includes(each) && isOther(each))) return null
  return meant.flatMap(({ item }) => (signatureOf(item) === signature ? [item] : []))
}

/** The names on which all agree, at each depth. */
const agreedParameters = (all: readonly (readonly Parameter[])[]): readonly Parameter[] => {
  const named = all.map(namesOf)
  return (all[0] ?? []).map((parameter, index) => {
    const name = named[0]?.[index] ?? ''
    const isAgreed = named.every((each) => each[index] === name) && !/^[0-9]+$/.test(name)
    const components = parameter.components && agreedParameters(all.map((each) => each[index]?.components ?? []))
    return { type: parameter.type, name: isAgreed ? name : '', ...(components && { components }) }
  })
}

const kindOfType = (type: string): Value['kind'] => {
  if (/int/.test(type)) return 'integer'
  if (type === 'string') return 'text'
  return type === 'address' || type === 'bool' ? type : 'bytes'
}

/** The kind of the argument at a path; null if there is none. */
const kindAt = (parameters: readonly Parameter[], [first, ...rest]: readonly string[]): Value['kind'] | null => {
  const parameter = parameters[namesOf(parameters).indexOf(first ?? '')]
  return parameter === undefined ? null : kindBelow(parameter, rest)
}

const kindBelow = (parameter: Parameter, path: readonly string[]): Value['kind'] | null => {
  const list = listOf(parameter)
  const [first = '', ...rest] = path
  if (list === null && parameter.type === 'tuple') return kindAt(parameter.components ?? [], path)
  if (list === null) return path.length === 0 ? kindOfType(parameter.type) : null
  if (path.length === 1 && first === 'length') return 'integer'
  const isItem =
    String(Number(first)) === first && /^[0-9]+$/.test(first) && (list.length === null || Number(first) < list.length)
  return isItem ? kindBelow({ ...parameter, type: list.of }, rest) : null
}

const fitsType = (kind: Value['kind'], { operator, value }: Rule): boolean => {
  if (kind === 'integer') return /^(-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value)
  if (operator !== 'eq' && operator !== 'ne') return false
  if (kind === 'address') return /^0x[0-9a-fA-F]{40}$/.test(value)
  if (kind === 'bytes') return /^0x([0-9a-fA-F]{2})*$/.test(value)
  return kind === 'text' || value === 'true' || value === 'false'
}

const readCall = (name: string, inputs: readonly Parameter[], { input }: Call): Reading | null => {
  const data = Buffer.from(input.slice(2), 'hex')
  const signature = `${name}(${inputs.map(typeText).join()})`
  if (hexOf(data.subarray(0, 4)) !== toFunctionSelector(`function ${signature}`)) return null
  try {
    const content = data.subarray(4)
    const { items, end } = parseSequence(inputs, content, 0)
    certain(end === content.length)
    return { name, signature, values: byPath(namedOf(inputs, items, '')) }
  } catch (error) {
    if (error instanceof Uncertain) return null
    throw error
  }
}

/** What rules mean for calls of contracts; null if they are refused. */
export const agreeOnContracts = (contracts: Contracts, rules: readonly Rule[]): Agreement | null => {
  const naming = rules.filter(({ argument, operator }) => argument === 'decodedInput.function' && operator === 'eq')
  const [named] = naming
  const decoded = rules.filter(({ argument }) => argument.startsWith('decodedInput.'))
  if (named === undefined) return decoded.length === 0 ? { read: () => null } : null
  const first = rules.find(({ argument, operator }) => argument === 'to' && operator === 'eq')
  const to = first === undefined ? null : getAddress(first.value)
  const declarations = naming.length === 1 ? meantFunction(contracts, { name: named.value, to }) : null
  const [{ name } = { name: '' }] = declarations ?? []
  if (declarations === null) return null
  const inputs = agreedParameters(declarations.map((each) => each.inputs))
  const areRight = decoded.every((rule) => {
    if (rule.argument === 'decodedInput.function') return true
    const path = rule.argument.replace('decodedInput.', '').split('.')
    const kind = kindAt(
      inputs,
      path.map((each) => each.replace(/^_+/, '')),
    )
    return kind !== null && fitsType(kind, rule)
  })
  return areRight ? { read: (call) => readCall(name, inputs, call) } : null
}

/**
 * What a call is to somebody who names its function whole, as a maker of policies does; null if nobody knows the
 * function.
 */
export const readContractCall = (contracts: Contracts, call: Call): Reading | null => {
  const [known] = contracts.known.get(call.input.slice(0, 10)) ?? []
  if (known === undefined || call.to === null) return null
  const naming = { argument: 'decodedInput.function', operator: 'eq', value: signatureOf(known.item) } as const
  const rules: readonly Rule[] = [{ argument: 'to', operator: 'eq', value: call.to }, naming]
  return agreeOnContracts(contracts, rules)?.read(call) ?? null
}

/** The type as a signature has it. */
const typeText = (parameter: Parameter): string =>
  parameter.type.startsWith('tuple')
    ? `(${(parameter.components ?? []).map(typeText).join()})${parameter.type.slice(5)}`
    : parameter.type
