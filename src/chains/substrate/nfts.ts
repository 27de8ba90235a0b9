// Collections and items of pallet nfts, or of the older pallet uniques on a runtime without nfts. The chain numbers collections;
// the minter numbers items. Their metadata is a text, here a URI. If another transaction takes a number first, the whole batch
// fails on chain.

import { AppError } from '../../errors.ts'
import type { CollectionRequest, Hex, Intent, MintRequest, RecordedIntent, TransferNftRequest } from '../chain.ts'
import type { Question } from '../node/rpc.ts'
import { provided } from '../provided.ts'
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
/** The search for a free number asks for this many at once; the gap between the windows doubles. 28 windows reach 2^32. */
const WINDOW = 16n
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

/** The first free number at or above `from`, among those in the windows. */
const firstFree = async (
  { node }: Context,
  input: { from: bigint; question: (id: bigint) => Question<unknown> | null; taken: ReadonlySet<bigint> },
): Promise<bigint> => {
  const { from, question, taken } = input
  for (let window = 0n; window < WINDOWS_MAX; window += 1n) {
    const start = from + WINDOW * (2n ** window - 1n)
    const ids = Array.from({ length: Number(WINDOW) }, (_, index) => start + BigInt(index)).filter((id) => id < ID_END)
    const found: readonly unknown[] = await node.rpc.askAll(ids.map(question))
    const free = ids.find((id, index) => found[index] === null && !taken.has(id))
    if (free !== undefined) return free
  }
  throw new AppError('mint_unsupported', 'No free number was found.')
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

const refuseMint = (collection: Collection, { from, uri }: MintRequest, pending: number): void => {
  const { mayMint, mayDescribe, maxSupply, items } = collection
  if (!mayMint) throw new AppError('mint_unauthorized', `Only the collection's issuer may mint, which ${from} is not.`)
  if (uri !== '' && !mayDescribe) {
    const sentence = `Only the collection's owner or admin may give an item its metadata, which ${from} is not.`
    throw new AppError('mint_unauthorized', sentence)
  }
  if (maxSupply !== null && items + BigInt(pending) >= maxSupply) {
    throw new AppError('mint_unsupported', `The collection has all of the ${maxSupply} items that it may have.`)
  }
}

/**
 * Mints an item and sets its metadata in one batch, all or nothing. The search for a free number begins at the count of items,
 * which is the next number if nothing was burned. Numbers of pending mints are not free.
 */
export const mintIntent = async (node: SubstrateNode, request: MintRequest): Promise<Intent> => {
  const { recipient, uri, from } = request
  // Read pending mints before the chain: a mint that enters a block in between is then seen at least once.
  const recorded = (await request.pending?.()) ?? []
  const [context, id] = within(await contextOf(node), request.contract)
  const read = context.pallet === 'nfts' ? readNftsCollection : readUniquesCollection
  const collection = await read(context, { id, from })
  const pending = recordedCalls(context, recorded, 'mint').filter((each) => integerAt(each, 0) === BigInt(id))
  refuseMint(collection, request, pending.length)
  const item = await firstFree(context, {
    from: collection.items,
    question: (number) => entry(context, NFT_MAPS[context.pallet].item, id, number),
    taken: new Set(pending.flatMap((each) => integerAt(each, 1) ?? [])),
  })
  const mint =
    context.pallet === 'nfts'
      ? call(context, 'mint', id, item, recipient, null)
      : call(context, 'mint', id, item, recipient)
  return intentOf(context, batchAll(context.runtime, [mint, ...aboutItem(context, { id, item, uri })]))
}

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

/** The number of the next collection, after pending creations. nfts counts by itself; with uniques the creator chooses. */
const COLLECTION_CONFIG = {
  settings: 0,
  maxSupply: null,
  mintSettings: { mintType: 'Issuer', price: null, startBlock: null, endBlock: null, defaultItemSettings: 0 },
}

/** The number of the next collection, recorded pending creations. nfts counts by itself; with uniques the creator chooses. */
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
  const { baseUri, contractUri, owner } = request
  if (baseUri !== '') {
    const sentence = `Field "base_uri" has no meaning on ${node.row.network}: each item has metadata of its own.`
    throw new AppError('invalid_input', sentence)
  }
  const recorded = (await request.pending?.()) ?? []
  const context = await contextOf(node)
  const id = await nextCollection(context, recorded)
  const data = metadataOf(context, contractUri, "The URI of the collection's metadata")
  const [create, describe] =
    context.pallet === 'nfts'
      ? [call(context, 'create', owner, COLLECTION_CONFIG), call(context, 'setCollectionMetadata', id, data)]
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
