// Reads finalized blocks. Nothing else is indexed, so there are no reorganizations.

import type { BlockWithSenders } from '../blocks.ts'
import type { BlockRef, BlockWithHashes, Hex } from '../chain.ts'
import { type Answer, NodeUnavailable, type Question, question } from '../node/rpc.ts'
import { bytes, hash, listOf, nullable, record } from '../node/wire.ts'
import { addressOf } from './address.ts'
import type { SubstrateNode } from './node.ts'
import { type Runtime, type RuntimeVersion, versionQuestion } from './runtime.ts'
import { blake2Hash, fromHex, littleEndian, toHex } from './scale.ts'
import {
  finalizedHashQuestion,
  type Header,
  headerQuestion,
  isPruned,
  NO_FINAL_HEADER,
  parseHeader,
  timestampQuestion,
} from './storage.ts'

export type Block = Header & { readonly extrinsics: readonly Hex[] }

const parseBlock = (value: unknown): Block => {
  const { block } = record(value)
  const { header, extrinsics } = record(block)
  return { ...parseHeader(header), extrinsics: listOf(bytes)(extrinsics) }
}

/** Asks for a block with its extrinsics; null if the node does not have it. */
export const blockQuestion = (blockHash: Hex): Question<Block | null> =>
  question('chain_getBlock', [blockHash], nullable(parseBlock))

/** Asks for the hash of a block by its number on the node's current chain. */
export const hashQuestion = (number: bigint): Question<Hex | null> =>
  question('chain_getBlockHash', [Number(number)], nullable(hash))

export const hashOfExtrinsic = (raw: Hex): Hex => toHex(blake2Hash(fromHex(raw)))

/** The newest final block, and the version of the runtime in its state. */
export type FinalHead = { readonly ref: BlockRef; readonly version: RuntimeVersion }

/** @param known is returned unchanged if it still is the newest final block. */
export const readFinalHead = async (
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  known: FinalHead | null = null,
): Promise<FinalHead> => {
  const blockHash = await rpc.ask(finalizedHashQuestion)
  if (blockHash === known?.ref.hash) return known
  const [header, timestampMs, version] = await rpc.askAll([
    headerQuestion(blockHash),
    timestampQuestion(blockHash),
    versionQuestion(blockHash),
  ])
  if (header === null) throw new NodeUnavailable('refused', NO_FINAL_HEADER)
  return { ref: { ...header, hash: blockHash, timestampMs }, version }
}

/** A second is a small part of a block's time (2 to 12 seconds), so an era from this head is at most one block shorter. */
const RECENT_MS = 1_000

/** The newest final block, and the runtime in its state. */
export type FinalState = { readonly head: BlockRef; readonly runtime: Runtime }

export const readFinalState = async (node: Pick<SubstrateNode, 'rpc' | 'runtimes'>): Promise<FinalState> => {
  const { ref, version } = await readFinalHead(node)
  return { head: ref, runtime: await node.runtimes.of(version, ref.hash) }
}

/** Reads the final state at most once a second. Use it to fill extrinsics; balances are compared at a fresh one. */
export const createRecentState = (node: Pick<SubstrateNode, 'rpc' | 'runtimes'>): (() => Promise<FinalState>) => {
  let last: { readonly state: Promise<FinalState>; readonly askedMs: number } | null = null
  return () => {
    if (last !== null && performance.now() - last.askedMs < RECENT_MS) return last.state
    const asked = { state: readFinalState(node), askedMs: performance.now() }
    last = asked
    asked.state.catch(() => {
      if (last === asked) last = null
    })
    return asked.state
  }
}

/** A Timestamp.set extrinsic: 10 bytes, unsigned, call 0 of its pallet, a compact number of 6 bytes. */
const TIMESTAMP_SET = /^0x280[45][0-9a-f]{2}000b([0-9a-f]{12})$/

const timestampIn = ({ extrinsics }: Block): number | null => {
  const found = extrinsics.map((each) => TIMESTAMP_SET.exec(each)?.[1]).find((digits) => digits !== undefined)
  return found === undefined ? null : Number(littleEndian(Buffer.from(found, 'hex')))
}

/** A signed extrinsic of version 4 after its length: the signer follows as `MultiAddress::Id`. */
const SIGNED_BY_ID = Uint8Array.of(0x84, 0x00)
const PUBLIC_KEY_BYTES = 32
/** By the two lowest bits of a compact number: how many bytes it takes. A length never needs the fourth mode. */
const COMPACT_BYTES = [1, 2, 4] as const

/** Who signed an extrinsic, in whose name it pays; null if nobody signed it. */
export const signerOf = (row: SubstrateNode['row'], raw: Hex): string | null => {
  const data = fromHex(raw)
  const at = COMPACT_BYTES[(data[0] ?? 0) & 3] ?? 0
  const isSigned = at > 0 && SIGNED_BY_ID.every((byte, index) => data[at + index] === byte)
  const key = data.subarray(at + SIGNED_BY_ID.length, at + SIGNED_BY_ID.length + PUBLIC_KEY_BYTES)
  return isSigned && key.length === PUBLIC_KEY_BYTES ? addressOf(row, key) : null
}

/** See `Blocks.sendersFrom`. It reads the node's current chain, so it is for final blocks. */
export const readSendersFrom = async (
  { rpc, row }: Pick<SubstrateNode, 'rpc' | 'row'>,
  { number, limit }: { readonly number: bigint; readonly limit: number },
): Promise<readonly BlockWithSenders[]> => {
  const numbers = Array.from({ length: limit }, (_, index) => number + BigInt(index))
  const hashes = await rpc.askAll(numbers.map(hashQuestion))
  const end = hashes.indexOf(null)
  const there = hashes.slice(0, end === -1 ? undefined : end).filter((each) => each !== null)
  const blocks = await rpc.askAll(there.map(blockQuestion), { size: 'bulk' })
  return blocks.flatMap((block, index) => {
    if (block === null) throw new NodeUnavailable('refused', 'A node has no block whose hash it knows.')
    const transactions = block.extrinsics.flatMap((raw) => {
      const from = signerOf(row, raw)
      return from === null ? [] : [{ hash: hashOfExtrinsic(raw), from, to: null, callText: raw }]
    })
    return [{ number: number + BigInt(index), transactions }]
  })
}

/** The questions whose answers blockOf needs. */
export const blockQuestions = (blockHash: Hex) => [blockQuestion(blockHash), timestampQuestion(blockHash)] as const

/**
 * Builds a block from the answers to blockQuestions; null if the node does not have it. If the node has pruned the block's
 * state, the time is read from its Timestamp.set extrinsic.
 */
export const blockOf = (
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  blockHash: Hex,
  [answer, timestamp]: readonly [Answer<Block | null>, Answer<number>],
): BlockWithHashes | null => {
  const block = rpc.need(answer)
  if (block === null) return null
  const spelled = !timestamp.ok && isPruned(timestamp.error) ? timestampIn(block) : null
  const timestampMs = spelled ?? rpc.need(timestamp)
  const { extrinsics, ...header } = block
  return { ...header, hash: blockHash, timestampMs, transactionHashes: extrinsics.map(hashOfExtrinsic) }
}
