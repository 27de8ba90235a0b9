// Reads the status of extrinsics, and sends them. Nodes find an extrinsic only by its block, so one without a known
// block is either in the pool or unknown.

import type { AskedHash, BroadcastOutcome, HashStatus, Hex } from '../chain.ts'
import { NodeUnavailable, question, type Rpc, type RpcError } from '../node/rpc.ts'
import { bytes, hash, listOf } from '../node/wire.ts'
import { blockQuestion, hashOfExtrinsic, hashQuestion, readFinalHead } from './blocks.ts'
import { eventsQuestion, innerFailure, readEnd } from './events.ts'
import { messageFailure } from './gear.ts'
import { createdCollection } from './nfts.ts'
import type { SubstrateNode } from './node.ts'
import { versionQuestion } from './runtime.ts'
import { finalizedHashQuestion, headerQuestion, unlessPruned } from './storage.ts'
import { createdAsset } from './tokens.ts'

const UNKNOWN: HashStatus = { kind: 'unknown' }

const allUnknown = (hashes: ReadonlySet<Hex>, reason: string): ReadonlyMap<Hex, HashStatus> =>
  new Map([...hashes].map((hash) => [hash, { kind: 'unknown', reason }]))

/** The statuses of extrinsics in a block; empty if the block is not final. */
const readInBlock = async (
  node: SubstrateNode,
  { blockHash, hashes }: { readonly blockHash: Hex; readonly hashes: ReadonlySet<Hex> },
): Promise<ReadonlyMap<Hex, HashStatus>> => {
  const { rpc } = node
  const block = await rpc.ask(blockQuestion(blockHash))
  if (block === null) {
    const reason = `the ${node.row.network} node does not have its block: it is behind, or keeps fewer blocks than an archive node`
    return allUnknown(hashes, reason)
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
    const end = hashes.has(hash) ? readEnd(runtime, events, index) : null
    if (end === null) return []
    const own = events.filter((event) => event.extrinsic === index)
    const inner = () => innerFailure(runtime, own)?.reason ?? messageFailure(events, index)
    const failure = end.success ? inner() : end.reason
    const created = createdCollection(runtime, own) ?? createdAsset(own)
    const status: HashStatus = {
      kind: 'mined',
      success: failure === null,
      blockNumber: number,
      blockHash,
      confirmations: Number(head.number - number) + 1,
      contractAddress: failure === null ? created : null,
      reason: failure,
      executedBy: [],
      failedWithin: false,
    }
    return [[hash, status]]
  })
  return new Map(found)
}

/**
 * For an extrinsic that this service did not send. It may move from the pool into a block, or back if the block is
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
  for (const [blockHash, sent] of byBlock) {
    if (blockHash === null) continue
    const hashes = new Set(sent.map(({ hash }) => hash))
    // The results are events in the block's state, which the node may have pruned.
    const ended = await unlessPruned(readInBlock(node, { blockHash, hashes }))
    const reason = `the ${node.row.network} node has pruned the state of its block, which says how it ended: an archive node has it`
    for (const [hash, status] of ended ?? allUnknown(hashes, reason)) statuses.set(hash, status)
  }
  return asked.map(({ hash }) => statuses.get(hash) ?? (pooled.has(hash) ? { kind: 'pending' } : UNKNOWN))
}

// Finds the block of an extrinsic that this service did not send. Nodes have no index from a hash to its block, so this
// reads the newest final blocks, as many as an era has, and the blocks above them. An older extrinsic is not found.

/** The number of bodies in one batch. A body may be a megabyte. */
const BLOCKS_AT_ONCE = 16

type ReadBlock = { readonly blockHash: Hex; readonly parentHash: Hex; readonly extrinsics: ReadonlySet<Hex> }

/** The final block that contains an extrinsic, or 'not_final' if its block is not final yet. */
type Found = { readonly blockHash: Hex } | 'not_final'

/**
 * The search resolves to null if the extrinsic is in none of the newest blocks.
 * @throws NodeUnavailable, also if the extrinsic is not found and the node lacks some of the blocks.
 */
export const createSearch = (
  node: Pick<SubstrateNode, 'rpc' | 'row' | 'eras'>,
): ((extrinsic: Hex) => Promise<Found | null>) => {
  const { rpc, row } = node
  const cached = new Map<number, ReadBlock>()

  const read = async (
    numbers: readonly number[],
  ): Promise<readonly (readonly [number: number, block: ReadBlock])[]> => {
    const hashes = await rpc.askAll(numbers.map((number) => hashQuestion(BigInt(number))))
    const known = numbers.flatMap((number, index) => {
      const blockHash = hashes[index] ?? null
      return blockHash === null ? [] : [{ number, blockHash }]
    })
    const blocks = await rpc.askAll(
      known.map(({ blockHash }) => blockQuestion(blockHash)),
      { batchLimit: BLOCKS_AT_ONCE },
    )
    return known.flatMap(({ number, blockHash }, index) => {
      const { parentHash, extrinsics } = blocks[index] ?? {}
      if (parentHash === undefined || extrinsics === undefined) return []
      return [[number, { blockHash, parentHash, extrinsics: new Set(extrinsics.map(hashOfExtrinsic)) }]]
    })
  }

  const numbersBelow = (newest: number, count: number) => Array.from({ length: count }, (_, index) => newest - index)

  /** The blocks that form one chain below the newest final block. Drops the others: they are not final. */
  const linked = (numbers: readonly number[], newest: Hex): readonly ReadBlock[] => {
    let next = newest
    const firstOther = numbers.findIndex((number) => {
      const block = cached.get(number)
      if (block?.blockHash !== next) return true
      next = block.parentHash
      return false
    })
    for (const number of firstOther === -1 ? [] : numbers.slice(firstOther)) cached.delete(number)
    return numbers.flatMap((number) => cached.get(number) ?? [])
  }

  /** Whether a block above the final one has the extrinsic. Such blocks may be replaced, so they are not cached. */
  const isAbove = async (extrinsic: Hex, { final, era }: { final: number; era: number }): Promise<boolean> => {
    const newest = Number((await rpc.ask(headerQuestion()))?.number ?? 0n)
    const count = Math.min(Math.max(newest - final, 0), era)
    const above = await read(numbersBelow(newest, count))
    return above.some(([, { extrinsics }]) => extrinsics.has(extrinsic))
  }

  const find = async (extrinsic: Hex): Promise<Found | null> => {
    const { ref } = await readFinalHead(node)
    const newest = Number(ref.number)
    const era = await node.eras.blocks(ref)
    const oldest = Math.max(newest - era + 1, 0)
    for (const number of cached.keys()) if (number < oldest || number > newest) cached.delete(number)
    const numbers = numbersBelow(newest, newest - oldest + 1)
    for (const [number, block] of await read(numbers.filter((each) => !cached.has(each)))) cached.set(number, block)
    const blocks = linked(numbers, ref.hash)
    const found = blocks.find(({ extrinsics }) => extrinsics.has(extrinsic))
    if (found !== undefined) return { blockHash: found.blockHash }
    // Begin at the same final block, so that blocks that became final meanwhile are included.
    if (await isAbove(extrinsic, { final: newest, era })) return 'not_final'
    if (blocks.length < numbers.length) {
      const sentence = `The ${row.network} node lacks some of its newest ${numbers.length} blocks, where the transaction may be.`
      throw new NodeUnavailable('refused', sentence)
    }
    return null
  }

  /** Searches run one after the other, so that each uses the blocks that the earlier ones read. */
  let turn: Promise<unknown> = Promise.resolve()
  return (extrinsic) => {
    const found = turn.then(() => find(extrinsic))
    turn = found.catch(() => {})
    return found
  }
}

// Sends an extrinsic to the node and maps the node's errors (sc_rpc_api::author::error,
// sc_transaction_pool_api::error). Nothing is retried here.

const INVALID = 1010
const UNKNOWN_VALIDITY = 1011
const TEMPORARILY_BANNED = 1012
const ALREADY_IMPORTED = 1013
const TOO_LOW_PRIORITY = 1014
const IMMEDIATELY_DROPPED = 1016

const parseOutcome = ({ code, message, data }: RpcError): BroadcastOutcome => {
  // Nodes give the reason in the error's message or in its data: "Transaction is outdated", "… { Stale }".
  const reason = `${message} ${typeof data === 'string' ? data : ''}`.trim()
  switch (code) {
    case ALREADY_IMPORTED:
      return { kind: 'accepted' }
    case TOO_LOW_PRIORITY:
      return { kind: 'underpriced', reason }
    // The extrinsic itself may be valid: the pool may be full, for example.
    case IMMEDIATELY_DROPPED:
    case TEMPORARILY_BANNED:
    case UNKNOWN_VALIDITY:
      return { kind: 'unknown', reason }
    case INVALID:
      if (/outdated|stale/i.test(reason)) return { kind: 'nonce_too_low' }
      if (/in the future|future/i.test(reason)) return { kind: 'nonce_too_high' }
      if (/pay some fees|payment|balance/i.test(reason)) return { kind: 'insufficient_funds', reason }
      return { kind: 'rejected', refusal: 'other', reason }
    default:
      return /already imported/i.test(reason) ? { kind: 'accepted' } : { kind: 'rejected', refusal: 'other', reason }
  }
}

/** Sends an extrinsic. An error of the node, or a node that cannot be reached, is an outcome and not an exception. */
export const broadcast = async (outbound: Rpc, raw: Hex): Promise<BroadcastOutcome> => {
  try {
    const answer = await outbound.try(question('author_submitExtrinsic', [raw], hash))
    return answer.ok ? { kind: 'accepted' } : parseOutcome(answer.error)
  } catch (error) {
    if (error instanceof NodeUnavailable) return { kind: 'unknown', reason: error.message }
    throw error
  }
}
