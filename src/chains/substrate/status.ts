// Where extrinsics stand. A node finds one by its block alone, so a hash without one is in the pool or unknown.

import type { AskedHash, HashStatus, Hex } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { bytes, listOf } from '../node/wire.ts'
import { blockQuestion, hashOfExtrinsic, hashQuestion } from './blocks.ts'
import { type ChainEvent, endOf, eventsQuestion } from './events.ts'
import { messageFailure } from './gear.ts'
import { innerFailure } from './inner-failures.ts'
import { createdCollection } from './nfts.ts'
import type { SubstrateNode } from './node.ts'
import { type Runtime, versionQuestion } from './runtime.ts'
import type { Place } from './search.ts'
import { finalizedHashQuestion, headerQuestion, unlessForgotten } from './storage.ts'

const UNKNOWN: HashStatus = { kind: 'unknown' }

const wordsOfForgotten = ({ row }: SubstrateNode): string =>
  `the ${row.network} node has let go of the state of its block, which says how it ended: an archive node has it`

const wordsOfMissing = ({ row }: SubstrateNode): string =>
  `the ${row.network} node does not have its block: it is behind, or keeps fewer blocks than an archive node`

const unknownBecause = (hashes: ReadonlySet<Hex>, hindrance: string): ReadonlyMap<Hex, HashStatus> =>
  new Map([...hashes].map((hash) => [hash, { kind: 'unknown', hindrance }]))

/** Of an extrinsic that succeeded: why it did not do all that it says, by a call or a message of its own. */
const failureWithin = (runtime: Runtime, events: readonly ChainEvent[], extrinsic: number): string | null => {
  const own = events.filter((event) => event.extrinsic === extrinsic)
  return innerFailure(runtime, own)?.reason ?? messageFailure(events, extrinsic)
}

/** Of a block that is asked for by its hash. @throws NodeUnavailable. */
const inBlock = async (
  node: SubstrateNode,
  { blockHash, hashes }: { readonly blockHash: Hex; readonly hashes: ReadonlySet<Hex> },
): Promise<ReadonlyMap<Hex, HashStatus>> => {
  const { rpc } = node
  const block = await rpc.ask(blockQuestion(blockHash))
  if (block === null) return unknownBecause(hashes, wordsOfMissing(node))
  const { number } = block
  // The block that brings a new runtime is still of the old one, and its parent's state says which.
  const before = number === 0n ? blockHash : block.parentHash
  const [final, told, version] = await rpc.askAll([
    finalizedHashQuestion,
    hashQuestion(number),
    versionQuestion(before),
  ])
  if (told !== blockHash) return new Map()
  const runtime = await node.runtimes.of(version, before)
  // Once more after the final head was answered: only what is not above that stays as it is.
  const [head, again, events] = await rpc.askAll([
    headerQuestion(final),
    hashQuestion(number),
    eventsQuestion(runtime, blockHash),
  ])
  if (head === null || head.number < number || again !== blockHash) return new Map()
  const found = block.extrinsics.map(hashOfExtrinsic).flatMap((hash, index): [Hex, HashStatus][] => {
    const end = hashes.has(hash) ? endOf(runtime, events, index) : null
    if (end === null) return []
    const failure = end.success ? failureWithin(runtime, events, index) : end.reason
    const status: HashStatus = {
      kind: 'mined',
      success: failure === null,
      blockNumber: number,
      blockHash,
      confirmations: Number(head.number - number) + 1,
      contractAddress: failure === null ? createdCollection(runtime, events, index) : null,
      reason: failure,
      executedBy: [],
      failedWithin: false,
    }
    return [[hash, status]]
  })
  return new Map(found)
}

/**
 * Of an extrinsic that nobody here sent. From the pool it goes into a block, and from a block that goes away back into the
 * pool: the pool is asked before the blocks, and after them.
 * @throws NodeUnavailable.
 */
export const findStatus = async (
  node: SubstrateNode,
  { hash, search }: { readonly hash: Hex; readonly search: (hash: Hex) => Promise<Place | null> },
): Promise<HashStatus> => {
  const inPool = async () => (await readStatuses(node, [{ hash, blockHash: null }]))[0] ?? UNKNOWN
  const pooled = await inPool()
  if (pooled.kind === 'pending') return pooled
  const place = await search(hash)
  if (place === 'not_final') return { kind: 'pending' }
  if (place === null) return inPool()
  const [found] = await readStatuses(node, [{ hash, blockHash: place.blockHash }])
  return found ?? UNKNOWN
}

/** @throws NodeUnavailable. */
export const readStatuses = async (
  node: SubstrateNode,
  asked: readonly AskedHash[],
): Promise<readonly HashStatus[]> => {
  if (asked.length === 0) return []
  const byBlock = Map.groupBy(asked, ({ blockHash }) => blockHash)
  const pooled = byBlock.has(null)
    ? new Set((await node.rpc.ask(question('author_pendingExtrinsics', [], listOf(bytes)))).map(hashOfExtrinsic))
    : new Set<Hex>()
  const statuses = new Map<Hex, HashStatus>()
  for (const [blockHash, those] of byBlock) {
    if (blockHash === null) continue
    const hashes = new Set(those.map(({ hash }) => hash))
    // The state of the block says how what is in it ended.
    const ended = await unlessForgotten(inBlock(node, { blockHash, hashes }))
    for (const [hash, status] of ended ?? unknownBecause(hashes, wordsOfForgotten(node))) statuses.set(hash, status)
  }
  return asked.map(({ hash }) => statuses.get(hash) ?? (pooled.has(hash) ? { kind: 'pending' } : UNKNOWN))
}
