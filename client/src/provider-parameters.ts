// What a dapp passes to a provider, checked at the edge: a parameter of another form is refused with -32602.

import type { Hex, TypedData } from './evm-wallet.ts'
import { isObject, ProviderError } from './provider-error.ts'

export const textAt = (params: unknown, index: number): string => {
  const value = Array.isArray(params) ? params[index] : undefined
  if (typeof value === 'string') return value
  throw new ProviderError(-32602, `Parameter ${index} must be a text.`)
}

export const objectAt = (params: unknown, index: number): Readonly<Record<string, unknown>> => {
  const value = Array.isArray(params) ? params[index] : undefined
  if (isObject(value)) return value
  throw new ProviderError(-32602, `Parameter ${index} must be an object.`)
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
  throw new ProviderError(-32602, `Parameter ${index} must be typed data.`)
}
