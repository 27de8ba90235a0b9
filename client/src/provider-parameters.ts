// What a dapp passes to a provider, checked at the edge: a parameter of another form is refused with -32602.

import { StrongroomError } from './errors.ts'
import { type EvmTransaction, type Hex, readQuantity, type TypedData } from './evm-wallet.ts'
import { INVALID_PARAMS, isObject, ProviderError } from './provider-error.ts'

export const textAt = (params: unknown, index: number): string => {
  const value = Array.isArray(params) ? params[index] : undefined
  if (typeof value === 'string') return value
  throw new ProviderError(INVALID_PARAMS, `Parameter ${index} must be a text.`)
}

export const objectAt = (params: unknown, index: number): Readonly<Record<string, unknown>> => {
  const value = Array.isArray(params) ? params[index] : undefined
  if (isObject(value)) return value
  throw new ProviderError(INVALID_PARAMS, `Parameter ${index} must be an object.`)
}

/** A message as hex; wallets also take it as text. */
export const messageHex = (message: string): Hex => {
  if (/^0x(?:[0-9a-f]{2})*$/i.test(message)) return `0x${message.slice(2)}`
  const bytes = [...new TextEncoder().encode(message)]
  return `0x${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** Whether its types and values fit, the service says. */
const isTypedData = (value: unknown): value is TypedData =>
  isObject(value) && typeof value.primaryType === 'string' && [value.domain, value.types, value.message].every(isObject)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const typedDataAt = (params: unknown, index: number): TypedData => {
  const given = Array.isArray(params) ? params[index] : undefined
  const value = typeof given === 'string' ? parsed(given) : given
  if (isTypedData(value)) return value
  throw new ProviderError(INVALID_PARAMS, `Parameter ${index} must be typed data.`)
}

/** A chain id that must be given. */
export const readChainId = (value: unknown): number => {
  const read = readQuantity({ name: 'chainId', value })
  if (read !== undefined) return Number(read)
  throw new ProviderError(INVALID_PARAMS, 'Field "chainId" is missing.')
}

const ADDRESS = /^0x[0-9a-f]{40}$/i

/** Many dapps send the parameters of personal_sign in the order of eth_sign, which browsers' wallets take too. */
export const personalMessageAt = (params: unknown): { readonly message: Hex; readonly account: string } => {
  const [first, second] = [textAt(params, 0), textAt(params, 1)]
  const isSwapped = ADDRESS.test(first) && !ADDRESS.test(second)
  return isSwapped ? { message: messageHex(second), account: first } : { message: messageHex(first), account: second }
}

type Fields = Readonly<Record<string, unknown>>

/** Refuses a misspelt field, without which the transaction would be another one. */
export const refuseUnknown = (fields: Fields, known: readonly string[]): void => {
  const unknown = Object.keys(fields).find((name) => !known.includes(name) && (fields[name] ?? null) !== null)
  if (unknown === undefined) return
  throw new ProviderError(INVALID_PARAMS, `Field "${unknown}" is unknown here; known are ${known.join(', ')}.`)
}

/** A field that has two names. Nodes refuse a transaction in which they differ. */
const either = (fields: Fields, names: readonly [string, string]): unknown => {
  const given = names.map((name) => fields[name]).filter((value) => value !== undefined && value !== null)
  const [first] = given
  if (given.every((value) => String(value).toLowerCase() === String(first).toLowerCase())) return first
  throw new ProviderError(INVALID_PARAMS, `Fields "${names.join('" and "')}" differ.`)
}

const TYPES_SENT = ['0', '1', '2', undefined]

const TRANSACTION_FIELDS = [
  'from',
  'to',
  'value',
  'data',
  'input',
  'gas',
  'gasLimit',
  'gasPrice',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
  'nonce',
  'type',
  'chainId',
  'accessList',
  'blobs',
  'blobVersionedHashes',
  'authorizationList',
]

/**
 * A transaction that the service is to fill in and sign. It chooses the fees by the caps, if there are any: a gas price
 * would make a transaction that cannot be sped up, so neither that nor the type is passed on.
 */
export const transactionAt = (
  params: unknown,
  index: number,
): { readonly from: unknown; readonly chainId: number | undefined; readonly transaction: EvmTransaction } => {
  const fields = objectAt(params, index)
  refuseUnknown(fields, TRANSACTION_FIELDS)
  const { from, chainId, input: _input, gasLimit: _limit, gasPrice: _price, type, ...rest } = fields
  if (!TYPES_SENT.includes(readQuantity({ name: 'type', value: type })))
    throw new StrongroomError('invalid_input', 'Field "type" must be 0x0, 0x1 or 0x2.')
  const data = String(either(fields, ['data', 'input']) ?? '0x')
  const gas = readQuantity({ name: 'gas', value: either(fields, ['gas', 'gasLimit']) })
  return {
    from,
    chainId: chainId === undefined || chainId === null ? undefined : readChainId(chainId),
    transaction: { ...rest, data, gas },
  }
}
