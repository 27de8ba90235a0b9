// Reads entries of storage maps, decoded by the types in the metadata.

import type { Hex } from '../chain.ts'
import type { Question } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import type { AssetId } from './contracts.ts'
import type { Runtime } from './runtime.ts'
import { converted, type EntryPath, storageQuestion } from './storage.ts'
import { type Value, valueAs } from './values.ts'

/** Asks for an entry at the end of a block: null if nothing is stored. No question if the runtime has no such map. */
export const entryQuestion = (runtime: Runtime, path: EntryPath, blockHash: Hex): Question<Value | null> | null => {
  const map = runtime.storage[path.pallet]?.[path.entry]?.meta.type
  if (map === undefined || !map.isMap) return null
  return converted(storageQuestion(runtime, path, blockHash), (data) => {
    if (data === null) return null
    const value = valueAs(runtime, map.asMap.value, data)
    if (value === null) throw new MalformedAnswer(`an entry of ${path.pallet}.${path.entry}`)
    return value
  })
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
