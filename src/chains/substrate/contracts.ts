// The text form of assets and collections, used in tables and on the wire where other networks use a contract's
// address. Ids of several pallets overlap, so a prefix names the pallet. Plain digits are collections of the pallet
// that this service mints in.

import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex } from '../chain.ts'
import { actorId, LIKE_EVM, LIKE_PROGRAM, parseAddress } from './address.ts'
import type { CodecValue } from './events.ts'
import type { Runtime } from './runtime.ts'

/** An asset of pallet Assets: `asset:1984`. */
export const assetContract = (id: string): string => `asset:${id}`

/**
 * By pallet (as in the metadata): makes the contract from the asset's id, which is the first field of the pallet's
 * events. PoolAssets are shares of pools: `pool:7`. The id of a foreign asset is its XCM Location in SCALE, which is
 * the same in XCM 3 to 5: `foreign:0x02010903`.
 */
export const ASSET_CONTRACTS: Readonly<Record<string, (id: CodecValue) => string>> = {
  Assets: (id) => assetContract(String(id)),
  PoolAssets: (id) => `pool:${id}`,
  ForeignAssets: (id) => `foreign:${id.toHex()}`,
}

/** The storage maps of the pallets for NFTs; Uniques has older names. */
export const NFT_MAPS = {
  nfts: {
    collection: 'collection',
    item: 'item',
    collectionMetadata: 'collectionMetadataOf',
    itemMetadata: 'itemMetadataOf',
  },
  uniques: {
    collection: 'class',
    item: 'asset',
    collectionMetadata: 'classMetadataOf',
    itemMetadata: 'instanceMetadataOf',
  },
} as const

export type NftPallet = keyof typeof NFT_MAPS

/** `7` in the runtime's pallet for NFTs; `uniques:7` in Uniques on a runtime that also has Nfts. */
export const collectionContract = (
  { storage }: Pick<Runtime, 'storage'>,
  { pallet, id }: { readonly pallet: NftPallet; readonly id: string },
): string => (pallet === 'uniques' && storage.nfts !== undefined ? `uniques:${id}` : id)

/** The three instances of pallet_assets, by their names in storage. */
export type AssetId =
  | { readonly pallet: 'assets' | 'poolAssets'; readonly id: number }
  | { readonly pallet: 'foreignAssets'; readonly id: Hex }
type CollectionId = { readonly pallet: 'collections' | 'uniques'; readonly id: number }
export type ContractId = AssetId | CollectionId

const FORM = /^(?:(asset|pool|uniques):)?(0|[1-9][0-9]{0,9})$/
const PALLETS = { asset: 'assets', pool: 'poolAssets', uniques: 'uniques', '': 'collections' } as const
const FOREIGN = /^foreign:0x(?:[0-9a-f]{2})+$/
const SHOWN_ID = /^(?:(?:[a-z]+:)?[0-9]{1,10}|foreign:0x[0-9a-f]+)$/
const COLLECTION_ID = /^(?:uniques:)?[0-9]+$/
/** Ids are u32 on every Asset Hub. */
const ID_END = 2 ** 32

/** Parses a contract; null if it has no form above. The Location of a foreign asset is not decoded here. Pure. */
export const contractIdOf = (text: string): ContractId | null => {
  if (FOREIGN.test(text)) return { pallet: 'foreignAssets', id: `0x${text.slice('foreign:0x'.length)}` }
  const [, prefix = '', digits] = FORM.exec(text) ?? []
  const id = Number(digits)
  if (digits === undefined || id >= ID_END) return null
  return { pallet: PALLETS[prefix as keyof typeof PALLETS], id }
}

/** Whether a text has the form of an id in previews and activity. */
export const isShownId = (text: string): boolean => SHOWN_ID.test(text)

/** Whether a text has the form of a program's id on a network with programs, elsewhere that of a collection's id. */
export const isContractId = ({ hasPrograms }: Pick<SubstrateNetworkRow, 'hasPrograms'>, text: string): boolean =>
  (hasPrograms ? LIKE_PROGRAM : COLLECTION_ID).test(text)

export const isAsset = (contract: ContractId): contract is AssetId =>
  contract.pallet !== 'collections' && contract.pallet !== 'uniques'

/** Returns the contract of the asset that pays a fee; plain digits are an id in pallet Assets. Pure. */
export const parseFeeAsset = (text: string, field: string): string => {
  const contract = /^[0-9]+$/.test(text) ? assetContract(text) : text
  const { pallet } = contractIdOf(contract) ?? {}
  if (pallet === 'assets' || pallet === 'foreignAssets') return contract
  throw new AppError(
    'invalid_input',
    `Field "${field}" must be the id of an asset of pallet Assets in plain decimal digits, below 2^32, or "foreign:0x" and the Location of a foreign asset in lower-case hex.`,
  )
}

/**
 * Parses the contract of an NFT. On a network with programs this is a program's id or address, returned as its id in
 * lower-case hex; elsewhere it is a collection's id. Pure.
 */
export const parseContract = (row: SubstrateNetworkRow, input: { text: string; field: string }): string => {
  const { text, field } = input
  if (row.hasPrograms) return actorId(parseAddress(row, input))
  const contract = contractIdOf(text)
  if (contract !== null && !isAsset(contract)) return text
  const sentence = `Field "${field}" must be the id of a collection of ${row.network}: plain decimal digits, below 2^32.`
  throw new AppError(LIKE_EVM.test(text) ? 'network_mismatch' : 'address_invalid', sentence)
}
