// Every movement in a range of final blocks, as the blocks' events tell them. There is no index of them by address, so that
// whoever looks for one address reads the same blocks.
//
// A block's events are written by the runtime that its parent left behind: the block that brings a new runtime is still of
// the old one, while the node calls the new one its version.
//
// The transaction of a movement is the extrinsic whose event it is. Where the runtime does it by itself, and where the
// extrinsic is bare (an inherent: in every block there may be the same bytes), it is the block: its hash is told instead.
// The place of a movement: logIndex = the event's index in the block, itemIndex = 0.

import { type BlockMovements, type Hex, RangeTooWide } from '../chain.ts'
import { NodeUnavailable, type Question, RpcError } from '../node/rpc.ts'
import { type Block, blockQuestion, hashOfExtrinsic, hashQuestion } from './blocks.ts'
import { eventsQuestion } from './events.ts'
import type { SubstrateNode } from './node.ts'
import { type Runtime, versionQuestion } from './runtime.ts'
import { finalizedHashQuestion, type Header, headerQuestion, isForgotten, timestampQuestion } from './storage.ts'
import { type EventMovement, transfersOf } from './transfers.ts'

type Range = { readonly fromBlock: bigint; readonly toBlock: bigint }

/** So many are read at once: a few seconds of a busy network. */
const BLOCKS_MAX = 256
/** jsonrpsee's words for what is too much at once: a request, an answer, the questions of a batch, their answers. */
const TOO_MUCH = [-32_007, -32_008, -32_010, -32_011]

/** A block that is to be read, and whose runtime it is of: its parent's, and its own where it has none. */
type Place = { readonly number: bigint; readonly hash: Hex; readonly before: Hex }

/** null where the node does not have all of them, or they are not final yet. */
const readPlaces = async ({ bulk }: SubstrateNode, { fromBlock, toBlock }: Range): Promise<readonly Place[] | null> => {
  const first = fromBlock === 0n ? 0n : fromBlock - 1n
  const numbers = Array.from({ length: Number(toBlock - first) + 1 }, (_, index) => first + BigInt(index))
  // Asked for first: what is below the final block stays as it is.
  const head = await bulk.ask(headerQuestion(await bulk.ask(finalizedHashQuestion)))
  if (head === null || toBlock > head.number) return null
  const hashes = (await bulk.askAll(numbers.map(hashQuestion))).flatMap((each) => each ?? [])
  if (hashes.length !== numbers.length) return null
  const places = hashes.map((each, index) => ({
    number: first + BigInt(index),
    hash: each,
    before: hashes[index - 1] ?? each,
  }))
  return places.slice(Number(fromBlock - first))
}

/** In the places' order. Versions only rise: where the first is as the last, so are those between them. */
const readRuntimes = async (
  { bulk, runtimes }: SubstrateNode,
  places: readonly Place[],
): Promise<readonly Runtime[]> => {
  const ends = [places[0], places.at(-1)].flatMap((place) => place ?? [])
  const versionsOf = (some: readonly Place[]) => bulk.askAll(some.map(({ before }) => versionQuestion(before)))
  const [first, last] = await versionsOf(ends)
  const versions = first?.specVersion === last?.specVersion ? places.map(() => first) : await versionsOf(places)
  const read: Runtime[] = []
  for (const [index, { before }] of places.entries()) {
    const version = versions[index]
    if (version === undefined) throw new Error('expected a version for each block')
    read.push(await runtimes.of(version, before))
  }
  return read
}

/** Read as they come, so that only what moved is held. */
const movementsQuestion = (
  { row }: SubstrateNode,
  { runtime, blockHash }: { readonly runtime: Runtime; readonly blockHash: Hex },
): Question<readonly EventMovement[]> => {
  const events = eventsQuestion(runtime, blockHash)
  return { ...events, parse: (value) => transfersOf({ runtime, row }, events.parse(value)) }
}

/** Whether nobody is behind an extrinsic: its version is after its length, with the kind in its upper two bits. */
const isBare = (raw: Hex): boolean => {
  const start = Buffer.from(raw.slice(2, 16), 'hex')
  const lengthBytes = [1, 2, 4, 5][(start[0] ?? 0) & 0b11] ?? 0
  return ((start[lengthBytes] ?? 0) & 0b1100_0000) === 0
}

/** By their places: the hashes of a block's extrinsics, null for bare ones. */
const namesOf = ({ extrinsics }: Pick<Block, 'extrinsics'>): readonly (Hex | null)[] =>
  extrinsics.map((raw) => (isBare(raw) ? null : hashOfExtrinsic(raw)))

const namesQuestion = (blockHash: Hex): Question<readonly (Hex | null)[] | null> => {
  const block = blockQuestion(blockHash)
  const parse = (value: unknown) => {
    const read = block.parse(value)
    return read === null ? null : namesOf(read)
  }
  return { ...block, parse }
}

type Told = {
  readonly header: Header
  readonly timestampMs: number
  readonly moves: readonly EventMovement[]
  readonly names: readonly (Hex | null)[]
}

const blockMovements = ({ hash }: Place, { header, timestampMs, moves, names }: Told): BlockMovements => ({
  number: header.number,
  hash,
  parentHash: header.parentHash,
  timestampMs,
  movements: moves.map(({ extrinsic, ...movement }) => ({
    ...movement,
    transactionHash: (extrinsic === null ? null : names[extrinsic]) ?? hash,
    itemIndex: 0,
  })),
  isTraced: true,
})

const readRange = async (node: SubstrateNode, range: Range): Promise<readonly BlockMovements[] | null> => {
  const { bulk } = node
  const places = await readPlaces(node, range)
  if (places === null) return null
  const runtimes = await readRuntimes(node, places)
  const moving = runtimes.map((runtime, index) =>
    movementsQuestion(node, { runtime, blockHash: places[index]?.hash ?? '0x' }),
  )
  const size = 'bulk'
  const [headers, times, moves] = await Promise.all([
    bulk.askAll(places.map((place) => headerQuestion(place.hash))),
    bulk.askAll(places.map((place) => timestampQuestion(place.hash))),
    bulk.askAll(moving, { size }),
  ])
  // A block is some hundred kilobytes for its inherents alone: only what something moved in is fetched.
  const named = (index: number) => moves[index]?.some(({ extrinsic }) => extrinsic !== null) === true
  const names = await bulk.askAll(
    places.map((place, index) => (named(index) ? namesQuestion(place.hash) : null)),
    { size },
  )
  const blocks = places.flatMap((place, index) => {
    const [header, timestampMs] = [headers[index], times[index]]
    const isThere = header?.number === place.number && (place.number === 0n || header.parentHash === place.before)
    if (!isThere || timestampMs === undefined || (named(index) && names[index] === null)) return []
    return [blockMovements(place, { header, timestampMs, moves: moves[index] ?? [], names: names[index] ?? [] })]
  })
  return blocks.length === places.length ? blocks : null
}

const isTooMuch = ({ trouble, cause }: NodeUnavailable): boolean =>
  trouble === 'too_large' || trouble === 'timeout' || (cause instanceof RpcError && TOO_MUCH.includes(cause.code))

/** null where the node does not have all of them (yet). @throws RangeTooWide, NodeUnavailable. */
export const readMovements = async (node: SubstrateNode, range: Range): Promise<readonly BlockMovements[] | null> => {
  const { fromBlock, toBlock } = range
  if (toBlock < fromBlock) throw new Error('expected a range that ends where it begins or later')
  if (toBlock - fromBlock >= BLOCKS_MAX) throw new RangeTooWide(new Error(`expected at most ${BLOCKS_MAX} blocks`))
  try {
    return await readRange(node, range)
  } catch (error) {
    if (!(error instanceof NodeUnavailable)) throw error
    if (isTooMuch(error) && toBlock > fromBlock) throw new RangeTooWide(error)
    if (!(error.cause instanceof RpcError && isForgotten(error.cause))) throw error
    const sentence = `The ${node.row.network} node has let go of the state of block ${fromBlock}: one that keeps all of it (an archive node) has it.`
    throw new NodeUnavailable('refused', sentence, error.cause)
  }
}

/** As `eventMovements` of chain.ts says, and with the coin. @throws RangeTooWide, NodeUnavailable. */
export const readEventMovements = async (
  node: SubstrateNode,
  { address, ...range }: Range & { readonly address: string },
): Promise<readonly BlockMovements[] | null> => {
  const blocks = await readMovements(node, range)
  return (
    blocks
      ?.map((block) => ({
        ...block,
        movements: block.movements.filter((each) => [each.from, each.to].includes(address)),
      }))
      .filter(({ movements }) => movements.length > 0) ?? null
  )
}
