// What moves, by the events of a runtime. Fields are taken by their place, which has stayed, and not by their name, which
// has not (class, collection).
//
// The coin: between two accounts; and made, destroyed, deposited and withdrawn, which is how it comes from another chain and
// goes there (XCM), how rewards are paid, and what swaps do. The deposits and withdraws of a fee are none: see fees.ts.
// What is reserved or held stays its owner's, and does not move.
// Assets: likewise, without what a fee takes of its payer that is paid in an asset.
// Standards are told in the words of the closed list: assets are erc20, NFTs erc721.

import type { Movement } from '../chain.ts'
import { MalformedAnswer } from '../node/wire.ts'
import { ASSET_CONTRACTS, collectionContract, oldCollectionContract } from './contracts.ts'
import type { ChainEvent, CodecValue } from './events.ts'
import { feesOf, mayBeFee, tellsFees } from './fees.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { vnftTransfer } from './vnft-events.ts'

/** A movement, the event's place in its block, and the extrinsic's; null for what the runtime does by itself. */
export type EventMovement = Movement & { readonly logIndex: number; readonly extrinsic: number | null }

/** An address, as the codec hands it out or as we have it. */
type End = string | CodecValue
type Ends = { readonly from: End; readonly to: End }
/** A field by its place. */
type Field = (place: number) => CodecValue
/** null for what moves nothing after all. */
type Reader = (
  field: Field,
  context: { readonly nobody: string; readonly before: ChainEvent | null },
) => Movement | null

const between = ({ from, to }: Ends) => ({ from: String(from), to: String(to) })

const coin = (ends: Ends, amount: CodecValue): Movement => ({
  standard: 'native',
  contract: null,
  tokenId: null,
  ...between(ends),
  amount: BigInt(String(amount)),
})

/** A runtime that deposits or withdraws nothing says so, too. */
const unlessNothing = (movement: Movement): Movement | null => (movement.amount === 0n ? null : movement)

const comesAt =
  (who: number, amount = who + 1): Reader =>
  (field, { nobody }) =>
    unlessNothing(coin({ from: nobody, to: field(who) }, field(amount)))

const goesAt =
  (who: number, amount = who + 1): Reader =>
  (field, { nobody }) =>
    unlessNothing(coin({ from: field(who), to: nobody }, field(amount)))

/** A balance that governance sets: by how much it changed stands in the event before it. */
const balanceSet: Reader = (field, { nobody, before }) => {
  const amount = before?.pallet === 'Balances' ? [...before.fields.values()][0] : undefined
  if (amount === undefined) return null
  if (before?.name === 'Issued') return coin({ from: nobody, to: field(0) }, amount)
  return before?.name === 'Rescinded' ? coin({ from: field(0), to: nobody }, amount) : null
}

const COINS: Readonly<Record<string, Reader>> = {
  'Balances.Deposit': comesAt(0),
  'Balances.Withdraw': goesAt(0),
  'Balances.Transfer': (field) => coin({ from: field(0), to: field(1) }, field(2)),
  'Balances.ReserveRepatriated': (field) => coin({ from: field(0), to: field(1) }, field(2)),
  'Balances.TransferOnHold': (field) => coin({ from: field(1), to: field(2) }, field(3)),
  'Balances.TransferAndHold': (field) => coin({ from: field(1), to: field(2) }, field(3)),
  'Balances.Minted': comesAt(0),
  'Balances.Restored': comesAt(0),
  'Balances.Burned': goesAt(0),
  'Balances.BurnedHeld': goesAt(1),
  'Balances.Suspended': goesAt(0),
  'Balances.Slashed': goesAt(0),
  'Balances.DustLost': goesAt(0),
  'Balances.BalanceSet': balanceSet,
}

/** Of an instance of pallet_assets. */
const assetsOf = ([pallet, contractOf]: [string, (id: CodecValue) => string]): Readonly<Record<string, Reader>> => {
  const asset = (field: Field, ends: Ends, amount: CodecValue): Movement => ({
    standard: 'erc20',
    contract: contractOf(field(0)),
    tokenId: null,
    ...between(ends),
    amount: BigInt(String(amount)),
  })
  const comes: Reader = (field, { nobody }) => asset(field, { from: nobody, to: field(1) }, field(2))
  const goes: Reader = (field, { nobody }) => asset(field, { from: field(1), to: nobody }, field(2))
  return {
    [`${pallet}.Transferred`]: (field) => asset(field, { from: field(1), to: field(2) }, field(3)),
    [`${pallet}.Issued`]: comes,
    [`${pallet}.Deposited`]: comes,
    [`${pallet}.Burned`]: goes,
    [`${pallet}.Withdrawn`]: goes,
  }
}

const ASSETS: Readonly<Record<string, Reader>> = Object.assign({}, ...Object.entries(ASSET_CONTRACTS).map(assetsOf))

/** Of Nfts and of Uniques alike. */
const items = (pallet: string, contractOf: (id: string) => string): Readonly<Record<string, Reader>> => {
  const item = (field: Field, ends: Ends): Movement => ({
    standard: 'erc721',
    contract: contractOf(String(field(0))),
    tokenId: BigInt(String(field(1))),
    ...between(ends),
    amount: 1n,
  })
  return {
    [`${pallet}.Issued`]: (field, { nobody }) => item(field, { from: nobody, to: field(2) }),
    [`${pallet}.Transferred`]: (field) => item(field, { from: field(2), to: field(3) }),
    [`${pallet}.Burned`]: (field, { nobody }) => item(field, { from: field(2), to: nobody }),
  }
}

const READERS = { ...COINS, ...ASSETS, ...items('Nfts', collectionContract) }
const WITH_NFTS = { ...READERS, ...items('Uniques', oldCollectionContract) }
const WITHOUT_NFTS = { ...READERS, ...items('Uniques', collectionContract) }

/** Where a runtime does not say what was paid as a fee, no deposit of an extrinsic is known to be anything else. */
const isFee = (runtime: Pick<Runtime, 'metadata'>, events: readonly ChainEvent[]) => {
  if (!tellsFees(runtime)) return mayBeFee
  const places = new Set(feesOf(events).flatMap((fee) => fee.places))
  return (_: ChainEvent, place: number): boolean => places.has(place)
}

/** Those of a block, in the order of its events. Pure. @throws MalformedAnswer for an event that lacks a field. */
export const transfersOf = (
  { runtime, row }: { readonly runtime: Pick<Runtime, 'storage' | 'metadata'>; readonly row: SubstrateNode['row'] },
  events: readonly ChainEvent[],
): readonly EventMovement[] => {
  const readers: Readonly<Record<string, Reader>> = runtime.storage.nfts === undefined ? WITHOUT_NFTS : WITH_NFTS
  const { nobody } = row
  const isOfFee = isFee(runtime, events)
  return events.flatMap((event, logIndex) => {
    const { pallet, name, fields, extrinsic } = event
    if (isOfFee(event, logIndex)) return []
    const values = [...fields.values()]
    const field: Field = (place) => {
      const value = values[place]
      if (value === undefined) throw new MalformedAnswer(`${place + 1} fields of ${pallet}.${name}`)
      return value
    }
    const read = readers[`${pallet}.${name}`]
    const movement =
      read === undefined
        ? vnftTransfer(row, { pallet, name, message: values[0] })
        : read(field, { nobody, before: events[logIndex - 1] ?? null })
    return movement === null ? [] : [{ ...movement, logIndex, extrinsic }]
  })
}
