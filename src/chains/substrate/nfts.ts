// Collections and items of pallet nfts, or of the older pallet uniques on a runtime without nfts. The chain numbers collections;
// the minter numbers items. Their metadata is a text, here a URI. If another transaction takes a number first, the whole batch
// fails on chain.

import { AppError } from '../../platform/errors.ts'
import type {
  BatchMintRequest,
  CollectionRequest,
  Hex,
  Intent,
  MintRequest,
  RecordedIntent,
  TransferNftRequest,
} from '../chain.ts'
import type { Question } from '../node/rpc.ts'
import { notProvided, provided } from '../provided.ts'
import { readFinalState } from './blocks.ts'
import { collectionContract, contractIdOf, isAsset, NFT_MAPS, type NftPallet } from './contracts.ts'
import { type CallTree, callsOf } from './decode.ts'
import { type Argument, batchAll, encodeCall } from './encode-call.ts'
import { entryQuestion } from './entries.ts'
import { type ChainEvent, nameOf } from './events.ts'
import type { SubstrateNode } from './node.ts'
import { constantOf, type Runtime } from './runtime.ts'
import { fromHex, littleEndian, toHex } from './scale.ts'
import { storageQuestion } from './storage.ts'
import { addressIn, fieldOf, integerIn, integerOf, textIn, type Value } from './values.ts'

/** The names of calls in older runtimes. */
const OLDER: Readonly<Record<string, string>> = { setCollectionMetadata: 'setClassMetadata' }

const ID_END = 2n ** 32n
/** CollectionRole of pallet nfts, as bits. */
const ISSUER = 1n
const ADMIN = 4n
/**
 * The search for free numbers asks for this many at once, or for as many as are needed if that is more. The gap between the windows
 * doubles: 28 windows reach 2^32.
 */
const WINDOW = 16
const WINDOWS_MAX = 28n

/** The pallet to use, at a block. */
type Context = {
  readonly node: SubstrateNode
  readonly runtime: Runtime
  readonly blockHash: Hex
  readonly pallet: NftPallet
}

/** The newest final block and its pallet for NFTs. */
const contextOf = async (node: SubstrateNode): Promise<Context> => {
  const { head, runtime } = await readFinalState(node)
  const pallet = (['nfts', 'uniques'] as const).find((name) => runtime.calls[name] !== undefined)
  const refusal = `The runtime of ${node.row.network} has no NFTs: it has neither the pallet Nfts nor Uniques.`
  return { node, runtime, blockHash: head.hash, pallet: provided(pallet, refusal) }
}

/** A collection's pallet and its number there. @param contract as parseContract returns it. */
const within = (context: Context, contract: string): readonly [context: Context, id: number] => {
  const known = contractIdOf(contract)
  if (known === null || isAsset(known)) throw new Error('expected the id of a collection')
  return [known.pallet === 'uniques' ? { ...context, pallet: 'uniques' } : context, known.id]
}

/** Encodes a call of the pallet. */
const call = ({ runtime, pallet }: Context, name: string, ...values: readonly Argument[]): Hex => {
  const older = runtime.calls[pallet]?.[name] === undefined ? OLDER[name] : undefined
  return encodeCall(runtime, { pallet, name: older ?? name, values })
}

const intentOf = ({ runtime }: Context, input: Hex): Intent => ({
  to: null,
  value: 0n,
  input,
  madeBy: runtime.bytesHash,
})

/** Asks for a storage entry of the pallet; see entryQuestion. */
const entry = ({ runtime, pallet, blockHash }: Context, name: string, ...parts: readonly unknown[]) =>
  entryQuestion(runtime, { pallet, entry: name, parts }, blockHash)

/** Reads an integer argument by index, because names differ in older runtimes: 0 is the collection, 1 is the item. */
const integerAt = ({ fields }: CallTree, index: number): bigint | null => integerOf(fields[index]?.value)

type FreeQuery = {
  readonly from: bigint
  readonly question: (id: bigint) => Question<unknown> | null
  readonly taken: ReadonlySet<bigint>
}

/** The first free numbers at or above `from`, among those in the windows. */
const freeNumbers = async (
  { node }: Context,
  { from, question, taken, count }: FreeQuery & { readonly count: number },
): Promise<readonly bigint[]> => {
  const free: bigint[] = []
  const width = count > WINDOW ? BigInt(count) : BigInt(WINDOW)
  for (let window = 0n; window < WINDOWS_MAX; window += 1n) {
    const start = from + width * (2n ** window - 1n)
    const ids = Array.from({ length: Number(width) }, (_, index) => start + BigInt(index)).filter((id) => id < ID_END)
    const found: readonly unknown[] = await node.rpc.askAll(ids.map(question))
    free.push(...ids.filter((id, index) => found[index] === null && !taken.has(id)))
    if (free.length >= count) return free.slice(0, count)
  }
  throw new AppError('mint_unsupported', 'No free number was found.')
}

const firstFree = async (context: Context, query: FreeQuery): Promise<bigint> => {
  const [free] = await freeNumbers(context, { ...query, count: 1 })
  if (free === undefined) throw new Error('expected a number')
  return free
}

/** The pending calls (recorded and not in a block yet) of this name in the pallet. */
const recordedCalls = ({ runtime, pallet }: Context, recorded: readonly RecordedIntent[], name: string) =>
  recorded
    .filter(({ to }) => to === null)
    .flatMap(({ input }) => callsOf(runtime, input))
    .filter(({ functionName }) => functionName === `${pallet}.${name}`)

type Collection = {
  readonly items: bigint
  readonly maxSupply: bigint | null
  /** Whether the sender may mint. `mayDescribe`: whether the sender may set an item's metadata. */
  readonly mayMint: boolean
  readonly mayDescribe: boolean
}

type CollectionQuery = { readonly id: number; readonly from: string }

const noCollection = (): AppError =>
  new AppError('mint_unsupported', 'There is no collection with the id in contract_address.')

const readNftsCollection = async (context: Context, { id, from }: CollectionQuery): Promise<Collection> => {
  const [details, config, rights] = await context.node.rpc.askAll([
    entry(context, NFT_MAPS.nfts.collection, id),
    entry(context, 'collectionConfigOf', id),
    entry(context, 'collectionRoleOf', id, from),
  ])
  if (details === null) throw noCollection()
  const settings = fieldOf(config, 'mint_settings')
  if (fieldOf(settings, 'price').kind === 'integer') {
    const sentence = 'Minting from contract_address needs a payment, which only a transaction of your own can carry.'
    throw new AppError('mint_requires_value', sentence)
  }
  const type = fieldOf(settings, 'mint_type')
  const who = type.kind === 'variant' ? type.name : 'Issuer'
  if (who === 'HolderOf') {
    throw new AppError('mint_unsupported', 'The collection mints only for holders of items of another collection.')
  }
  const roles = integerOf(rights) ?? 0n
  return {
    items: integerIn(details, 'items'),
    maxSupply: integerOf(fieldOf(config, 'max_supply')),
    mayMint: who === 'Public' || (roles & ISSUER) !== 0n,
    mayDescribe: (roles & ADMIN) !== 0n,
  }
}

const readUniquesCollection = async (context: Context, { id, from }: CollectionQuery): Promise<Collection> => {
  const [details, maxSupply] = await context.node.rpc.askAll([
    entry(context, NFT_MAPS.uniques.collection, id),
    entry(context, 'collectionMaxSupply', id),
  ])
  if (details === null) throw noCollection()
  return {
    // `instances` on older runtimes.
    items: integerIn(details, 'items') || integerIn(details, 'instances'),
    maxSupply: integerOf(maxSupply),
    mayMint: addressIn(details, 'issuer') === from,
    mayDescribe: addressIn(details, 'owner') === from,
  }
}

/** Encodes a URI as metadata. @throws invalid_input if it is longer than the pallet stores. */
const metadataOf = ({ runtime, pallet }: Context, uri: string, field: string): Hex => {
  const data = Buffer.from(uri, 'utf8')
  const most = constantOf(runtime, pallet, 'stringLimit') ?? 0n
  if (BigInt(data.length) <= most) return toHex(data)
  throw new AppError('invalid_input', `${field} must not be longer than the ${most} bytes that the network keeps.`)
}

const refuseMints = (collection: Collection, { from, mints }: MintsRequest, pending: number): void => {
  const { mayMint, mayDescribe, maxSupply, items } = collection
  if (!mayMint) throw new AppError('mint_unauthorized', `Only the collection's issuer may mint, which ${from} is not.`)
  if (mints.some(({ uri }) => uri !== '') && !mayDescribe) {
    const sentence = `Only the collection's owner or admin may give an item its metadata, which ${from} is not.`
    throw new AppError('mint_unauthorized', sentence)
  }
  if (maxSupply !== null && items + BigInt(pending + mints.length) > maxSupply) {
    throw new AppError('mint_unsupported', `The collection may have at most ${maxSupply} items.`)
  }
}

type MintsRequest = Pick<BatchMintRequest, 'contract' | 'from' | 'pending'> & {
  readonly mints: readonly Pick<BatchMintRequest['mints'][number], 'recipient' | 'uri'>[]
}

/**
 * Mints items and sets their metadata in one batch, all or nothing. The search for free numbers begins at the count of items,
 * which is the next number if nothing was burned. Numbers of pending mints are not free.
 */
export const batchMintIntent = async (node: SubstrateNode, request: MintsRequest): Promise<Intent> => {
  const { mints, from } = request
  // Read pending mints before the chain: a mint that enters a block in between is then seen at least once.
  const recorded = (await request.pending?.()) ?? []
  const [context, id] = within(await contextOf(node), request.contract)
  const read = context.pallet === 'nfts' ? readNftsCollection : readUniquesCollection
  const collection = await read(context, { id, from })
  const pending = recordedCalls(context, recorded, 'mint').filter((each) => integerAt(each, 0) === BigInt(id))
  refuseMints(collection, request, pending.length)
  const numbers = await freeNumbers(context, {
    count: mints.length,
    from: collection.items,
    question: (number) => entry(context, NFT_MAPS[context.pallet].item, id, number),
    taken: new Set(pending.flatMap((each) => integerAt(each, 1) ?? [])),
  })
  const witness = context.pallet === 'nfts' ? [null] : []
  const calls = mints.flatMap(({ recipient, uri }, index) => {
    const item = numbers[index] ?? 0n
    return [call(context, 'mint', id, item, recipient, ...witness), ...aboutItem(context, { id, item, uri })]
  })
  const [first, ...others] = calls
  if (first === undefined) throw new Error('expected at least one mint')
  return intentOf(context, batchAll(context.runtime, [first, ...others]))
}

/** Mints one item. */
export const mintIntent = (node: SubstrateNode, { recipient, uri, ...request }: MintRequest): Promise<Intent> =>
  batchMintIntent(node, { ...request, mints: [{ recipient, uri }] })

const aboutItem = (context: Context, { id, item, uri }: { id: number; item: bigint; uri: string }) => {
  if (uri === '') return []
  const data = metadataOf(context, uri, 'The URI of the metadata')
  const isFrozen = false
  return [call(context, 'setMetadata', id, item, data, ...(context.pallet === 'nfts' ? [] : [isFrozen]))]
}

/** Transfers an item. The chain checks whether it may move. */
export const transferIntent = async (node: SubstrateNode, request: TransferNftRequest): Promise<Intent> => {
  const { contract, recipient, tokenId, amount } = request
  if (amount !== 1n) throw new AppError('invalid_input', 'Field "amount" must be 1: an item is one of its kind.')
  if (tokenId >= ID_END) throw new AppError('invalid_input', 'Field "token_id" must be below 2^32.')
  const [context, id] = within(await contextOf(node), contract)
  return intentOf(context, call(context, 'transfer', id, tokenId, recipient))
}

/** What pallet nfts asks of a new collection: any number of items, and only the issuer mints them. */
const COLLECTION_CONFIG = {
  // CollectionSetting of pallet nfts: the first bit forbids transfers.
  settings: 0,
  maxSupply: null,
  mintSettings: { mintType: 'Issuer', price: null, startBlock: null, endBlock: null, defaultItemSettings: 0 },
}

/** The number of the next collection, after pending creations. nfts counts by itself; with uniques the creator chooses. */
const nextCollection = async (context: Context, recorded: readonly RecordedIntent[]): Promise<bigint> => {
  const pending = recordedCalls(context, recorded, 'create')
  if (context.pallet === 'nfts') {
    const path = { pallet: 'nfts', entry: 'nextCollectionId' }
    const next = await context.node.rpc.ask(storageQuestion(context.runtime, path, context.blockHash))
    return littleEndian(fromHex(next ?? '0x')) + BigInt(pending.length)
  }
  return firstFree(context, {
    from: 0n,
    question: (id) => entry(context, NFT_MAPS.uniques.collection, id),
    taken: new Set(pending.flatMap((each) => integerAt(each, 0) ?? [])),
  })
}

/** Creates a collection with its owner as admin, and sets its metadata, in one batch. */
export const collectionIntent = async (node: SubstrateNode, request: CollectionRequest): Promise<Intent> => {
  const { baseUri, contractUri, owner, isSoulbound = false } = request
  if (baseUri !== '') {
    const sentence = `Field "base_uri" has no meaning on ${node.row.network}: each item has metadata of its own.`
    throw new AppError('invalid_input', sentence)
  }
  if (request.standard === 'erc1155') {
    throw notProvided(`Collections of ERC-1155 are not created on ${node.row.network}.`)
  }
  if (request.royalty != null) {
    const sentence = `Field "royalty_basis_points" has no meaning on ${node.row.network}: its pallets have no royalties.`
    throw new AppError('invalid_input', sentence)
  }
  const recorded = (await request.pending?.()) ?? []
  const context = await contextOf(node)
  if (isSoulbound && context.pallet !== 'nfts') {
    throw notProvided(`The runtime of ${node.row.network} has no soulbound collections: it lacks the pallet Nfts.`)
  }
  const id = await nextCollection(context, recorded)
  const data = metadataOf(context, contractUri, "The URI of the collection's metadata")
  const [create, describe] =
    context.pallet === 'nfts'
      ? [
          call(context, 'create', owner, { ...COLLECTION_CONFIG, settings: isSoulbound ? 1 : 0 }),
          call(context, 'setCollectionMetadata', id, data),
        ]
      : [call(context, 'create', id, owner), call(context, 'setCollectionMetadata', id, data, false)]
  return intentOf(context, batchAll(context.runtime, [create, describe]))
}

/** The metadata of items; null for an item without metadata. */
export const tokenUris = async (
  node: SubstrateNode,
  tokens: readonly { readonly contract: string; readonly tokenId: bigint }[],
): Promise<readonly (string | null)[]> => {
  const here = await contextOf(node)
  const about: readonly (Value | null)[] = await node.rpc.askAll(
    tokens.map(({ contract, tokenId }) => {
      const [context, id] = within(here, contract)
      return tokenId < ID_END ? entry(context, NFT_MAPS[context.pallet].itemMetadata, id, tokenId) : null
    }),
  )
  return about.map((each) => textIn(each, 'data') || null)
}

/** The metadata of a collection; null if it has none. */
export const contractUri = async (node: SubstrateNode, contract: string): Promise<string | null> => {
  const [context, id] = within(await contextOf(node), contract)
  const [about] = await node.rpc.askAll([entry(context, NFT_MAPS[context.pallet].collectionMetadata, id)])
  return textIn(about, 'data') || null
}

/** The contract of the collection that an extrinsic created; null if it created none. Pure. */
export const createdCollection = (
  runtime: Pick<Runtime, 'storage'>,
  events: readonly ChainEvent[],
  extrinsic: number,
): string | null => {
  const created = events.find(
    (event) => event.extrinsic === extrinsic && ['Nfts.Created', 'Uniques.Created'].includes(nameOf(event)),
  )
  const id = (created?.fields.get('collection') ?? created?.fields.get('class'))?.toString()
  if (created === undefined || id === undefined) return null
  return collectionContract(runtime, { pallet: created.pallet === 'Nfts' ? 'nfts' : 'uniques', id })
}
