// Payloads of programs built with Sails: the name of the service, the name of the function or event, and the values, in SCALE.
// Replies and events begin like calls (gear-tech/sails, js/src/prefix.ts). Programs do not describe their types.

import { TypeRegistry } from '@polkadot/types'
import type { Hex } from '../chain.ts'
import { fromHex, toHex } from './scale.ts'

/** A function or an event. `types` are the types of its values, as the registry spells them. */
export type SailsItem = { readonly service: string; readonly name: string; readonly types: readonly string[] }

const registry = new TypeRegistry()

const tupleOf = ({ types }: SailsItem): string => `(${['Text', 'Text', ...types].join(',')})`

/** Encodes a payload. @param values text, bytes in hex, integers as bigint, a struct as a list. Pure. */
export const encodePayload = (item: SailsItem, values: readonly unknown[]): Hex => {
  // The registry does not check that there is a value for each type.
  if (values.length !== item.types.length) throw new Error(`expected ${item.types.length} values for ${item.name}`)
  return registry.createType(tupleOf(item), [item.service, item.name, ...values]).toHex()
}

/** The part of the registry's value that we use. */
type Decoded = { toJSON(): unknown; toU8a(): Uint8Array }

/** Decodes the values of a payload, as JSON; null unless the bytes are exactly one payload of the item. Pure. */
export const decodePayload = (item: SailsItem, payload: Hex): readonly unknown[] | null => {
  let decoded: Decoded
  try {
    decoded = registry.createType(tupleOf(item), fromHex(payload)) as unknown as Decoded
  } catch {
    return null
  }
  if (toHex(decoded.toU8a()) !== payload) return null
  const [service, name, ...values] = decoded.toJSON() as readonly unknown[]
  return service === item.service && name === item.name ? values : null
}

/** Whether a payload belongs to a function or an event. The values are not decoded. Pure. */
export const isOf = (item: SailsItem, payload: Hex): boolean =>
  payload.startsWith(encodePayload({ ...item, types: [] }, []))
