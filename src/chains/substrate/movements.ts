// Reads every movement in a range of final blocks from their events. Nodes have no index by address, so a search for
// one address reads the same blocks. The runtime in the parent's state executes a block and writes its events: in the
// block of an upgrade still the old one, although the node reports the new version for that block.
//
// The transaction of a movement is the extrinsic that emitted the event. For events outside of extrinsics, and for
// unsigned extrinsics (inherents, whose bytes may repeat in other blocks), it is the block's hash. `logIndex` is the
// event's index in the block, and `itemIndex` is 0.

import { type BlockMovements, type Hex, type History, RangeTooWide, type RecordedMovement } from '../chain.ts'
import { NodeUnavailable, type Question, question, RpcError } from '../node/rpc.ts'
import { blockQuestion, hashOfExtrinsic, hashQuestion, parseSigner } from './blocks.ts'
import { eventsQuestion } from './events.ts'
import type { SubstrateNode } from './node.ts'
import { type Runtime, versionQuestion } from './runtime.ts'
import { converted, finalizedHashQuestion, headerQuestion, isPruned, timestampQuestion } from './storage.ts'
import { type EventMovement, transfersOf } from './transfers.ts'

type Range = { readonly fromBlock: bigint; readonly toBlock: bigint }

/** The most blocks of one range; reading them takes a few seconds on a busy network. */
const BLOCKS_MAX = 256
/** jsonrpsee's error codes for a request, a response, a batch, or a batch's responses that are too large. */
const TOO_MUCH = [-32_007, -32_008, -32_010, -32_011]

/** A block to read. `before` is the block whose state has its runtime: its parent, or itself for the genesis block. */
type BlockPlace = { readonly number: bigint; readonly hash: Hex; readonly before: Hex }

/** null if the node does not have all blocks of the range, or they are not all final yet. */
const readPlaces = async (
  { rpc }: SubstrateNode,
  { fromBlock, toBlock }: Range,
): Promise<readonly BlockPlace[] | null> => {
  const first = fromBlock === 0n ? 0n : fromBlock - 1n
  const numbers = Array.from({ length: Number(toBlock - first) + 1 }, (_, index) => first + BigInt(index))
  // Ask for the final head first: the blocks up to it cannot change any more.
  const head = await rpc.ask(headerQuestion(await rpc.ask(finalizedHashQuestion)))
  if (head === null || toBlock > head.number) return null
  const hashes = (await rpc.askAll(numbers.map(hashQuestion))).flatMap((each) => each ?? [])
  if (hashes.length !== numbers.length) return null
  const places = hashes.map((each, index) => ({
    number: first + BigInt(index),
    hash: each,
    before: hashes[index - 1] ?? each,
  }))
  return places.slice(Number(fromBlock - first))
}

/** In the order of the places. Versions only rise: if the first and the last are equal, so are all between them. */
const readRuntimes = async (
  { rpc, runtimes }: SubstrateNode,
  places: readonly BlockPlace[],
): Promise<readonly Runtime[]> => {
  const ends = [places[0], places.at(-1)].flatMap((place) => place ?? [])
  const readVersions = (some: readonly BlockPlace[]) => rpc.askAll(some.map(({ before }) => versionQuestion(before)))
  const [first, last] = await readVersions(ends)
  const versions = first?.specVersion === last?.specVersion ? places.map(() => first) : await readVersions(places)
  const read: Runtime[] = []
  for (const [index, { before }] of places.entries()) {
    const version = versions[index]
    if (version === undefined) throw new Error('expected a version for each block')
    read.push(await runtimes.of(version, before))
  }
  return read
}

/** Reads the events while parsing the answer, so that only the movements stay in memory. */
const movementsQuestion = (
  { row }: SubstrateNode,
  { runtime, blockHash }: { readonly runtime: Runtime; readonly blockHash: Hex },
): Question<readonly EventMovement[]> =>
  converted(eventsQuestion(runtime, blockHash), (events) => transfersOf({ runtime, row }, events))

/** Whether an extrinsic is unsigned. The version byte follows the length; its upper two bits are the kind. */
const isBare = (raw: Hex): boolean => {
  const start = Buffer.from(raw.slice(2, 16), 'hex')
  const lengthBytes = [1, 2, 4, 5][(start[0] ?? 0) & 0b11] ?? 0
  return ((start[lengthBytes] ?? 0) & 0b1100_0000) === 0
}

type Sent = Pick<RecordedMovement, 'transactionHash' | 'initiatedBy'>

/** A block's extrinsics, by index; null for unsigned ones. The answer is null if the node does not have the block. */
const sentQuestion = ({ row }: SubstrateNode, blockHash: Hex): Question<readonly (Sent | null)[] | null> =>
  converted(
    blockQuestion(blockHash),
    (block) =>
      block?.extrinsics.map((raw) =>
        isBare(raw) ? null : { transactionHash: hashOfExtrinsic(raw), initiatedBy: parseSigner(row, raw) },
      ) ?? null,
  )

const readRange = async (node: SubstrateNode, range: Range): Promise<readonly BlockMovements[] | null> => {
  const { rpc } = node
  const places = await readPlaces(node, range)
  if (places === null) return null
  const runtimes = await readRuntimes(node, places)
  const moving = runtimes.map((runtime, index) =>
    movementsQuestion(node, { runtime, blockHash: places[index]?.hash ?? '0x' }),
  )
  const size = 'bulk'
  const [headers, times, moves] = await Promise.all([
    rpc.askAll(places.map((place) => headerQuestion(place.hash))),
    rpc.askAll(places.map((place) => timestampQuestion(place.hash))),
    rpc.askAll(moving, { size }),
  ])
  // The inherents alone make a block some hundred kilobytes, so only blocks with movements of extrinsics are fetched.
  const needsSent = (index: number) => moves[index]?.some(({ extrinsic }) => extrinsic !== null) === true
  const sent = await rpc.askAll(
    places.map((place, index) => (needsSent(index) ? sentQuestion(node, place.hash) : null)),
    { size },
  )
  const blocks = places.flatMap((place, index) => {
    const [header, timestampMs] = [headers[index], times[index]]
    const isThere = header?.number === place.number && (place.number === 0n || header.parentHash === place.before)
    if (!isThere || timestampMs === undefined || (needsSent(index) && sent[index] === null)) return []
    const movements = (moves[index] ?? []).map(({ extrinsic, ...movement }) => ({
      ...movement,
      ...((extrinsic === null ? null : sent[index]?.[extrinsic]) ?? { transactionHash: place.hash, initiatedBy: null }),
      itemIndex: 0,
    }))
    return [{ ...header, hash: place.hash, timestampMs, movements, isTraced: true }]
  })
  return blocks.length === places.length ? blocks : null
}

const isTooMuch = ({ trouble, cause }: NodeUnavailable): boolean =>
  trouble === 'too_large' || trouble === 'timeout' || (cause instanceof RpcError && TOO_MUCH.includes(cause.code))

/** null if the node does not have all blocks of the range (yet). */
export const readMovements = async (node: SubstrateNode, range: Range): Promise<readonly BlockMovements[] | null> => {
  const { fromBlock, toBlock } = range
  if (toBlock < fromBlock) throw new Error('expected a range that ends where it begins or later')
  if (toBlock - fromBlock >= BLOCKS_MAX) throw new RangeTooWide(new Error(`expected at most ${BLOCKS_MAX} blocks`))
  try {
    return await readRange(node, range)
  } catch (error) {
    if (!(error instanceof NodeUnavailable)) throw error
    if (isTooMuch(error) && toBlock > fromBlock) throw new RangeTooWide(error)
    if (!(error.cause instanceof RpcError && isPruned(error.cause))) throw error
    const sentence = `The ${node.row.network} node has pruned the state of block ${fromBlock}. Connect an archive node, which keeps all states.`
    throw new NodeUnavailable('refused', sentence, error.cause)
  }
}

/** See `Chain.eventMovements`. The result includes the coin. */
export const readEventMovements = async (
  node: SubstrateNode,
  { address, ...range }: Range & { readonly address: string },
): Promise<readonly BlockMovements[] | null> => {
  const blocks = await readMovements(node, range)
  if (blocks === null) return null
  return blocks.flatMap((block) => {
    const movements = block.movements.filter(({ from, to }) => from === address || to === address)
    return movements.length === 0 ? [] : [{ ...block, movements }]
  })
}

/**
 * Reading a block needs its body and the state of its parent. Nodes keep the state of the newest 256 blocks, and some
 * prune the bodies of old blocks; an archive node keeps all. The oldest blocks are pruned first.
 */
export const readHistory = async ({ rpc }: Pick<SubstrateNode, 'rpc'>, number: bigint): Promise<History> => {
  const head = await rpc.ask(headerQuestion(await rpc.ask(finalizedHashQuestion)))
  if (head === null || number > head.number) return 'not_there'
  const [own, parent] = await rpc.askAll([hashQuestion(number), hashQuestion(number === 0n ? 0n : number - 1n)])
  if (own === null || parent === null) return 'pruned'
  // A node may still have the header after it pruned the body, so ask for the body.
  const hasBlock = question('chain_getBlock', [own], (value) => value !== null)
  const [block, version] = await rpc.tryAll([hasBlock, versionQuestion(parent)], { size: 'bulk' })
  if (!rpc.need(block)) return 'pruned'
  if (!version.ok && isPruned(version.error)) return 'pruned'
  rpc.need(version)
  return 'kept'
}
