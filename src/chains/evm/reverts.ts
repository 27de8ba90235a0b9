// The error texts of failed executions: Error(string), Panic(uint256), known custom errors, otherwise the selector.

import type { AbiParameter } from 'viem'
import { decodeAbiParameters } from 'viem/utils'
import type { AbiInput, Hex } from '../chain.ts'
import type { RpcError } from '../node/rpc.ts'
import { isHex, isRecord, type JsonRecord } from '../node/wire.ts'
import { cleanText } from '../text.ts'
import { chooseNames } from './abi-types.ts'
import { type Declared, decodeError, selectorIn } from './decode.ts'
import { isNoFunds, isRevert, revertData } from './node-errors.ts'

/** Contracts can return reasons of any length. */
export const REASON_LIMIT = 300

/** Solidity documentation, "Panic via assert and Error via require". */
const PANICS: ReadonlyMap<bigint, string> = new Map([
  [0x00n, 'unspecified panic'],
  [0x01n, 'assertion failed'],
  [0x11n, 'arithmetic overflow or underflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'conversion to an enum value that does not exist'],
  [0x22n, 'storage byte array encoded incorrectly'],
  [0x31n, 'pop on an empty array'],
  [0x32n, 'array index out of bounds'],
  [0x41n, 'too much memory allocated'],
  [0x51n, 'call of a function variable that was never set'],
])

const ERROR_STRING_SELECTOR = '0x08c379a0'
const PANIC_SELECTOR = '0x4e487b71'

/** Decoded by viem, because contracts do not always pad texts as the specification demands. */
const decodeParameter = (parameter: AbiParameter, data: Hex): unknown => {
  try {
    return decodeAbiParameters([parameter], `0x${data.slice(10)}`)[0]
  } catch {
    return null
  }
}

/** Texts are shown in quotes, so that they cannot look like other values. */
const shownValue = (input: AbiInput, value: unknown): string => {
  if (Array.isArray(value)) {
    const item = { ...input, type: input.type.replace(/\[\d*\]$/, '') }
    return `[${value.map((each: unknown) => shownValue(item, each)).join(', ')}]`
  }
  if (isRecord(value)) return `{${shownValues(input.components ?? [], value)}}`
  return input.type === 'string' ? JSON.stringify(value) : String(value)
}

/** `sender: 0x…, balance: 1`; a value without a name is shown alone. */
const shownValues = (inputs: readonly AbiInput[], values: JsonRecord): string => {
  const names = chooseNames(inputs)
  return inputs
    .map((input, index) => {
      const name = names[index] ?? ''
      const value = shownValue(input, values[name])
      return name === String(index) ? value : `${name}: ${value}`
    })
    .join(', ')
}

const panicText = (data: Hex): string | null => {
  const code = decodeParameter({ type: 'uint256' }, data)
  if (typeof code !== 'bigint') return null
  return `panic: ${PANICS.get(code) ?? 'unknown panic'} (0x${code.toString(16).padStart(2, '0')})`
}

/** A contract that catches an error may revert with a text and the bytes of that error behind it, and so on. */
const PASSED_ON_MAX = 8

/** The text of Error(string), which may end in another error; null if it cannot be decoded. */
const errorText = (data: Hex, passedOn = 0): string | null => {
  // A string has the encoding of bytes.
  const bytes = decodeParameter({ type: 'bytes' }, data)
  if (typeof bytes !== 'string' || !isHex(bytes)) return null
  const words = (end?: number): string => Buffer.from(bytes.slice(2, end), 'hex').toString()
  const at = /^(?:..)*?(?=08c379a0|4e487b71)/.exec(bytes.slice(2))?.[0].length
  if (at === undefined || passedOn === PASSED_ON_MAX) return words()
  const inner = `0x${bytes.slice(2 + at)}` as const
  const reason = inner.startsWith(ERROR_STRING_SELECTOR) ? errorText(inner, passedOn + 1) : panicText(inner)
  return reason === null ? words() : words(2 + at) + reason
}

/** The reason in the bytes of a revert, on one line of limited length. Pure. */
export const revertReason = (data: Hex, declared?: Declared): string => {
  const selector = selectorIn(data)
  if (selector === null) return 'no reason given'
  if (selector === ERROR_STRING_SELECTOR) {
    const text = errorText(data)
    return text === null ? 'a reason that cannot be read' : cleanText(text, REASON_LIMIT) || 'an empty reason'
  }
  if (selector === PANIC_SELECTOR) return panicText(data) ?? 'a panic that cannot be read'
  const error = decodeError(data, declared)
  if (error === null) return `custom error ${selector}`
  return cleanText(`${error.name}(${shownValues(error.inputs, error.arguments)})`, REASON_LIMIT)
}

export const revertFailure = (data: Hex, declared?: Declared): string =>
  `execution reverted: ${revertReason(data, declared)}`

/** The selector of a custom error; null for a text, a panic, and no data. Pure. */
export const customErrorIn = (data: Hex): Hex | null => {
  const selector = selectorIn(data)
  return selector === ERROR_STRING_SELECTOR || selector === PANIC_SELECTOR ? null : selector
}

/** The node's text for a halt. It is about the virtual machine, and contains no data of the caller. */
const haltReason = (message: string): string => {
  const words = cleanText(message, REASON_LIMIT).replace(/^EVM error /, '')
  return words === '' || words === 'execution failed' ? 'out of gas or an invalid instruction' : words
}

/** Replaces the different texts of nodes. */
export const NO_FUNDS_REASON = 'insufficient funds for transfer'

/** The error text for a node's error: `execution reverted: …` for a revert, and only for that. Pure. */
export const describeFailure = (error: RpcError): string => {
  if (!isRevert(error)) return isNoFunds(error) ? NO_FUNDS_REASON : `execution failed: ${haltReason(error.message)}`
  const data = revertData(error)
  if (data !== null && data !== '0x') return revertFailure(data)
  const said = cleanText(error.message.replace(/^.*?execution reverted:?/i, ''), REASON_LIMIT)
  return `execution reverted: ${said || 'no reason given'}`
}

/**
 * The error text for one call of a simulation. anvil reports `execution failed` for everything. A revert without a
 * reason is then recognised by its remaining gas, which only a revert gives back. Pure.
 */
export const simulatedFailure = (end: {
  readonly message: string
  readonly data: Hex
  readonly keptGas: boolean
}): string => {
  const reverted =
    end.data !== '0x' || /revert/i.test(end.message) || (end.message === 'execution failed' && end.keptGas)
  if (!reverted) return `execution failed: ${haltReason(end.message)}`
  return revertFailure(end.data)
}

/** How much an error text says, to choose among several: a custom error or a text says more than a panic. Pure. */
export const informativeness = (failure: string): number => {
  if (!failure.startsWith('execution reverted: ')) return 0
  if (/: (?:no reason given|an empty reason|.* cannot be read)$/.test(failure)) return 1
  if (failure.startsWith('execution reverted: panic: ')) return 2
  return failure.startsWith('execution reverted: custom error ') ? 3 : 4
}
