// What moves, by the events of a runtime. Fields are taken by their place, which has stayed, and not by their name, which
// has not (class, collection).
//
// The coin: between two accounts; and made or destroyed, which is how it comes from another chain of the relay chain and
// goes there (XCM), and how rewards are paid. Deposit and Withdraw are what fees do, too, and fees are no movements.
// Assets: likewise, and what is deposited and withdrawn as well, which is what a swap does (pallet_asset_conversion), and
// no other event tells of it; so does a fee that somebody pays in an asset.
// Standards are told in the words of the closed list: assets are erc20, NFTs erc721.

import type { Movement } from '../chain.ts'
import { NOBODY } from '../networks.ts'
import { MalformedAnswer } from '../node/wire.ts'
import { assetContract, collectionContract, foreignContract, oldCollectionContract, poolContract } from './contracts.ts'
import type { ChainEvent, CodecValue } from './events.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { vnftTransfer } from './vnftEvents.ts'

/** A movement, the event's place in its block, and the extrinsic's; null for what the runtime does by itself. */
export type EventMovement = Movement & { readonly logIndex: number; readonly extrinsic: number | null }

/** An address, as the codec hands it out or as we have it. */
type End = string | CodecValue
type Ends = { readonly from: End; readonly to: End }
/** A field by its place. */
type Field = (place: number) => CodecValue
type Reader = (field: Field, nobody: string) => Movement

const between = ({ from, to }: Ends) => ({ from: String(from), to: String(to) })

const coin = (ends: Ends, amount: CodecValue): Movement => ({
  ...{ standard: 'native', contract: null, tokenId: null },
  ...between(ends),
  amount: BigInt(String(amount)),
})

const COINS: Readonly<Record<string, Reader>> = {
  'Balances.Transfer': (field) => coin({ from: field(0), to: field(1) }, field(2)),
  'Balances.ReserveRepatriated': (field) => coin({ from: field(0), to: field(1) }, field(2)),
  'Balances.Minted': (field, nobody) => coin({ from: nobody, to: field(0) }, field(1)),
  'Balances.Burned': (field, nobody) => coin({ from: field(0), to: nobody }, field(1)),
}

/** Of an instance of pallet_assets. */
const assets = (pallet: string, contractOf: (id: CodecValue) => string): Readonly<Record<string, Reader>> => {
  const asset = (field: Field, ends: Ends, amount: CodecValue): Movement => ({
    ...{ standard: 'erc20', contract: contractOf(field(0)), tokenId: null },
    ...between(ends),
    amount: BigInt(String(amount)),
  })
  const comes: Reader = (field, nobody) => asset(field, { from: nobody, to: field(1) }, field(2))
  const goes: Reader = (field, nobody) => asset(field, { from: field(1), to: nobody }, field(2))
  return {
    [`${pallet}.Transferred`]: (field) => asset(field, { from: field(1), to: field(2) }, field(3)),
    ...{ [`${pallet}.Issued`]: comes, [`${pallet}.Deposited`]: comes },
    ...{ [`${pallet}.Burned`]: goes, [`${pallet}.Withdrawn`]: goes },
  }
}

const ASSETS = {
  ...assets('Assets', (id) => assetContract(String(id))),
  ...assets('PoolAssets', (id) => poolContract(String(id))),
  ...assets('ForeignAssets', (id) => foreignContract(id.toHex())),
}

/** Of Nfts and of Uniques alike. */
const items = (pallet: string, contractOf: (id: string) => string): Readonly<Record<string, Reader>> => {
  const item = (field: Field, ends: Ends): Movement => ({
    ...{ standard: 'erc721', contract: contractOf(String(field(0))), tokenId: BigInt(String(field(1))) },
    ...between(ends),
    amount: 1n,
  })
  return {
    [`${pallet}.Issued`]: (field, nobody) => item(field, { from: nobody, to: field(2) }),
    [`${pallet}.Transferred`]: (field) => item(field, { from: field(2), to: field(3) }),
    [`${pallet}.Burned`]: (field, nobody) => item(field, { from: field(2), to: nobody }),
  }
}

const READERS = { ...COINS, ...ASSETS, ...items('Nfts', collectionContract) }
const WITH_NFTS = { ...READERS, ...items('Uniques', oldCollectionContract) }
const WITHOUT_NFTS = { ...READERS, ...items('Uniques', collectionContract) }

/** Those of a block, in the order of its events. Pure. @throws MalformedAnswer for an event that lacks a field. */
export const transfersOf = (
  { runtime, row }: { readonly runtime: Pick<Runtime, 'storage'>; readonly row: SubstrateNode['row'] },
  events: readonly ChainEvent[],
): readonly EventMovement[] => {
  const readers: Readonly<Record<string, Reader>> = runtime.storage.nfts === undefined ? WITHOUT_NFTS : WITH_NFTS
  return events.flatMap(({ pallet, name, fields, extrinsic }, logIndex) => {
    const values = [...fields.values()]
    const field: Field = (place) => {
      const value = values[place]
      if (value === undefined) throw new MalformedAnswer(`${place + 1} fields of ${pallet}.${name}`)
      return value
    }
    const read = readers[`${pallet}.${name}`]
    const movement = read?.(field, NOBODY[row.network]) ?? vnftTransfer(row, { pallet, name, message: values[0] })
    return movement === null ? [] : [{ ...movement, logIndex, extrinsic }]
  })
}
