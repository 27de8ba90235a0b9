// Finalized blocks: nothing else is followed, so that what is taken in never goes away again.

import type { BlockRef, BlockWithHashes, Hex } from '../chain.ts'
import { type Answer, type Question, question, type Rpc } from '../node/rpc.ts'
import { bytes, hash, listOf, nullable, record } from '../node/wire.ts'
import { blake2Hash, toHex } from './extrinsic.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime, RuntimeVersion } from './runtime.ts'
import { versionQuestion } from './runtime.ts'
import {
  finalizedHashQuestion,
  type Header,
  headerQuestion,
  isForgotten,
  littleEndian,
  parseHeader,
  timestampQuestion,
} from './storage.ts'

export type Block = Header & { readonly extrinsics: readonly Hex[] }

const parseBlock = (value: unknown): Block => {
  const { block } = record(value)
  const { header, extrinsics } = record(block)
  return { ...parseHeader(header), extrinsics: listOf(bytes)(extrinsics) }
}

/** A block with its extrinsics; null where the node does not have it. */
export const blockQuestion = (blockHash: Hex): Question<Block | null> =>
  question('chain_getBlock', [blockHash], nullable(parseBlock))

/** The hash of the block with a number, as the node has it by now. */
export const hashQuestion = (number: bigint): Question<Hex | null> =>
  question('chain_getBlockHash', [Number(number)], nullable(hash))

export const hashOfExtrinsic = (raw: Hex): Hex => toHex(blake2Hash(Buffer.from(raw.slice(2), 'hex')))

/** The newest final block, and the runtime that is behind it. */
export type FinalHead = { readonly ref: BlockRef; readonly version: RuntimeVersion }

/** @param known is answered again where it still is the newest one. @throws NodeUnavailable. */
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
  if (header === null) throw rpc.refusal(await noSuchBlock(rpc))
  return { ref: { ...header, hash: blockHash, timestampMs }, version }
}

/** @returns what the node says of a block that it named itself and does not have. */
const noSuchBlock = async (rpc: Rpc) => {
  const answer = await rpc.try(question('chain_getHeader', ['0x'], record))
  if (answer.ok) throw new Error('a node has no header of the block that it calls final')
  return answer.error
}

/** What is signed for one of these waits some blocks less; a second is a sixth of one. */
const RECENT_MS = 1_000

/** A final head that is a second old at most, for what is signed and not judged. @throws NodeUnavailable. */
export const createRecentHead = (
  node: Pick<SubstrateNode, 'rpc'>,
  nowMs: () => number = () => performance.now(),
): (() => Promise<FinalHead>) => {
  let last: { readonly head: Promise<FinalHead>; readonly askedMs: number } | null = null
  return () => {
    if (last !== null && nowMs() - last.askedMs < RECENT_MS) return last.head
    const asked = { head: readFinalHead(node), askedMs: nowMs() }
    last = asked
    asked.head.catch(() => {
      if (last === asked) last = null
    })
    return asked.head
  }
}

/** Timestamp.set as it stands in a block: 10 bytes, bare, call 0 of its pallet, a compact number of 6 bytes. */
const TIMESTAMP_SET = /^0x280[45][0-9a-f]{2}000b([0-9a-f]{12})$/

const timestampIn = ({ extrinsics }: Block): number | null => {
  const found = extrinsics.map((each) => TIMESTAMP_SET.exec(each)?.[1]).find((digits) => digits !== undefined)
  return found === undefined ? null : Number(littleEndian(`0x${found}`))
}

/** What follows a block's hash in a batch. */
export const blockQuestions = (blockHash: Hex) => [blockQuestion(blockHash), timestampQuestion(blockHash)] as const

/** Also of a block whose state the node has let go of: its hashes are what matters. @throws NodeUnavailable. */
export const blockOf = (
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  blockHash: Hex,
  [told, timestamp]: readonly [Answer<Block | null>, Answer<number>],
): BlockWithHashes | null => {
  const block = rpc.need(told)
  if (block === null) return null
  const spelled = !timestamp.ok && isForgotten(timestamp.error) ? timestampIn(block) : null
  const timestampMs = spelled ?? rpc.need(timestamp)
  const { extrinsics, ...header } = block
  return { ...header, hash: blockHash, timestampMs, transactionHashes: extrinsics.map(hashOfExtrinsic) }
}

/** The runtime behind the newest final block, and that block. @throws NodeUnavailable. */
export const readNow = async (
  node: Pick<SubstrateNode, 'rpc' | 'runtimes'>,
): Promise<{ readonly head: BlockRef; readonly runtime: Runtime }> => {
  const { ref, version } = await readFinalHead(node)
  return { head: ref, runtime: await node.runtimes.of(version, ref.hash) }
}
