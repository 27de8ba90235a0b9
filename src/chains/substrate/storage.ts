// Reads storage by key at a block, and the headers of blocks.

import type { Hex } from '../chain.ts'
import { NodeUnavailable, type Question, question, RpcError } from '../node/rpc.ts'
import { bytes, hash, MalformedAnswer, nullable, record } from '../node/wire.ts'
import type { Runtime } from './runtime.ts'
import { fromHex, littleEndian } from './scale.ts'

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
export type EntryPath = { readonly pallet: string; readonly entry: string; readonly parts?: readonly unknown[] }

/** Asks for a stored value at the end of a block; null if nothing is stored. */
export const storageQuestion = (
  runtime: Runtime,
  { pallet, entry, parts }: EntryPath,
  blockHash: Hex,
): Question<Hex | null> =>
  question('state_getStorage', [storageKey(runtime, pallet, entry, parts), blockHash], nullable(bytes))

/** The same question with a converted answer. Pure. */
export const converted = <From, To>(asked: Question<From>, convert: (value: From) => To): Question<To> => ({
  ...asked,
  parse: (answer) => convert(asked.parse(answer)),
})

const parseTimestamp = (value: unknown): number => Number(littleEndian(fromHex(nullable(bytes)(value) ?? '0x')))

/** Asks for the time of a block, in milliseconds. */
export const timestampQuestion = (blockHash: Hex): Question<number> =>
  question('state_getStorage', [TIMESTAMP_NOW, blockHash], parseTimestamp)

/** Whether an error means that the node pruned the block or its state (sp_blockchain, Error::UnknownBlock). */
export const isPruned = ({ message, data }: RpcError): boolean =>
  /discarded|unknown ?block|not found in the database/i.test(`${message} ${typeof data === 'string' ? data : ''}`)

/** Resolves to null if the node has pruned what is asked for. @throws NodeUnavailable for any other failure. */
export const unlessPruned = async <T>(asked: Promise<T>): Promise<T | null> => {
  try {
    return await asked
  } catch (error) {
    if (error instanceof NodeUnavailable && error.cause instanceof RpcError && isPruned(error.cause)) return null
    throw error
  }
}

export type Header = { readonly number: bigint; readonly parentHash: Hex }

/** Numbers in headers are hex strings. */
const blockNumber = (value: unknown): bigint => {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,16}$/.test(value)) throw new MalformedAnswer('a block number')
  return BigInt(value)
}

export const parseHeader = (value: unknown): Header => {
  const header = record(value)
  return { number: blockNumber(header.number), parentHash: hash(header.parentHash) }
}

/** Asks for a header, by default the newest block's; null if the node does not have the block. */
export const headerQuestion = (blockHash?: Hex): Question<Header | null> =>
  question('chain_getHeader', blockHash === undefined ? [] : [blockHash], nullable(parseHeader))

export const NO_FINAL_HEADER = 'A node has no header of the block that it calls final.'

export const finalizedHashQuestion: Question<Hex> = question('chain_getFinalizedHead', [], hash)
