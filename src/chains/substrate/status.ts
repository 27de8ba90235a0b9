// Reads the status of extrinsics. Nodes find an extrinsic only by its block, so one without a known block is either in the pool
// or unknown.

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
import type { Found } from './search.ts'
import { finalizedHashQuestion, headerQuestion, unlessPruned } from './storage.ts'
import { createdAsset } from './tokens.ts'

const UNKNOWN: HashStatus = { kind: 'unknown' }

const unknownBecause = (hashes: ReadonlySet<Hex>, reason: string): ReadonlyMap<Hex, HashStatus> =>
  new Map([...hashes].map((hash) => [hash, { kind: 'unknown', reason }]))

/** Why an inner call or a message of a successful extrinsic failed; null if none did. */
const failureWithin = (runtime: Runtime, events: readonly ChainEvent[], extrinsic: number): string | null => {
  const own = events.filter((event) => event.extrinsic === extrinsic)
  return innerFailure(runtime, own)?.reason ?? messageFailure(events, extrinsic)
}

/** What an extrinsic created: a collection or an asset. */
const createdBy = (runtime: Runtime, events: readonly ChainEvent[], extrinsic: number): string | null =>
  createdCollection(runtime, events, extrinsic) ?? createdAsset(events, extrinsic)

/** The statuses of extrinsics in a block; empty if the block is not final. */
const inBlock = async (
  node: SubstrateNode,
  { blockHash, hashes }: { readonly blockHash: Hex; readonly hashes: ReadonlySet<Hex> },
): Promise<ReadonlyMap<Hex, HashStatus>> => {
  const { rpc } = node
  const block = await rpc.ask(blockQuestion(blockHash))
  if (block === null) {
    const reason = `the ${node.row.network} node does not have its block: it is behind, or keeps fewer blocks than an archive node`
    return unknownBecause(hashes, reason)
  }
  const { number } = block
  // A block is executed by the runtime in its parent's state, also if the block upgrades the runtime.
  const before = number === 0n ? blockHash : block.parentHash
  const [final, canonical, version] = await rpc.askAll([
    finalizedHashQuestion,
    hashQuestion(number),
    versionQuestion(before),
  ])
  if (canonical !== blockHash) return new Map()
  const runtime = await node.runtimes.of(version, before)
  // Ask for the hash again after the final head: up to that height it cannot change any more.
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
      contractAddress: failure === null ? createdBy(runtime, events, index) : null,
      reason: failure,
      executedBy: [],
      failedWithin: false,
    }
    return [[hash, status]]
  })
  return new Map(found)
}

/**
 * The status of an extrinsic that this service did not send. It may move from the pool into a block, or back if the block is
 * dropped, so the pool is read before the blocks and after them.
 */
export const findStatus = async (
  node: SubstrateNode,
  { hash, search }: { readonly hash: Hex; readonly search: (hash: Hex) => Promise<Found | null> },
): Promise<HashStatus> => {
  const inPool = async () => (await readStatuses(node, [{ hash, blockHash: null }]))[0] ?? UNKNOWN
  const pooled = await inPool()
  if (pooled.kind === 'pending') return pooled
  const found = await search(hash)
  if (found === 'not_final') return { kind: 'pending' }
  if (found === null) return inPool()
  const [status] = await readStatuses(node, [{ hash, blockHash: found.blockHash }])
  return status ?? UNKNOWN
}

/** The status of each extrinsic, in the order of `asked`. */
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
    // The results are events in the block's state, which the node may have pruned.
    const ended = await unlessPruned(inBlock(node, { blockHash, hashes }))
    const reason = `the ${node.row.network} node has pruned the state of its block, which says how it ended: an archive node has it`
    for (const [hash, status] of ended ?? unknownBecause(hashes, reason)) statuses.set(hash, status)
  }
  return asked.map(({ hash }) => statuses.get(hash) ?? (pooled.has(hash) ? { kind: 'pending' } : UNKNOWN))
}
