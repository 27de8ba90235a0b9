// Encodes the asset that pays a fee (ChargeAssetTxPayment). The metadata says how the runtime names it: by the id in
// pallet Assets (pallet_asset_tx_payment), or by an XCM Location (pallet_asset_conversion_tx_payment). We encode the
// bytes and check that they decode to the same asset by the types in the metadata.

import { isDeepStrictEqual } from 'node:util'
import { displayAmount, higher } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, PreparedFeeAsset, SubstrateUnsigned } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { bytes, MalformedAnswer } from '../node/wire.ts'
import { notProvided } from '../provided.ts'
import { existentialDeposit } from './account.ts'
import { callsOf } from './codec.ts'
import { type AssetId, contractIdOf, isAsset } from './contracts.ts'
import type { SubstrateNode } from './node.ts'
import { apiMethodOf, palletOf, type Runtime } from './runtime.ts'
import { compact, fixedWidth, fromHex, littleEndian, toHex } from './scale.ts'
import { findFeeAssetType } from './signed-extensions.ts'
import { assetQuestion } from './storage.ts'
import {
  fieldOf,
  integerIn,
  integerOf,
  isTrueIn,
  itemsOf,
  snakeCase,
  type TypeId,
  type Value,
  valueAs,
} from './values.ts'

const U32_BYTES = 4
/** The indices of Junctions::X2, Junction::PalletInstance and Junction::GeneralIndex since XCM version 3. */
const [X2, PALLET_INSTANCE, GENERAL_INDEX] = [2, 4, 5]

/** @param rest the sentence after the name of the field. */
const refusedAsset = (rest: string): AppError =>
  new AppError('invalid_input', `Field "unsigned_transaction.asset_id" ${rest}`)

/** How a runtime names the asset of a fee: `id` in pallet Assets, or an XCM `location` of any version. */
type Naming = { readonly kind: 'id' | 'location' | 'other'; readonly type: TypeId }

/** @throws invalid_input if the runtime takes fees only in the coin. */
export const readNaming = (
  { registry, metadata }: Runtime,
  { network }: Pick<SubstrateNetworkRow, 'network'>,
): Naming => {
  const type = findFeeAssetType(registry, metadata)
  if (type === null) throw refusedAsset(`must be absent on ${network}: its runtime takes fees only in the coin.`)
  const { def, path } = registry.lookup.getSiType(type)
  if (def.isPrimitive) return { kind: def.asPrimitive.isU32 ? 'id' : 'other', type }
  const name = path.at(-1)?.toString()
  return { kind: name === 'Location' || name === 'MultiLocation' ? 'location' : 'other', type }
}

const isJunction = (value: Value | undefined, name: string, wanted: number): boolean =>
  value?.kind === 'variant' && value.name === name && integerOf(value.content) === BigInt(wanted)

/** Whether a Location is { parents: 0, interior: X2(PalletInstance(pallet), GeneralIndex(id)) }. */
const isWithinPallet = (location: Value | null, { pallet, id }: { pallet: number; id: number }): boolean => {
  const interior = fieldOf(location, 'interior')
  const isX2 = interior.kind === 'variant' && interior.name === 'X2'
  const [first, second, ...others] = isX2 ? itemsOf(interior.content) : []
  return (
    integerOf(fieldOf(location, 'parents')) === 0n &&
    isJunction(first, 'PalletInstance', pallet) &&
    isJunction(second, 'GeneralIndex', id) &&
    others.length === 0
  )
}

const inPalletAssets = (runtime: Runtime, { type, id }: { readonly type: TypeId; readonly id: number }): Hex | null => {
  const pallet = palletOf(runtime, 'Assets')?.index.toNumber()
  if (pallet === undefined) return null
  const location = toHex(
    Buffer.concat([Uint8Array.of(0, X2, PALLET_INSTANCE, pallet, GENERAL_INDEX), compact(BigInt(id))]),
  )
  return isWithinPallet(valueAs(runtime, type, location), { pallet, id }) ? location : null
}

const assetIdOf = (contract: string): AssetId => {
  const asset = contractIdOf(contract)
  if (asset === null || !isAsset(asset)) throw new Error('expected the contract of an asset')
  return asset
}

/** In SCALE, without the surrounding Option. @throws invalid_input if the runtime takes no fee in the asset. Pure. */
export const feeAssetOf = (runtime: Runtime, row: Pick<SubstrateNetworkRow, 'network'>, contract: string): Hex => {
  const { kind, type } = readNaming(runtime, row)
  const { pallet, id } = assetIdOf(contract)
  if (kind === 'id' && pallet === 'assets') return toHex(fixedWidth(BigInt(id), U32_BYTES))
  if (kind === 'id') throw refusedAsset(`must be the id of an asset of pallet Assets on ${row.network}.`)
  const location = kind === 'other' ? null : pallet === 'assets' ? inPalletAssets(runtime, { type, id }) : id
  if (location === null) {
    throw notProvided(`The runtime of ${row.network} names the asset of a fee in a way that is not supported here.`)
  }
  if (typeof location === 'string' && valueAs(runtime, type, location) !== null) return location
  throw refusedAsset(`must be a Location in SCALE, as the runtime of ${row.network} reads it.`)
}

// Converts a fee to an asset. A runtime that swaps the asset for coins in a pool quotes the price (AssetConversionApi).
// A runtime that names assets by id converts by the ratio of the asset's minimum balance to the existential deposit
// (pallet_assets, BalanceToAssetBalance).

const U128_BYTES = 16
/** Only Asset Hubs have pools. Their coin is the relay chain's: { parents: 1, interior: Here }. */
const COIN_LOCATION = '0100'

const QUOTES = ['AssetConversionApi', 'quote_price_tokens_for_exact_tokens'] as const

const hasQuotes = (runtime: Runtime, type: TypeId): boolean =>
  apiMethodOf(runtime, ...QUOTES)?.inputs[0]?.type.eq(type) === true

/** Asks how much of an asset buys `planck`, including the pool's fee; null if no pool sells that many. */
const quoteQuestion = (asset: Hex, planck: bigint, blockHash: Hex): Question<bigint | null> => {
  const input = `${asset}${COIN_LOCATION}${fixedWidth(planck, U128_BYTES).toString('hex')}01`
  return question('state_call', [QUOTES.join('_'), input, blockHash], (result) => {
    const quote = bytes(result)
    if (quote === '0x00') return null
    if (quote.length !== 2 + 2 + 2 * U128_BYTES) throw new MalformedAnswer('the price of a fee in an asset')
    return littleEndian(fromHex(quote).subarray(1))
  })
}

/** How much of an asset a call transfers: in all, and by transfers that must keep the sender's account alive. */
type Moved = { readonly all: bigint; readonly alive: bigint }

/** A fee in an asset and the signer's balance of it, in base units of the asset. */
export type FeeInAsset = {
  readonly from: string
  readonly contract: string
  readonly decimals: number
  readonly amount: bigint
  /** 0 if the signer's account of the asset is frozen. */
  readonly balance: bigint
  /** The asset's minimum balance: an account with less is removed. */
  readonly least: bigint
  readonly moved: Moved
}

/** `contract` is the asset's, `fee` includes the tip, in planck. */
type FeeQuery = {
  readonly runtime: Runtime
  readonly contract: string
  readonly draft: SubstrateUnsigned & { readonly feeAsset: Hex }
  readonly fee: bigint
}

/** Runtimes before 2023 have the flag is_frozen instead of a status. */
const isUsable = (value: Value | null, usual: string): boolean => {
  const status = fieldOf(value, 'status')
  return status.kind === 'variant' ? status.name === usual : !isTrueIn(value, 'is_frozen')
}

/** Converts by the minimum balances; at least 1, because the runtime takes no less. */
const convertByMinimums = ({ runtime, contract, fee }: FeeQuery, asset: Value): bigint => {
  const deposit = existentialDeposit(runtime)
  if (!isTrueIn(asset, 'is_sufficient') || deposit === 0n) {
    throw refusedAsset(`must be a sufficient asset: the runtime takes no fee in ${contract}.`)
  }
  return higher((fee * integerIn(asset, 'min_balance')) / deposit, 1n)
}

/** Counts transfers, also inside batches. Other calls are not counted. */
const sumMoved = ({ runtime, contract, draft }: FeeQuery, type: TypeId): Moved => {
  const { pallet, id } = assetIdOf(contract)
  const wanted: Value | null =
    typeof id === 'number' ? { kind: 'integer', value: BigInt(id) } : valueAs(runtime, type, draft.feeAsset)
  const ofAsset = callsOf(runtime, draft.call).filter((call) => isDeepStrictEqual(fieldOf(call, 'id'), wanted))
  const sumOf = (name: string): bigint =>
    ofAsset
      .filter(({ functionName }) => functionName === `${snakeCase(pallet)}.${name}`)
      .reduce((sum, call) => sum + integerIn(call, 'amount'), 0n)
  const alive = sumOf('transfer_keep_alive')
  return { all: sumOf('transfer') + alive, alive }
}

const readKnownFee = async ({ rpc, row }: Pick<SubstrateNode, 'rpc' | 'row'>, query: FeeQuery): Promise<FeeInAsset> => {
  const { runtime, contract, draft, fee } = query
  const { from, feeAsset, blockHash } = draft
  const { kind, type } = readNaming(runtime, row)
  if (kind === 'location' && !hasQuotes(runtime, type)) {
    throw notProvided(`The runtime of ${row.network} does not quote fees in an asset.`)
  }
  const asset = assetIdOf(contract)
  const [about, metadata, account, quote] = await rpc.askAll([
    assetQuestion(runtime, { asset, entry: 'asset' }, blockHash),
    assetQuestion(runtime, { asset, entry: 'metadata' }, blockHash),
    assetQuestion(runtime, { asset, entry: 'account', holder: from }, blockHash),
    kind === 'location' ? quoteQuestion(feeAsset, fee, blockHash) : null,
  ])
  if (about === null) throw refusedAsset(`must be an asset of ${row.network}: there is no ${contract}.`)
  if (!isUsable(about, 'Live')) throw refusedAsset(`must be an asset that can move: ${contract} is frozen.`)
  const amount = kind === 'location' ? quote : convertByMinimums(query, about)
  if (amount === null) {
    const { symbol } = row.coin
    throw refusedAsset(
      `must be an asset that a pool exchanges for ${symbol}: no pool takes ${contract}, or none has enough ${symbol}.`,
    )
  }
  return {
    from,
    contract,
    decimals: Number(integerIn(metadata, 'decimals')),
    amount,
    balance: isUsable(account, 'Liquid') ? integerIn(account, 'balance') : 0n,
    least: integerIn(about, 'min_balance'),
    moved: sumMoved(query, type),
  }
}

/** Reads a fee in the draft's fee asset, and the signer's balance of it; null if the fee is paid in the coin. */
export const readFeeInAsset = async (
  node: Pick<SubstrateNode, 'rpc' | 'row'>,
  input: { runtime: Runtime; draft: SubstrateUnsigned; fee: bigint; contract: string | undefined },
): Promise<FeeInAsset | null> => {
  const { contract, draft } = input
  const { feeAsset } = draft
  if (contract === undefined || feeAsset === null) return null
  return readKnownFee(node, { ...input, contract, draft: { ...draft, feeAsset } })
}

/** Subtracts from the balance what the signer's earlier transactions may take of the same asset. Pure. */
export const afterFees = (fee: FeeInAsset, before: readonly FeeInAsset[]): FeeInAsset => {
  const same = before.filter(({ contract }) => contract === fee.contract)
  const taken = same.reduce((sum, { amount, moved }) => sum + amount + moved.all, 0n)
  return { ...fee, balance: higher(fee.balance - taken, 0n) }
}

/** The runtime takes the fee first, and the fee must leave the account of the asset alive. Pure. */
export const preparedFee = ({ contract, decimals, amount, balance, least, moved }: FeeInAsset): PreparedFeeAsset => ({
  contract,
  decimals,
  balance,
  worstCost: amount + moved.all,
  needed: amount + higher(moved.all, moved.alive + least),
})

/** @returns a sentence that says what the signer lacks; null if the balance suffices. Pure. */
export const describeLack = (fee: FeeInAsset): string | null => {
  const { from, contract, decimals } = fee
  const { needed, balance } = preparedFee(fee)
  if (balance >= needed) return null
  const shown = (raw: bigint): string => `${displayAmount(raw, decimals)} of ${contract}`
  return `${from} needs ${shown(needed)} for the fee of this transaction, for its transfers, and to keep its account of the asset alive, and has ${shown(balance)}.`
}
