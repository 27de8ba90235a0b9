// Parses a JSON ABI from a file: the array itself, or a compiler's artifact with the array in `abi` (Hardhat, Foundry,
// Truffle). The file is untrusted: anything that could not be decoded or shown later is refused, with its place.

import { AppError } from '../../platform/errors.ts'
import type { AbiFiles, AbiInput, DeclaredAbiItem } from '../chain.ts'
import { isRecord, type JsonRecord } from '../node/wire.ts'
import { parseLayout, selectorOf, signatureOf } from './abi-types.ts'

/** Artifacts contain byte code and syntax trees beside the ABI; the largest have a few megabytes. */
export const ABI_FILE_BYTES_MAX = 16_777_216
const ITEMS_MAX = 2_000
/** Parameters of one function or error, including those in tuples. */
const PARAMETERS_MAX = 256
const DEPTH_MAX = 8
const NAME_LENGTH_MAX = 128

/** Solidity's identifiers, which include Vyper's. */
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/
const ARRAYS = /(\[\d*\])*$/
const OTHER_TYPES = ['constructor', 'event', 'fallback', 'receive']

const refused = (sentence: string): AppError => new AppError('invalid_input', sentence)

/** The parameters that may still follow, and the depth of tuples. */
type Bounds = { readonly counter: { left: number }; readonly depth: number }

const nameIn = (value: unknown, at: string): string => {
  if (typeof value !== 'string' || value.length > NAME_LENGTH_MAX || !IDENTIFIER.test(value)) {
    throw refused(
      `The ABI's ${at} must have a name of letters, digits, _ and $, at most ${NAME_LENGTH_MAX} characters.`,
    )
  }
  return value
}

const inputIn = (value: unknown, at: string, { counter, depth }: Bounds): AbiInput => {
  counter.left -= 1
  if (counter.left < 0 || depth > DEPTH_MAX) {
    throw refused(`The ABI's ${at} goes beyond ${PARAMETERS_MAX} parameters or ${DEPTH_MAX} tuples within each other.`)
  }
  if (!isRecord(value) || typeof value.type !== 'string')
    throw refused(`The ABI's ${at} must be an object with a type.`)
  const name = value.name === undefined || value.name === null || value.name === '' ? '' : nameIn(value.name, at)
  const { type } = value
  const dimensions = ARRAYS.exec(type)?.[0].split('[').length ?? 1
  const input: AbiInput = type.startsWith('tuple')
    ? { name, type, components: inputsIn(value.components, at, { counter, depth: depth + 1 }) }
    : { name, type }
  if (dimensions - 1 > DEPTH_MAX || parseLayout(input) === null) {
    throw refused(
      `The ABI's ${at} has the type ${JSON.stringify(type.slice(0, 64))}; right are the types of the ABI, like uint256 or address[].`,
    )
  }
  return input
}

const inputsIn = (value: unknown, at: string, bounds: Bounds): readonly AbiInput[] => {
  if (!Array.isArray(value)) throw refused(`The ABI's ${at} must have a list of inputs or components.`)
  return value.map((each: unknown, index) => inputIn(each, `${at}, parameter ${index},`, bounds))
}

const BUILT_IN = /^(?:u?int\d*|u?fixed[\dx]*|bytes\d*|bool|string|address|function|tuple)$/
/** As solc writes the types of a library's own parameters: contracts, enums, structs and mappings, also in storage. */
const OF_LIBRARY =
  /^(?:mapping\(.*\)|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)(?:\[\d*\])*(?: storage(?: pointer| ref)?)?$/
const OWN_TYPE_LENGTH_MAX = 512

const isOfLibrary = (type: string): boolean => {
  if (type.length > OWN_TYPE_LENGTH_MAX || !OF_LIBRARY.test(type)) return false
  return type.includes(' storage') || !BUILT_IN.test(type.replace(/\[.*$/, ''))
}

const hasTypeOfLibrary = (inputs: unknown, depth = 0): boolean =>
  Array.isArray(inputs) &&
  depth <= DEPTH_MAX &&
  inputs.some(
    (each: unknown) =>
      isRecord(each) &&
      typeof each.type === 'string' &&
      (isOfLibrary(each.type) || hasTypeOfLibrary(each.components, depth + 1)),
  )

/** The name of a function or error that has types of its library; null for another item. */
const leftOutName = (value: unknown, index: number): string | null => {
  if (!isRecord(value) || !['function', 'error', undefined].some((kind) => kind === value.type)) return null
  return hasTypeOfLibrary(value.inputs) ? nameIn(value.name, `item ${index}`) : null
}

/** null for an item that is neither a function nor an error. */
const itemIn = (value: unknown, index: number): DeclaredAbiItem | null => {
  const at = `item ${index}`
  if (!isRecord(value)) throw refused(`The ABI's ${at} must be an object.`)
  // The specification says that a missing type means "function".
  const { type: kind = 'function' } = value
  if (kind !== 'function' && kind !== 'error') {
    if (OTHER_TYPES.some((other) => other === kind)) return null
    throw refused(`The ABI's ${at} must be of the type function, error, ${OTHER_TYPES.join(', ')}.`)
  }
  const counter = { left: PARAMETERS_MAX }
  const item = { name: nameIn(value.name, at), inputs: inputsIn(value.inputs ?? [], at, { counter, depth: 0 }) }
  const signature = signatureOf(item)
  return { kind, signature, selector: selectorOf(signature), item }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw refused('The file must be JSON: an ABI, or an artifact with one in "abi".')
  }
}

const abiIn = (json: unknown): readonly unknown[] => {
  const abi = isRecord(json) ? json.abi : json
  if (!Array.isArray(abi)) throw refused('The file must be a JSON array, or an object with one in "abi".')
  if (abi.length > ITEMS_MAX) throw refused(`The ABI must have at most ${ITEMS_MAX} items; it has ${abi.length}.`)
  return abi
}

/** See `AbiFiles.parse`. */
export const parseAbiFile: AbiFiles['parse'] = (text) => {
  const json = parsed(text)
  const bySignature = new Map<string, DeclaredAbiItem>()
  const leftOut: string[] = []
  for (const [index, value] of abiIn(json).entries()) {
    const left = leftOutName(value, index)
    if (left !== null) {
      leftOut.push(left)
      continue
    }
    const item = itemIn(value, index)
    const key = `${item?.kind} ${item?.signature}`
    if (item !== null && !bySignature.has(key)) bySignature.set(key, item)
  }
  if (bySignature.size === 0) {
    const others = leftOut.length === 0 ? '' : ' without types of its library'
    throw refused(`The ABI must have at least one function or error${others}.`)
  }
  const contractName = isRecord(json) ? contractNameIn(json) : null
  return { contractName, items: [...bySignature.values()], leftOut }
}

const contractNameIn = ({ contractName }: JsonRecord): string | null =>
  typeof contractName === 'string' && IDENTIFIER.test(contractName) ? contractName.slice(0, NAME_LENGTH_MAX) : null
