// Assets of the pallets of kind Assets, and transfers of the coin. Several calls are one batch, all or nothing. The creator of an
// asset chooses its id, unless the runtime numbers assets itself. If another transaction takes the id first, the whole batch
// fails on the chain.

import { randomBytes } from 'node:crypto'
import { AppError } from '../../platform/errors.ts'
import type {
  Hex,
  Intent,
  MintTokenRequest,
  RecordedIntent,
  TokenRequest,
  Tokens,
  Transfer,
  TransfersRequest,
} from '../chain.ts'
import { notProvided, provided } from '../provided.ts'
import { LIKE_EVM } from './address.ts'
import { readFinalState } from './blocks.ts'
import { type AssetId, assetContract, contractIdOf, isAsset } from './contracts.ts'
import { callsOf } from './decode.ts'
import { type Argument, batchAll, encodeCall } from './encode-call.ts'
import { assetQuestion } from './entries.ts'
import { type ChainEvent, nameOf, valuesOf } from './events.ts'
import type { SubstrateNode } from './node.ts'
import { constantOf, type Runtime } from './runtime.ts'
import { fromHex, littleEndian, toHex } from './scale.ts'
import { storageQuestion } from './storage.ts'
import { addressIn, integerOf } from './values.ts'

/** Balances of the runtime are u128. */
const AMOUNT_END = 1n << 128n
/** The least that an account of a new asset holds; the pallet does not allow zero. */
const LEAST_BALANCE = 1n
/** Among so many random ids of 32 bits, at least one is free on every chain. */
const IDS_TRIED = 8

const intentOf = (runtime: Runtime, input: Hex): Intent => ({ to: null, value: 0n, input, madeBy: runtime.bytesHash })

const firstAnd = <Item>(items: readonly Item[]): readonly [Item, ...Item[]] => {
  const [first, ...others] = items
  if (first === undefined) throw new Error('expected at least one transfer')
  return [first, ...others]
}

const coinTransferIntents = async (
  node: SubstrateNode,
  { transfers }: TransfersRequest,
): Promise<readonly Intent[]> => {
  const [first, ...others] = firstAnd(transfers)
  if (others.length === 0) return [{ to: first.recipient, value: first.amount, input: '0x' }]
  const { runtime } = await readFinalState(node)
  const call = ({ recipient, amount }: Transfer) =>
    encodeCall(runtime, { pallet: 'balances', name: 'transferKeepAlive', values: [recipient, amount] })
  return [intentOf(runtime, batchAll(runtime, [call(first), ...others.map(call)]))]
}

/** An asset as calls name it. */
type NumberedAsset = Extract<AssetId, { readonly id: number }>

/** @param contract as `parseToken` returns it. */
const numberedAsset = (node: SubstrateNode, contract: string): NumberedAsset => {
  const id = contractIdOf(contract)
  if (id === null || !isAsset(id)) throw new Error('expected the id of an asset')
  if (id.pallet !== 'foreignAssets') return id
  throw notProvided(`Foreign assets of ${node.row.network} are neither minted nor transferred by this call.`)
}

const assetCall =
  (runtime: Runtime, { pallet, id }: NumberedAsset) =>
  (name: string, ...values: readonly Argument[]) =>
    encodeCall(runtime, { pallet, name, values: [id, ...values] })

const parseToken = ({ row }: SubstrateNode, text: string, field: string): string => {
  const contract = contractIdOf(text)
  if (contract !== null && isAsset(contract)) return text
  throw new AppError(
    LIKE_EVM.test(text) ? 'network_mismatch' : 'address_invalid',
    `Field "${field}" must be the id of an asset of ${row.network}, such as "asset:1984", or ${row.coin.word} for the coin.`,
  )
}

/** A name or symbol. @throws invalid_input if it is longer than the pallet stores. */
const textOf = (runtime: Runtime, text: string, field: string): Hex => {
  const data = Buffer.from(text, 'utf8')
  const most = constantOf(runtime, 'assets', 'stringLimit') ?? 0n
  if (BigInt(data.length) <= most) return toHex(data)
  throw new AppError(
    'invalid_input',
    `Field "${field}" must not be longer than the ${most} bytes that the network keeps.`,
  )
}

type State = { readonly runtime: Runtime; readonly blockHash: Hex }

/** The id that the runtime gives to the next asset; null if the creator chooses. */
const nextIdOf = async (node: SubstrateNode, { runtime, blockHash }: State): Promise<bigint | null> => {
  if (runtime.storage.assets?.nextAssetId === undefined) return null
  const stored = await node.rpc.ask(storageQuestion(runtime, { pallet: 'assets', entry: 'nextAssetId' }, blockHash))
  return stored === null ? null : littleEndian(fromHex(stored))
}

/** An id that no asset and no pending creation has. */
const freeId = async (node: SubstrateNode, state: State, recorded: readonly RecordedIntent[]): Promise<number> => {
  const { runtime, blockHash } = state
  const pending = recorded
    .filter(({ to }) => to === null)
    .flatMap(({ input }) => callsOf(runtime, input))
    .filter(({ functionName }) => functionName === 'assets.create')
    .map(({ fields }) => integerOf(fields[0]?.value))
  const next = await nextIdOf(node, state)
  if (next !== null) return Number(next) + pending.length
  const ids = Array.from({ length: IDS_TRIED }, () => randomBytes(4).readUInt32LE())
  const found: readonly unknown[] = await node.rpc.askAll(
    ids.map((id) => assetQuestion(runtime, { asset: { pallet: 'assets', id }, entry: 'asset' }, blockHash)),
  )
  const free = ids.find((id, index) => found[index] === null && !pending.includes(BigInt(id)))
  if (free === undefined) throw new Error('no random id of an asset was free')
  return free
}

/** Creates an asset whose admin is the owner, describes it, and mints the initial supply, in one batch. */
const creationIntent = async (node: SubstrateNode, request: TokenRequest): Promise<Intent> => {
  const { name, symbol, decimals, initialSupply, owner } = request
  const recorded = (await request.pending?.()) ?? []
  const { head, runtime } = await readFinalState(node)
  provided(runtime.calls.assets, `The runtime of ${node.row.network} has no pallet Assets.`)
  const texts = [textOf(runtime, name, 'name'), textOf(runtime, symbol, 'symbol')] as const
  const id = await freeId(node, { runtime, blockHash: head.hash }, recorded)
  const call = assetCall(runtime, { pallet: 'assets', id })
  const calls = [call('create', owner, LEAST_BALANCE), call('setMetadata', ...texts, decimals)] as const
  const supply = initialSupply === 0n ? [] : [call('mint', owner, initialSupply)]
  return intentOf(runtime, batchAll(runtime, [...calls, ...supply]))
}

const mintTokenIntent = async (node: SubstrateNode, request: MintTokenRequest): Promise<Intent> => {
  const { contract, from, recipient, amount } = request
  const asset = numberedAsset(node, contract)
  const { head, runtime } = await readFinalState(node)
  const [details] = await node.rpc.askAll([assetQuestion(runtime, { asset, entry: 'asset' }, head.hash)])
  if (details == null) throw new AppError('mint_unsupported', 'There is no asset with the id in contract_address.')
  if (addressIn(details, 'issuer') !== from) {
    throw new AppError('mint_unauthorized', `Only the asset's issuer may mint, which ${from} is not.`)
  }
  return intentOf(runtime, assetCall(runtime, asset)('mint', recipient, amount))
}

const tokenTransferIntents = async (
  node: SubstrateNode,
  { contract, transfers }: TransfersRequest & { readonly contract: string },
): Promise<readonly Intent[]> => {
  const asset = numberedAsset(node, contract)
  const { runtime } = await readFinalState(node)
  const call = assetCall(runtime, asset)
  const [first, ...others] = firstAnd(transfers.map(({ recipient, amount }) => call('transfer', recipient, amount)))
  return [intentOf(runtime, batchAll(runtime, [first, ...others]))]
}

/** Creates the operations on assets and coins. On a network with programs, tokens are programs, which are not handled. */
export const createTokens = (node: SubstrateNode): Tokens => ({
  amountEnd: AMOUNT_END,
  coinTransfers: (request) => coinTransferIntents(node, request),
  tokens: node.row.hasPrograms
    ? null
    : {
        parseToken: (text, field) => parseToken(node, text, field),
        creation: (request) => creationIntent(node, request),
        mint: (request) => mintTokenIntent(node, request),
        transfers: (request) => tokenTransferIntents(node, request),
      },
})

/** The contract of the asset that an extrinsic created; null if it created none. Pure. */
export const createdAsset = (events: readonly ChainEvent[], extrinsic: number): string | null => {
  const created = events.find((event) => event.extrinsic === extrinsic && nameOf(event) === 'Assets.Created')
  // By its place, as its name differs between runtimes.
  const [id] = created === undefined ? [] : valuesOf(created)
  return id === undefined ? null : assetContract(String(id))
}
