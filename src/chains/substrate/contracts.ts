// What has an id of a pallet's here and an address elsewhere, in the one word that tables and the wire have for it. Ids of
// the pallets overlap, so each says whose it is; the plain digits are the collections that this service makes and mints in.

import { AppError } from '../../errors.ts'
import type { Hex } from '../chain.ts'
import type { SubstrateNetworkRow } from '../networks.ts'
import { LIKE_PROGRAM, parseAddress, publicKeyOf } from './address.ts'
import type { CodecValue } from './events.ts'
import { toHex } from './extrinsic.ts'

/** An asset of pallet Assets: `asset:1984`. */
export const assetContract = (id: string): string => `asset:${id}`

/** An asset of pallet PoolAssets, a share of a pool: `pool:7`. */
const poolContract = (id: string): string => `pool:${id}`

/** An asset of pallet ForeignAssets by its XCM Location in SCALE, which versions 3 to 5 of XCM spell alike: `foreign:0x02010903`. */
const foreignContract = (location: Hex): string => `foreign:${location}`

/** The contract of an asset by the pallet, in the metadata's spelling, and the id that an event of it tells first. */
export const ASSET_CONTRACTS: Readonly<Record<string, (id: CodecValue) => string>> = {
  Assets: (id) => assetContract(String(id)),
  PoolAssets: (id) => poolContract(String(id)),
  ForeignAssets: (id) => foreignContract(id.toHex()),
}

/** A collection of the runtime's pallet for NFTs: `7`. That is Nfts, and Uniques only where there is no Nfts. */
export const collectionContract = (id: string): string => id

/** A collection of Uniques beside Nfts: `uniques:7`. */
export const oldCollectionContract = (id: string): string => `uniques:${id}`

/** Three instances of pallet_assets, as storage names them. */
export type AssetId =
  | { readonly pallet: 'assets' | 'poolAssets'; readonly id: number }
  | { readonly pallet: 'foreignAssets'; readonly id: Hex }
export type CollectionId = { readonly pallet: 'collections' | 'uniques'; readonly id: number }
export type ContractId = AssetId | CollectionId

const FORM = /^(?:(asset|pool|uniques):)?(0|[1-9][0-9]{0,9})$/
const PALLETS = { asset: 'assets', pool: 'poolAssets', uniques: 'uniques', '': 'collections' } as const
const FOREIGN = /^foreign:0x(?:[0-9a-f]{2})+$/
const SHOWN_ID = /^(?:(?:[a-z]+:)?[0-9]{1,10}|foreign:0x[0-9a-f]+)$/
const COLLECTION_ID = /^(?:uniques:)?[0-9]+$/
/** Ids are u32 on every Asset Hub. */
const ID_END = 2 ** 32

/** Whose id a word is; null for any other word. Whether the bytes of a foreign one are a Location, the runtime knows. Pure. */
export const contractIdOf = (word: string): ContractId | null => {
  if (FOREIGN.test(word)) return { pallet: 'foreignAssets', id: `0x${word.slice('foreign:0x'.length)}` }
  const [, prefix = '', digits] = FORM.exec(word) ?? []
  const id = Number(digits)
  if (digits === undefined || id >= ID_END) return null
  return { pallet: PALLETS[prefix as keyof typeof PALLETS], id }
}

/** Whether a text names what previews and activity show by its id: `7`, `asset:1984`, `foreign:0x02010903`. */
export const isShownId = (text: string): boolean => SHOWN_ID.test(text)

/** Whether a text has the form of a program's id, or a collection's, and is no address. */
export const isContractId = ({ hasPrograms }: Pick<SubstrateNetworkRow, 'hasPrograms'>, text: string): boolean =>
  (hasPrograms ? LIKE_PROGRAM : COLLECTION_ID).test(text)

/** Pure. */
export const isAsset = (contract: ContractId): contract is AssetId =>
  contract.pallet !== 'collections' && contract.pallet !== 'uniques'

/**
 * The asset that a fee is to be paid in: of pallet Assets by its digits, or any as contracts are named.
 * @returns the word for it. @throws invalid_input naming the field. Pure.
 */
export const parseFeeAsset = (text: string, field: string): string => {
  const word = /^[0-9]+$/.test(text) ? assetContract(text) : text
  const { pallet } = contractIdOf(word) ?? {}
  if (pallet === 'assets' || pallet === 'foreignAssets') return word
  throw new AppError(
    'invalid_input',
    `Field "${field}" must be the id of an asset of pallet Assets in plain decimal digits, below 2^32, or "foreign:0x" and the Location of a foreign asset in lower-case hex.`,
  )
}

/**
 * A program's id in lower-case hex, whichever way it is written: so programs are named everywhere but in addresses, and what
 * clients send comes back. Else a collection's id.
 * @throws address_invalid, network_mismatch. Pure.
 */
export const parseContract = (
  row: SubstrateNetworkRow,
  input: { readonly text: string; readonly field: string },
): string => {
  const { text, field } = input
  if (row.hasPrograms) return toHex(publicKeyOf(parseAddress(row, input)) ?? new Uint8Array())
  const contract = contractIdOf(text)
  if (contract !== null && !isAsset(contract)) return text
  const code = /^0x[0-9a-fA-F]{40}$/.test(text) ? 'network_mismatch' : 'address_invalid'
  throw new AppError(
    code,
    `Field "${field}" must be the id of a collection of ${row.network}: plain decimal digits, below 2^32.`,
  )
}
