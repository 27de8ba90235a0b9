// Collections and items of pallet nfts, or of the older pallet uniques on a runtime without nfts. The chain numbers
// collections; the minter numbers items. Their metadata is a text, here a URI. If another transaction takes a number
// first, the whole batch fails on chain.

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
import { type Argument, encodeCall, encodeText, integerAt, intentOf, recordedCalls } from './codec.ts'
import { collectionContract, contractIdOf, isAsset, NFT_MAPS, type NftPallet } from './contracts.ts'
import { type ChainEvent, nameOf } from './events.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { fromHex, littleEndian, U32_END } from './scale.ts'
import { entryQuestion, storageQuestion } from './storage.ts'
import { addressIn, fieldOf, integerIn, integerOf, textIn, type Value } from './values.ts'

/** The names of calls in older runtimes. */
const OLDER: Readonly<Record<string, string>> = { setCollectionMetadata: 'setClassMetadata' }

/** CollectionRole of pallet nfts, as bits. */
const ISSUER = 1n
const ADMIN = 4n
/**
 * The search for free numbers asks for this many at once, or for as many as are needed. The gap between the windows
 * doubles: 28 windows reach 2^32.
 */
const WINDOW = 16
const WINDOWS_MAX = 28n

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
const locate = (context: Context, contract: string): readonly [context: Context, id: number] => {
  const known = contractIdOf(contract)
  if (known === null || isAsset(known)) throw new Error('expected the id of a collection')
  return [known.pallet === 'uniques' ? { ...context, pallet: 'uniques' } : context, known.id]
}

const call = ({ runtime, pallet }: Context, name: string, ...values: readonly Argument[]): Hex => {
  const older = runtime.calls[pallet]?.[name] === undefined ? OLDER[name] : undefined
  return encodeCall(runtime, { pallet, name: older ?? name, values })
}

const entry = ({ runtime, pallet, blockHash }: Context, name: string, ...parts: readonly unknown[]) =>
  entryQuestion(runtime, { pallet, entry: name, parts }, blockHash)

type FreeQuery = {
  readonly count: number
  readonly from: bigint
  readonly question: (id: bigint) => Question<unknown> | null
  readonly taken: ReadonlySet<bigint>
}

/** The first free numbers at or above `from`, among those in the windows. */
const freeNumbers = async (
  { node }: Context,
  { count, from, question, taken }: FreeQuery,
): Promise<readonly bigint[]> => {
  const free: bigint[] = []
  const width = count > WINDOW ? BigInt(count) : BigInt(WINDOW)
  for (let window = 0n; window < WINDOWS_MAX; window += 1n) {
    const start = from + width * (2n ** window - 1n)
    const ids = Array.from({ length: Number(width) }, (_, index) => start + BigInt(index)).filter((id) => id < U32_END)
    const found: readonly unknown[] = await node.rpc.askAll(ids.map(question))
    free.push(...ids.filter((id, index) => found[index] === null && !taken.has(id)))
    if (free.length >= count) return free.slice(0, count)
  }
  throw new AppError('mint_unsupported', 'No free number was found.')
}

/** `mayMint` and `mayDescribe`: whether the sender may mint, and set an item's metadata. */
type Collection = Awaited<ReturnType<typeof readNftsCollection>>

type CollectionQuery = { readonly id: number; readonly from: string }

const noCollection = (): AppError =>
  new AppError('mint_unsupported', 'There is no collection with the id in contract_address.')

const readNftsCollection = async (context: Context, { id, from }: CollectionQuery) => {
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
 * In one batch, all or nothing. The search for free numbers begins at the count of items, which is the next number if
 * nothing was burned. Numbers of pending mints are not free.
 */
export const batchMintIntent = async (node: SubstrateNode, request: MintsRequest): Promise<Intent> => {
  const { mints, from } = request
  // Read pending mints before the chain: a mint that enters a block in between is then seen at least once.
  const recorded = (await request.pending?.()) ?? []
  const [context, id] = locate(await contextOf(node), request.contract)
  const read = context.pallet === 'nfts' ? readNftsCollection : readUniquesCollection
  const collection = await read(context, { id, from })
  const pending = recordedCalls(context.runtime, recorded, `${context.pallet}.mint`).filter(
    (each) => integerAt(each, 0) === BigInt(id),
  )
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
  return intentOf(context.runtime, calls)
}

export const mintIntent = (node: SubstrateNode, { recipient, uri, ...request }: MintRequest): Promise<Intent> =>
  batchMintIntent(node, { ...request, mints: [{ recipient, uri }] })

const aboutItem = (context: Context, { id, item, uri }: { id: number; item: bigint; uri: string }) => {
  if (uri === '') return []
  const data = encodeText(context.runtime, { ...context, text: uri, subject: 'The URI of the metadata' })
  // Uniques also takes whether the metadata is frozen.
  return [call(context, 'setMetadata', id, item, data, ...(context.pallet === 'nfts' ? [] : [false]))]
}

/** Transfers an item. The chain checks whether it may move. */
export const transferIntent = async (node: SubstrateNode, request: TransferNftRequest): Promise<Intent> => {
  const { contract, recipient, tokenId, amount } = request
  if (amount !== 1n) throw new AppError('invalid_input', 'Field "amount" must be 1: an item is one of its kind.')
  if (tokenId >= U32_END) throw new AppError('invalid_input', 'Field "token_id" must be below 2^32.')
  const [context, id] = locate(await contextOf(node), contract)
  return intentOf(context.runtime, [call(context, 'transfer', id, tokenId, recipient)])
}

/** The number of the next collection, after pending creations. Nfts counts; with Uniques the creator chooses. */
const nextCollection = async (context: Context, recorded: readonly RecordedIntent[]): Promise<bigint> => {
  const pending = recordedCalls(context.runtime, recorded, `${context.pallet}.create`)
  if (context.pallet === 'nfts') {
    const path = { pallet: 'nfts', entry: 'nextCollectionId' }
    const next = await context.node.rpc.ask(storageQuestion(context.runtime, path, context.blockHash))
    return littleEndian(fromHex(next ?? '0x')) + BigInt(pending.length)
  }
  const [free] = await freeNumbers(context, {
    count: 1,
    from: 0n,
    question: (id) => entry(context, NFT_MAPS.uniques.collection, id),
    taken: new Set(pending.flatMap((each) => integerAt(each, 0) ?? [])),
  })
  if (free === undefined) throw new Error('expected a number')
  return free
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
  const subject = "The URI of the collection's metadata"
  const data = encodeText(context.runtime, { ...context, text: contractUri, subject })
  if (context.pallet === 'uniques') {
    const describe = call(context, 'setCollectionMetadata', id, data, false)
    return intentOf(context.runtime, [call(context, 'create', id, owner), describe])
  }
  const mintSettings = { mintType: 'Issuer', price: null, startBlock: null, endBlock: null, defaultItemSettings: 0 }
  // CollectionSetting of pallet nfts: the first bit forbids transfers.
  const create = call(context, 'create', owner, { settings: isSoulbound ? 1 : 0, maxSupply: null, mintSettings })
  return intentOf(context.runtime, [create, call(context, 'setCollectionMetadata', id, data)])
}

export const tokenUris = async (
  node: SubstrateNode,
  tokens: readonly { readonly contract: string; readonly tokenId: bigint }[],
): Promise<readonly (string | null)[]> => {
  const newest = await contextOf(node)
  const about: readonly (Value | null)[] = await node.rpc.askAll(
    tokens.map(({ contract, tokenId }) => {
      const [context, id] = locate(newest, contract)
      return tokenId < U32_END ? entry(context, NFT_MAPS[context.pallet].itemMetadata, id, tokenId) : null
    }),
  )
  return about.map((each) => textIn(each, 'data') || null)
}

export const contractUri = async (node: SubstrateNode, contract: string): Promise<string | null> => {
  const [context, id] = locate(await contextOf(node), contract)
  const [about] = await node.rpc.askAll([entry(context, NFT_MAPS[context.pallet].collectionMetadata, id)])
  return textIn(about, 'data') || null
}

/** The contract of the collection that an extrinsic with these events created; null if it created none. Pure. */
export const createdCollection = (runtime: Pick<Runtime, 'storage'>, own: readonly ChainEvent[]): string | null => {
  const created = own.find((event) => ['Nfts.Created', 'Uniques.Created'].includes(nameOf(event)))
  const id = (created?.fields.get('collection') ?? created?.fields.get('class'))?.toString()
  if (created === undefined || id === undefined) return null
  return collectionContract(runtime, { pallet: created.pallet === 'Nfts' ? 'nfts' : 'uniques', id })
}
