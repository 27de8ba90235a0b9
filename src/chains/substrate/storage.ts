// Questions about storage at a block, and about headers.

import type { Hex } from '../chain.ts'
import { NodeUnavailable, type Question, question, RpcError } from '../node/rpc.ts'
import { bytes, hash, MalformedAnswer, nullable, record } from '../node/wire.ts'
import type { AssetId } from './contracts.ts'
import type { Runtime } from './runtime.ts'
import { fromHex, littleEndian } from './scale.ts'
import { type Value, valueAs } from './values.ts'

/** twox128("Timestamp") ‖ twox128("Now"): the same key in every runtime. */
const TIMESTAMP_NOW: Hex = '0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb'

/** The key of an entry, for example `storageKey(runtime, 'system', 'account', [address])`. */
export const storageKey = (
  { registry, storage, specVersion }: Runtime,
  pallet: string,
  entry: string,
  parts: readonly unknown[] = [],
): Hex => {
  const found = storage[pallet]?.[entry]
  if (found === undefined) throw new Error(`runtime ${specVersion} has no storage ${pallet}.${entry}`)
  return registry.createType('StorageKey', parts.length === 0 ? found : [found, [...parts]]).toHex()
}

/** An entry of a pallet's storage; `parts` are the keys of a map. Names are in camel case. */
type EntryPath = { readonly pallet: string; readonly entry: string; readonly parts?: readonly unknown[] }

/** null if nothing is stored at the end of the block. */
export const storageQuestion = (
  runtime: Runtime,
  { pallet, entry, parts }: EntryPath,
  blockHash: Hex,
): Question<Hex | null> =>
  question('state_getStorage', [storageKey(runtime, pallet, entry, parts), blockHash], nullable(bytes))

/** The same question with a converted answer. Pure. */
export const converted = <From, To>(from: Question<From>, convert: (value: From) => To): Question<To> => ({
  ...from,
  parse: (answer) => convert(from.parse(answer)),
})

const parseTimestamp = (value: unknown): number => Number(littleEndian(fromHex(nullable(bytes)(value) ?? '0x')))

export const timestampQuestion = (blockHash: Hex): Question<number> =>
  question('state_getStorage', [TIMESTAMP_NOW, blockHash], parseTimestamp)

/** Whether an error means that the node pruned the block or its state (sp_blockchain, Error::UnknownBlock). */
export const isPruned = ({ message, data }: RpcError): boolean =>
  /discarded|unknown ?block|not found in the database/i.test(`${message} ${typeof data === 'string' ? data : ''}`)

/** Resolves to null if the node has pruned what the question needs. @throws NodeUnavailable for any other failure. */
export const unlessPruned = async <T>(answer: Promise<T>): Promise<T | null> => {
  try {
    return await answer
  } catch (error) {
    if (error instanceof NodeUnavailable && error.cause instanceof RpcError && isPruned(error.cause)) return null
    throw error
  }
}

export type Header = { readonly number: bigint; readonly parentHash: Hex }

const blockNumber = (value: unknown): bigint => {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,16}$/.test(value)) throw new MalformedAnswer('a block number')
  return BigInt(value)
}

export const parseHeader = (value: unknown): Header => {
  const header = record(value)
  return { number: blockNumber(header.number), parentHash: hash(header.parentHash) }
}

/** By default the newest block's header; null if the node does not have the block. */
export const headerQuestion = (blockHash?: Hex): Question<Header | null> =>
  question('chain_getHeader', blockHash === undefined ? [] : [blockHash], nullable(parseHeader))

export const NO_FINAL_HEADER = 'A node has no header of the block that it calls final.'

export const finalizedHashQuestion: Question<Hex> = question('chain_getFinalizedHead', [], hash)

/** An entry of a map; null if nothing is stored. @returns null if the runtime has no such map. */
export const entryQuestion = (runtime: Runtime, path: EntryPath, blockHash: Hex): Question<Value | null> | null => {
  const map = runtime.storage[path.pallet]?.[path.entry]?.meta.type
  if (map?.isMap !== true) return null
  return converted(storageQuestion(runtime, path, blockHash), (data) => {
    if (data === null) return null
    const value = valueAs(runtime, map.asMap.value, data)
    if (value === null) throw new MalformedAnswer(`an entry of ${path.pallet}.${path.entry}`)
    return value
  })
}

/**
 * `account` is the entry of one holder. @returns null also for a foreign asset whose id is not a canonically encoded
 * Location: the codec would read it as another one.
 */
export const assetQuestion = (
  runtime: Runtime,
  input: { readonly asset: AssetId } & (
    | { readonly entry: 'asset' | 'metadata' }
    | { readonly entry: 'account'; readonly holder: string }
  ),
  blockHash: Hex,
): Question<Value | null> | null => {
  const { pallet, id } = input.asset
  const map = runtime.storage[pallet]?.asset?.meta.type
  if (map?.isMap !== true) return null
  if (typeof id === 'string' && valueAs(runtime, map.asMap.key, id) === null) return null
  const parts = input.entry === 'account' ? [id, input.holder] : [id]
  return entryQuestion(runtime, { pallet, entry: input.entry, parts }, blockHash)
}
