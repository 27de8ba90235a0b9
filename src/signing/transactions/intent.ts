import type { Static } from '@sinclair/typebox'
import type { AccessList, Chain, Hex, Intent } from '../../chains/chain.ts'
import type { AppError } from '../../platform/errors.ts'
import { invalidInput, NONCE_END, parseQuantity, UINT64_END, UINT256_END } from '../schema.ts'
import type { UnsignedTransaction } from './schema.ts'

/** The schema has checked the form of the texts, not their bounds. */
type UnsignedTransactionText = Static<typeof UnsignedTransaction>

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
  throw invalidInput(`Field "${field}" must be 0x and an even number of hex digits.`)
}

/** All storage keys of one access list. */
const STORAGE_KEYS_MAX = 1_024

type ParsingChain = Pick<Chain, 'network' | 'hasTransactionTypes' | 'isMortal' | 'feeAssets' | 'parseAddress'>

const parseAccessList = (
  chain: ParsingChain,
  entries: NonNullable<UnsignedTransactionText['accessList']>,
  field: string,
): AccessList => {
  if (entries.reduce((sum, { storageKeys }) => sum + storageKeys.length, 0) > STORAGE_KEYS_MAX) {
    throw invalidInput(`Field "${field}" must have at most ${STORAGE_KEYS_MAX} storage keys in all.`)
  }
  return entries.map(({ address, storageKeys }, at) => ({
    address: chain.parseAddress(address, `${field}.${at}.address`),
    storageKeys: storageKeys.map((key, index) => parseHex(key, `${field}.${at}.storageKeys.${index}`)),
  }))
}

/** Types 0, 1 and 2: a gas price makes one of type 0, or with an access list of type 1. */
const deriveType = ({ gasPrice, accessList }: UnsignedTransactionText): 0 | 1 | 2 => {
  if (gasPrice === undefined) return 2
  return accessList === undefined ? 0 : 1
}

const parseForm = (
  chain: ParsingChain,
  text: UnsignedTransactionText,
  field: string,
): Pick<Intent, 'gasPrice' | 'accessList'> => {
  const { gasPrice, accessList, type } = text
  const given = (['gasPrice', 'accessList', 'type'] as const).find((name) => text[name] !== undefined)
  if (given === undefined) return {}
  if (!chain.hasTransactionTypes) throw noMeaning(chain, `${field}.${given}`)
  const fee = (['maxFeePerGas', 'maxPriorityFeePerGas'] as const).find((name) => text[name] !== undefined)
  if (gasPrice !== undefined && fee !== undefined) {
    throw invalidInput(`Field "${field}.gasPrice" must be absent if "${fee}" is there.`)
  }
  if (type !== undefined && Number(type) !== deriveType(text)) {
    throw invalidInput(
      `Field "${field}.type" must be ${deriveType(text)}, which the other fields make it: "gasPrice" gives type 0, with "accessList" type 1; without "gasPrice" it is type 2.`,
    )
  }
  return {
    ...(gasPrice === undefined ? {} : { gasPrice: parseQuantity(gasPrice, `${field}.gasPrice`, UINT256_END) }),
    ...(accessList === undefined ? {} : { accessList: parseAccessList(chain, accessList, `${field}.accessList`) }),
  }
}

const noMeaning = ({ network }: ParsingChain, field: string): AppError =>
  invalidInput(`Field "${field}" has no meaning on ${network}.`)

/**
 * Refuses what only `sign` takes: what is sent is of type 2, because its fees are raised while it waits, and has no
 * access list.
 * @param why for a sentence that begins with the field.
 */
export const refuseForm = (intent: Intent, { field, why }: { readonly field: string; readonly why: string }): void => {
  const isListed = (intent.accessList ?? []).length > 0
  const name = intent.gasPrice !== undefined ? 'gasPrice' : isListed ? 'accessList' : null
  if (name !== null) throw invalidInput(`Field "${field}.${name}" must be absent: ${why}.`)
}

export const parseIntent = (
  chain: ParsingChain,
  text: UnsignedTransactionText,
  field = 'unsigned_transaction',
): Intent => {
  const input = parseHex(text.input || '0x', `${field}.input`)
  if (text.to === undefined && input === '0x') {
    throw invalidInput(
      `Field "${field}.to" is required, but for a contract creation, or a call of a Substrate runtime, in "input".`,
    )
  }
  if (text.era !== undefined && !chain.isMortal) throw noMeaning(chain, `${field}.era`)
  const { feeAssets } = chain
  if (text.asset_id !== undefined && feeAssets === null) throw noMeaning(chain, `${field}.asset_id`)
  return {
    to: text.to === undefined ? null : chain.parseAddress(text.to, `${field}.to`),
    value: text.value === undefined ? 0n : parseQuantity(text.value, `${field}.value`, UINT256_END),
    input,
    ...(text.gasLimit === undefined ? {} : { gasLimit: parseQuantity(text.gasLimit, `${field}.gasLimit`, UINT64_END) }),
    ...parseFees(text, `${field}.`),
    ...parseForm(chain, text, field),
    ...(text.era === undefined ? {} : { era: Number(parseQuantity(text.era, `${field}.era`, NONCE_END)) }),
    ...(text.asset_id === undefined || feeAssets === null
      ? {}
      : { feeAsset: feeAssets.parse(text.asset_id, `${field}.asset_id`) }),
    ...(text.nonce === undefined ? {} : { nonce: Number(parseQuantity(text.nonce, `${field}.nonce`, NONCE_END)) }),
  }
}
