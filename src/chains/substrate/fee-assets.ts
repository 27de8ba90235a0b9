// Encodes the asset that pays a fee (ChargeAssetTxPayment). The metadata says how the runtime names it: by the id in pallet
// Assets (pallet_asset_tx_payment), or by an XCM Location (pallet_asset_conversion_tx_payment). We encode the bytes and check
// that they decode to the same asset by the types in the metadata.

import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex } from '../chain.ts'
import { notProvided } from '../provided.ts'
import { type AssetId, contractIdOf, isAsset } from './contracts.ts'
import { palletOf, type Runtime } from './runtime.ts'
import { compact, fixedWidth, toHex } from './scale.ts'
import { feeAssetTypeOf } from './signed-extensions.ts'
import { fieldOf, integerOf, itemsOf, type TypeId, type Value, valueAs } from './values.ts'

const U32_BYTES = 4
/** The indices of Junctions::X2, Junction::PalletInstance and Junction::GeneralIndex since XCM version 3. */
const [X2, PALLET_INSTANCE, GENERAL_INDEX] = [2, 4, 5]

/** @param rest the sentence after the name of the field. */
export const refusedAsset = (rest: string): AppError =>
  new AppError('invalid_input', `Field "unsigned_transaction.asset_id" ${rest}`)

/** How a runtime names the asset of a fee: `id` in pallet Assets, or an XCM `location` of any version. */
type Naming = { readonly kind: 'id' | 'location' | 'other'; readonly type: TypeId }

/** @throws invalid_input if the runtime takes fees only in the coin. */
export const namingOf = (
  { registry, metadata }: Runtime,
  { network }: Pick<SubstrateNetworkRow, 'network'>,
): Naming => {
  const type = feeAssetTypeOf(registry, metadata)
  if (type === null) throw refusedAsset(`must be absent on ${network}: its runtime takes fees only in the coin.`)
  const { def, path } = registry.lookup.getSiType(type)
  if (def.isPrimitive) return { kind: def.asPrimitive.isU32 ? 'id' : 'other', type }
  const name = path.at(-1)?.toString()
  return { kind: name === 'Location' || name === 'MultiLocation' ? 'location' : 'other', type }
}

const isJunction = (value: Value | undefined, name: string, wanted: number): boolean =>
  value?.kind === 'variant' && value.name === name && integerOf(value.of) === BigInt(wanted)

/** Whether a Location is { parents: 0, interior: X2(PalletInstance(pallet), GeneralIndex(id)) }. */
const isWithinPallet = (location: Value | null, { pallet, id }: { pallet: number; id: number }): boolean => {
  const interior = fieldOf(location, 'interior')
  const isX2 = interior.kind === 'variant' && interior.name === 'X2'
  const [first, second, ...others] = isX2 ? itemsOf(interior.of) : []
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

/** Parses the contract of an asset. Pure. */
export const assetIdOf = (contract: string): AssetId => {
  const asset = contractIdOf(contract)
  if (asset === null || !isAsset(asset)) throw new Error('expected the contract of an asset')
  return asset
}

/**
 * Encodes the asset that pays a fee in SCALE, without the surrounding Option.
 * @throws invalid_input if the runtime takes no fee in it. Pure.
 */
export const feeAssetOf = (runtime: Runtime, row: Pick<SubstrateNetworkRow, 'network'>, contract: string): Hex => {
  const { kind, type } = namingOf(runtime, row)
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
