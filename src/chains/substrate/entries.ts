// Reads entries of storage maps, decoded by the types in the metadata.

import type { Hex } from '../chain.ts'
import type { Question } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import type { AssetId } from './contracts.ts'
import type { Runtime } from './runtime.ts'
import { storageKey, storageQuestion } from './storage.ts'
import { fieldOf, type Value, valueAs } from './values.ts'

type EntryPath = {
  readonly pallet: string
  readonly entry: string
  readonly parts: readonly unknown[]
}

/**
 * Asks for an entry at the end of a block; the answer is null if nothing is stored.
 * @returns null instead of a question if the runtime has no such map.
 */
export const entryQuestion = (
  runtime: Runtime,
  { pallet, entry, parts }: EntryPath,
  blockHash: Hex,
): Question<Value | null> | null => {
  const map = runtime.storage[pallet]?.[entry]?.meta.type
  if (map === undefined || !map.isMap) return null
  const stored = storageQuestion(storageKey(runtime, pallet, entry, parts), blockHash)
  return {
    ...stored,
    parse: (answer) => {
      const data = stored.parse(answer)
      if (data === null) return null
      const value = valueAs(runtime, map.asMap.value, data)
      if (value === null) throw new MalformedAnswer(`an entry of ${pallet}.${entry}`)
      return value
    },
  }
}

/**
 * Asks for an entry of an asset at the end of a block; `account` is the entry of one holder. @returns null also for a foreign
 * asset whose id is not a canonically encoded Location: the codec would read it as another one.
 */
export const assetQuestion = (
  runtime: Runtime,
  input: { readonly asset: AssetId; readonly entry: 'asset' | 'metadata' } | AccountPath,
  blockHash: Hex,
): Question<Value | null> | null => {
  const { pallet, id } = input.asset
  const map = runtime.storage[pallet]?.asset?.meta.type
  if (map === undefined || !map.isMap) return null
  if (typeof id === 'string' && valueAs(runtime, map.asMap.key, id) === null) return null
  const parts = input.entry === 'account' ? [id, input.holder] : [id]
  return entryQuestion(runtime, { pallet, entry: input.entry, parts }, blockHash)
}

type AccountPath = { readonly asset: AssetId; readonly entry: 'account'; readonly holder: string }

/** An integer field; 0 if it is missing or not an integer. Pure. */
export const numberIn = (value: Value | null, name: string): bigint => {
  const field = fieldOf(value, name)
  return field.kind === 'integer' ? field.value : 0n
}

/** A field of bytes as text; '' if it is missing or not valid UTF-8. Pure. */
export const textIn = (value: Value | null, name: string): string => {
  const field = fieldOf(value, name)
  if (field.kind !== 'bytes') return ''
  const bytes = Buffer.from(field.value.slice(2), 'hex')
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : ''
}
