// Entries of maps in storage, by the metadata's own types and names. A runtime without the pallet has no entry.

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

/** As of a block; null where nothing is stored, and where the runtime has no such map. */
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
 * An entry of an asset's, as of a block. `account` is one holder's. null also for a Location that is none, or that is not
 * spelled as an encoder spells it: the codec would make some other one of it.
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

/** 0 for what is no number. Pure. */
export const numberIn = (value: Value | null, name: string): bigint => {
  const field = fieldOf(value, name)
  return field.kind === 'integer' ? field.value : 0n
}

/** '' for what is no text in UTF-8. Pure. */
export const textIn = (value: Value | null, name: string): string => {
  const field = fieldOf(value, name)
  if (field.kind !== 'bytes') return ''
  const bytes = Buffer.from(field.value.slice(2), 'hex')
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : ''
}
