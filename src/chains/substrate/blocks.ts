// Reads final blocks. Nothing else is indexed, so there are no reorganizations.

import { type Blocks, type BlockWithSenders, chained } from '../blocks.ts'
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

type Block = Header & { readonly extrinsics: readonly Hex[] }

const parseBlock = (value: unknown): Block => {
  const { block } = record(value)
  const { header, extrinsics } = record(block)
  return { ...parseHeader(header), extrinsics: listOf(bytes)(extrinsics) }
}

export const blockQuestion = (blockHash: Hex): Question<Block | null> =>
  question('chain_getBlock', [blockHash], nullable(parseBlock))

export const hashQuestion = (number: bigint): Question<Hex | null> =>
  question('chain_getBlockHash', [Number(number)], nullable(hash))

export const hashOfExtrinsic = (raw: Hex): Hex => toHex(blake2Hash(fromHex(raw)))

type FinalHead = { readonly ref: BlockRef; readonly version: RuntimeVersion }

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

/** Blocks take 2 to 12 seconds, so an era from this head is at most one block shorter. */
const RECENT_MS = 1_000

export type FinalState = { readonly head: BlockRef; readonly runtime: Runtime }

export const readFinalState = async (node: Pick<SubstrateNode, 'rpc' | 'runtimes'>): Promise<FinalState> => {
  const { ref, version } = await readFinalHead(node)
  return { head: ref, runtime: await node.runtimes.of(version, ref.hash) }
}

/** Reads the final state at most once a second, to fill extrinsics. Balances and assets are read in a fresh one. */
export const createRecentState = (node: Pick<SubstrateNode, 'rpc' | 'runtimes'>): (() => Promise<FinalState>) => {
  let last: { readonly state: Promise<FinalState>; readonly askedMs: number } | null = null
  return () => {
    if (last !== null && performance.now() - last.askedMs < RECENT_MS) return last.state
    const reading = { state: readFinalState(node), askedMs: performance.now() }
    last = reading
    reading.state.catch(() => {
      if (last === reading) last = null
    })
    return reading.state
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

/** Who signed an extrinsic, in whose name it pays; null if it is unsigned. */
export const parseSigner = (row: SubstrateNode['row'], raw: Hex): string | null => {
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
  const found = hashes.slice(0, end === -1 ? undefined : end).filter((each) => each !== null)
  const blocks = await rpc.askAll(found.map(blockQuestion), { size: 'bulk' })
  return blocks.flatMap((block, index) => {
    if (block === null) throw new NodeUnavailable('refused', 'A node has no block whose hash it knows.')
    const transactions = block.extrinsics.flatMap((raw) => {
      const from = parseSigner(row, raw)
      return from === null ? [] : [{ hash: hashOfExtrinsic(raw), from, to: null, callText: raw }]
    })
    return [{ number: number + BigInt(index), transactions }]
  })
}

const blockQuestions = (blockHash: Hex) => [blockQuestion(blockHash), timestampQuestion(blockHash)] as const

/** null if the node does not have the block. If it has pruned the state, the time is read from Timestamp.set. */
const blockOf = (
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

// Reads final blocks by number for the tracker, in their order, in as few round trips as possible. A node answers a
// height with a block of its best chain, which may not be final, and several nodes may be behind one URL. So a hash
// counts as final only if the node named the block or its child as final; or if the node gave the hash in the same
// batch as a final block of at least this height, and again after that batch, whose questions may be answered in any
// order. Final hashes of the next blocks are remembered, and each is used once.

const AHEAD = 32

export type FinalBlocks = {
  /** The newest final block; one round trip while it is unchanged. */
  head(): Promise<BlockRef>
  /** null if the block is not final yet, or the node does not have it. */
  block(number: bigint): Promise<BlockWithHashes | null>
  blocksFrom: Blocks['blocksFrom']
}

/** The hashes that the node gave before and after it named a final block of at least their height. */
const selectFinal = (
  hashes: readonly (Hex | null)[],
  { from, again, header }: { from: bigint; again: readonly (Hex | null)[]; header: Header | null },
): readonly { readonly number: bigint; readonly hash: Hex }[] =>
  hashes.flatMap((hash, index) => {
    const number = from + BigInt(index)
    const isFinal = header !== null && number <= header.number && hash !== null && hash === again[index]
    return isFinal ? [{ number, hash }] : []
  })

export const createFinalBlocks = (node: Pick<SubstrateNode, 'rpc'>): FinalBlocks => {
  const { rpc } = node
  /** Final hashes of blocks that were not asked for yet, by number. */
  const known = new Map<bigint, Hex>()
  let newest: FinalHead | null = null

  const keep = (number: bigint, hash: Hex): void => {
    known.delete(number)
    known.set(number, hash)
    for (const oldest of [...known.keys()].slice(0, -2 * AHEAD)) known.delete(oldest)
  }

  const head = async (): Promise<BlockRef> => {
    const final = await readFinalHead(node, newest)
    const { ref } = final
    if (ref.hash === newest?.ref.hash) return ref
    // The node is behind, or the chain was started anew: the known hashes may be of another chain.
    if (newest !== null && ref.number <= newest.ref.number) known.clear()
    newest = final
    keep(ref.number - 1n, ref.parentHash)
    keep(ref.number, ref.hash)
    return ref
  }

  const lookUp = async (number: bigint): Promise<BlockWithHashes | null> => {
    const questions = Array.from({ length: AHEAD }, (_, index) => hashQuestion(number + BigInt(index)))
    const [final, ...first] = await rpc.askAll([finalizedHashQuestion, ...questions])
    const [hash] = first
    if (hash === null || hash === undefined) return null
    const [header, block, timestamp, ...again] = await rpc.tryAll([
      headerQuestion(final),
      ...blockQuestions(hash),
      ...questions,
    ])
    const found = selectFinal(first, { from: number, again: again.map(rpc.need), header: rpc.need(header) })
    for (const each of found.slice(1)) keep(each.number, each.hash)
    return found[0]?.number === number ? blockOf(node, hash, [block, timestamp]) : null
  }

  const block = async (number: bigint): Promise<BlockWithHashes | null> => {
    const hash = known.get(number)
    if (hash === undefined) return lookUp(number)
    known.delete(number)
    return blockOf(node, hash, await rpc.tryAll(blockQuestions(hash)))
  }

  const blocksFrom: Blocks['blocksFrom'] = async ({ number, limit }) => {
    const first = await block(number)
    if (first === null) return []
    // The hashes of the next ones are known by now.
    const numbers = Array.from({ length: limit - 1 }, (_, index) => number + 1n + BigInt(index))
    const missing = numbers.findIndex((each) => !known.has(each))
    const ready = missing === -1 ? numbers : numbers.slice(0, missing)
    return chained([first, ...(await Promise.all(ready.map(block)))])
  }

  return { head, block, blocksFrom }
}
