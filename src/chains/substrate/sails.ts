// Payloads of programs that are built with Sails: SCALE of the service's name, of the function's or event's, and of what is
// handed over; replies and events begin as calls do (gear-tech/sails, js/src/prefix.ts). A program says nothing of its types.

import { TypeRegistry } from '@polkadot/types'
import type { Hex } from '../chain.ts'
import { toHex } from './extrinsic.ts'

/** A function or an event: its types by their names in SCALE, as the registry spells them. */
export type SailsItem = { readonly service: string; readonly name: string; readonly types: readonly string[] }

const registry = new TypeRegistry()

const tupleOf = ({ types }: SailsItem): string => `(${['Text', 'Text', ...types].join(',')})`

/** @param values as the registry takes them: texts, bytes in hex, integers as bigint; a struct as a list. Pure. */
export const encodePayload = (item: SailsItem, values: readonly unknown[]): Hex => {
  // The registry takes the number of values for the number of types.
  if (values.length !== item.types.length) throw new Error(`expected ${item.types.length} values for ${item.name}`)
  return registry.createType(tupleOf(item), [item.service, item.name, ...values]).toHex()
}

/** What the registry hands out: lists of texts, hex and integers as text. */
type Decoded = { toJSON(): unknown; toU8a(): Uint8Array }

/** What is handed over, as JSON; null for bytes that are of something else, or not all of it. Pure. */
export const decodePayload = (item: SailsItem, payload: Hex): readonly unknown[] | null => {
  let decoded: Decoded
  try {
    decoded = registry.createType(tupleOf(item), Buffer.from(payload.slice(2), 'hex')) as unknown as Decoded
  } catch {
    return null
  }
  if (toHex(decoded.toU8a()) !== payload) return null
  const [service, name, ...values] = decoded.toJSON() as readonly unknown[]
  return service === item.service && name === item.name ? values : null
}

/** Whether a payload is of a function or an event, whatever it hands over. Pure. */
export const isOf = (item: SailsItem, payload: Hex): boolean =>
  payload.startsWith(encodePayload({ ...item, types: [] }, []))
