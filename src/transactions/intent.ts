import type { Chain, Hex, Intent } from '../chains/chain.ts'
import { AppError } from '../errors.ts'

/** The strings of a request. The schema has checked their form, not their bounds. */
type UnsignedTransactionText = {
  readonly to?: string
  readonly value?: string
  readonly input?: string
  readonly gasLimit?: string
  readonly maxPriorityFeePerGas?: string
  readonly maxFeePerGas?: string
  readonly nonce?: string
  readonly era?: string
  readonly asset_id?: string
}

export const UINT256_END = 1n << 256n
const UINT64_END = 1n << 64n
/** Above this a number is not exact. */
const NONCE_END = 1n << 53n

const FORM = /^(?:0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/

/** @param end the first number that is too large. */
export const parseQuantity = (text: string, field: string, end: bigint): bigint => {
  const value = FORM.test(text) ? BigInt(text) : -1n
  if (value >= 0n && value < end) return value
  const bound = end === UINT256_END ? '2^256' : end === UINT64_END ? '2^64' : '2^53'
  throw new AppError(
    'invalid_input',
    `Field "${field}" must be a quantity below ${bound} in 0x hex or plain decimal digits.`,
  )
}

/** An amount in base units: plain decimal digits, at least 1. */
export const parseAmount = (text: string, field: string): bigint => {
  const amount = /^[0-9]{1,78}$/.test(text) ? BigInt(text) : 0n
  if (amount > 0n && amount < UINT256_END) return amount
  throw new AppError('invalid_input', `Field "${field}" must be from 1 to 2^256 - 1 in plain decimal digits.`)
}

/** The fees that a request fixes. @param prefix of the fields' names in errors. */
export const parseFees = (
  text: Pick<UnsignedTransactionText, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  prefix = '',
): Pick<Intent, 'maxFeePerGas' | 'maxPriorityFeePerGas'> => {
  const fee = (name: 'maxFeePerGas' | 'maxPriorityFeePerGas') =>
    text[name] === undefined ? {} : { [name]: parseQuantity(text[name], prefix + name, UINT256_END) }
  return { ...fee('maxFeePerGas'), ...fee('maxPriorityFeePerGas') }
}

const HEX = /^0x[0-9a-f]*$/

/** Whole bytes. A repeated group in the expression would be a hundred times slower, and fail above two megabytes. */
const isHex = (text: string): text is Hex => text.length % 2 === 0 && HEX.test(text)

/** @returns lower case. */
export const parseHex = (text: string, field: string): Hex => {
  // The prefix must be in lower case.
  const hex = text.slice(0, 2) + text.slice(2).toLowerCase()
  if (isHex(hex)) return hex
  throw new AppError('invalid_input', `Field "${field}" must be 0x and an even number of hex digits.`)
}

/** Parses an `unsigned_transaction` and checks it without a node. */
export const parseIntent = (
  chain: Pick<Chain, 'network' | 'isMortal' | 'feeAssets' | 'parseAddress'>,
  text: UnsignedTransactionText,
  field = 'unsigned_transaction',
): Intent => {
  const input = parseHex(text.input || '0x', `${field}.input`)
  if (text.to === undefined && input === '0x') {
    throw new AppError(
      'invalid_input',
      `Field "${field}.to" is required, but for a contract creation, or a call of a Substrate runtime, in "input".`,
    )
  }
  const noMeaning = (member: string) =>
    new AppError('invalid_input', `Field "${field}.${member}" has no meaning on ${chain.network}.`)
  if (text.era !== undefined && !chain.isMortal) throw noMeaning('era')
  const { feeAssets } = chain
  if (text.asset_id !== undefined && feeAssets === null) throw noMeaning('asset_id')
  return {
    to: text.to === undefined ? null : chain.parseAddress(text.to, `${field}.to`),
    value: text.value === undefined ? 0n : parseQuantity(text.value, `${field}.value`, UINT256_END),
    input,
    ...(text.gasLimit === undefined ? {} : { gasLimit: parseQuantity(text.gasLimit, `${field}.gasLimit`, UINT64_END) }),
    ...parseFees(text, `${field}.`),
    ...(text.era === undefined ? {} : { era: Number(parseQuantity(text.era, `${field}.era`, NONCE_END)) }),
    ...(text.asset_id === undefined || feeAssets === null
      ? {}
      : { feeAsset: feeAssets.parse(text.asset_id, `${field}.asset_id`) }),
    ...(text.nonce === undefined ? {} : { nonce: Number(parseQuantity(text.nonce, `${field}.nonce`, NONCE_END)) }),
  }
}
