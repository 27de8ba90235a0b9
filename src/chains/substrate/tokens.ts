// Assets of the pallets of kind Assets, and transfers of the coin. Several calls are one batch, all or nothing. The
// creator of an asset chooses its id, unless the runtime numbers assets itself. If another transaction takes the id
// first, the whole batch fails on the chain.

import { randomBytes } from 'node:crypto'
import { AppError } from '../../platform/errors.ts'
import type { Hex, RecordedIntent, TokenCalls, Tokens } from '../chain.ts'
import { notProvided, provided } from '../provided.ts'
import { LIKE_EVM } from './address.ts'
import { readFinalState } from './blocks.ts'
import { type Argument, encodeCall, encodeText, integerAt, intentOf, recordedCalls } from './codec.ts'
import { type AssetId, assetContract, contractIdOf, isAsset } from './contracts.ts'
import { type ChainEvent, nameOf, valuesOf } from './events.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { fromHex, littleEndian, U128_END } from './scale.ts'
import { assetQuestion, storageQuestion } from './storage.ts'
import { addressIn } from './values.ts'

/** The least that an account of a new asset holds; the pallet does not allow zero. */
const LEAST_BALANCE = 1n
/** Of so many random ids of 32 bits, at least one is free on every chain. */
const IDS_TRIED = 8

type NumberedAsset = Extract<AssetId, { readonly id: number }>

/** @param contract as `parseToken` returns it. */
const parseNumberedAsset = (node: SubstrateNode, contract: string): NumberedAsset => {
  const id = contractIdOf(contract)
  if (id === null || !isAsset(id)) throw new Error('expected the id of an asset')
  if (id.pallet !== 'foreignAssets') return id
  throw notProvided(`Foreign assets of ${node.row.network} are neither minted nor transferred by this call.`)
}

const assetCall =
  (runtime: Runtime, { pallet, id }: NumberedAsset) =>
  (name: string, ...values: readonly Argument[]) =>
    encodeCall(runtime, { pallet, name, values: [id, ...values] })

type State = { readonly runtime: Runtime; readonly blockHash: Hex }

/** The id that the runtime gives to the next asset; null if the creator chooses. */
const readNextId = async (node: SubstrateNode, { runtime, blockHash }: State): Promise<bigint | null> => {
  if (runtime.storage.assets?.nextAssetId === undefined) return null
  const stored = await node.rpc.ask(storageQuestion(runtime, { pallet: 'assets', entry: 'nextAssetId' }, blockHash))
  return stored === null ? null : littleEndian(fromHex(stored))
}

const findFreeId = async (node: SubstrateNode, state: State, recorded: readonly RecordedIntent[]): Promise<number> => {
  const { runtime, blockHash } = state
  const pending = recordedCalls(runtime, recorded, 'assets.create').map((call) => integerAt(call, 0))
  const next = await readNextId(node, state)
  if (next !== null) return Number(next) + pending.length
  const ids = Array.from({ length: IDS_TRIED }, () => randomBytes(4).readUInt32LE())
  const found: readonly unknown[] = await node.rpc.askAll(
    ids.map((id) => assetQuestion(runtime, { asset: { pallet: 'assets', id }, entry: 'asset' }, blockHash)),
  )
  const free = ids.find((id, index) => found[index] === null && !pending.includes(BigInt(id)))
  if (free === undefined) throw new Error('no random id of an asset was free')
  return free
}

const createTokenCalls = (node: SubstrateNode): TokenCalls => ({
  parseToken: (text, field) => {
    const contract = contractIdOf(text)
    if (contract !== null && isAsset(contract)) return text
    const { network, coin } = node.row
    throw new AppError(
      LIKE_EVM.test(text) ? 'network_mismatch' : 'address_invalid',
      `Field "${field}" must be the id of an asset of ${network}, such as "asset:1984", or ${coin.word} for the coin.`,
    )
  },
  /** The owner becomes the asset's admin. */
  creation: async (request) => {
    const { decimals, initialSupply, owner } = request
    const recorded = (await request.pending?.()) ?? []
    const { head, runtime } = await readFinalState(node)
    provided(runtime.calls.assets, `The runtime of ${node.row.network} has no pallet Assets.`)
    const encoded = (field: 'name' | 'symbol') =>
      encodeText(runtime, { pallet: 'assets', text: request[field], subject: `Field "${field}"` })
    const texts = [encoded('name'), encoded('symbol')]
    const id = await findFreeId(node, { runtime, blockHash: head.hash }, recorded)
    const call = assetCall(runtime, { pallet: 'assets', id })
    const calls = [call('create', owner, LEAST_BALANCE), call('setMetadata', ...texts, decimals)]
    return intentOf(runtime, initialSupply === 0n ? calls : [...calls, call('mint', owner, initialSupply)])
  },
  mint: async ({ contract, from, recipient, amount }) => {
    const asset = parseNumberedAsset(node, contract)
    const { head, runtime } = await readFinalState(node)
    const [details] = await node.rpc.askAll([assetQuestion(runtime, { asset, entry: 'asset' }, head.hash)])
    if (details == null) throw new AppError('mint_unsupported', 'There is no asset with the id in contract_address.')
    if (addressIn(details, 'issuer') !== from) {
      throw new AppError('mint_unauthorized', `Only the asset's issuer may mint, which ${from} is not.`)
    }
    return intentOf(runtime, [assetCall(runtime, asset)('mint', recipient, amount)])
  },
  transfers: async ({ contract, transfers }) => {
    const asset = parseNumberedAsset(node, contract)
    const { runtime } = await readFinalState(node)
    const call = assetCall(runtime, asset)
    const calls = transfers.map(({ recipient, amount }) => call('transfer', recipient, amount))
    return [intentOf(runtime, calls)]
  },
})

/** On a network with programs, tokens are programs, which are not handled. */
export const createTokens = (node: SubstrateNode): Tokens => ({
  // Balances of the runtime are u128.
  amountEnd: U128_END,
  coinTransfers: async ({ transfers }) => {
    const [only] = transfers
    if (only !== undefined && transfers.length === 1) return [{ to: only.recipient, value: only.amount, input: '0x' }]
    const { runtime } = await readFinalState(node)
    const calls = transfers.map(({ recipient, amount }) =>
      encodeCall(runtime, { pallet: 'balances', name: 'transferKeepAlive', values: [recipient, amount] }),
    )
    return [intentOf(runtime, calls)]
  },
  tokens: node.row.hasPrograms ? null : createTokenCalls(node),
})

/** The contract of the asset that an extrinsic with these events created; null if it created none. Pure. */
export const createdAsset = (own: readonly ChainEvent[]): string | null => {
  const created = own.find((event) => nameOf(event) === 'Assets.Created')
  // By its place, as its name differs between runtimes.
  const [id] = created === undefined ? [] : valuesOf(created)
  return id === undefined ? null : assetContract(String(id))
}
