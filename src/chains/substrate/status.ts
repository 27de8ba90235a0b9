// Where extrinsics stand. A node finds one by its block alone, so a hash without one is in the pool or unknown.

import type { AskedHash, HashStatus, Hex } from '../chain.ts'
import { NodeUnavailable, question, RpcError } from '../node/rpc.ts'
import { bytes, listOf } from '../node/wire.ts'
import { blockQuestion, finalHashAt, hashOfExtrinsic, readFinalHead } from './blocks.ts'
import { endOf, eventsQuestion } from './events.ts'
import { messageFailure } from './gear.ts'
import { createdCollection } from './nfts.ts'
import type { SubstrateNode } from './node.ts'
import { isForgotten } from './storage.ts'

const UNKNOWN: HashStatus = { kind: 'unknown' }

/** Those of a final block among these hashes. @throws NodeUnavailable. */
const inBlock = async (
  node: SubstrateNode,
  { blockHash, hashes, final }: { readonly blockHash: Hex; readonly hashes: ReadonlySet<Hex>; readonly final: bigint },
): Promise<ReadonlyMap<Hex, HashStatus>> => {
  const block = await node.rpc.ask(blockQuestion(blockHash))
  if (block === null || block.number > final || (await finalHashAt(node, block.number)) !== blockHash) return new Map()
  // The block that brings a new runtime is still of the old one, and its parent's state says which.
  const runtime = await node.runtimes.at(block.number === 0n ? blockHash : block.parentHash)
  const events = await node.rpc.ask(eventsQuestion(runtime, blockHash))
  const found = block.extrinsics.map(hashOfExtrinsic).flatMap((hash, index): [Hex, HashStatus][] => {
    const end = hashes.has(hash) ? endOf(runtime, events, index) : null
    if (end === null) return []
    const failure = end.success ? messageFailure(events, index) : end.reason
    const status: HashStatus = {
      kind: 'mined',
      success: failure === null,
      blockNumber: block.number,
      blockHash,
      confirmations: Number(final - block.number) + 1,
      contractAddress: failure === null ? createdCollection(events, index) : null,
      reason: failure,
      executedBy: [],
      failedWithin: false,
    }
    return [[hash, status]]
  })
  return new Map(found)
}

const wordsOfForgotten = ({ row }: SubstrateNode): string =>
  `the ${row.network} node has let go of the state of its block, which says how it ended: an archive node has it`

/** The same, of a block whose state may be gone. @throws NodeUnavailable. */
const inBlockOrForgotten = async (
  node: SubstrateNode,
  input: Parameters<typeof inBlock>[1],
): Promise<ReadonlyMap<Hex, HashStatus>> => {
  try {
    return await inBlock(node, input)
  } catch (error) {
    if (!(error instanceof NodeUnavailable && error.cause instanceof RpcError && isForgotten(error.cause))) throw error
    const forgotten: HashStatus = { kind: 'unknown', hindrance: wordsOfForgotten(node) }
    return new Map([...input.hashes].map((hash) => [hash, forgotten]))
  }
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
  const final = (await readFinalHead(node)).ref.number
  for (const [blockHash, those] of byBlock) {
    if (blockHash === null) continue
    const hashes = new Set(those.map(({ hash }) => hash))
    for (const [hash, status] of await inBlockOrForgotten(node, { blockHash, hashes, final }))
      statuses.set(hash, status)
  }
  return asked.map(({ hash }) => statuses.get(hash) ?? (pooled.has(hash) ? { kind: 'pending' } : UNKNOWN))
}
