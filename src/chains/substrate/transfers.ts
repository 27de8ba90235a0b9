// Reads movements from events. Fields are read by index, because their names changed between runtimes (class, collection).
//
// - The coin: transfers between accounts; minting, burning, deposits and withdrawals (transfers from and to other chains by XCM,
//   rewards, swaps). Deposits and withdrawals of fees are excluded: see fees.ts. Reserved and held coins stay their owner's.
// - Assets: the same, without fees that are paid in an asset.
// - Standards use the names of the closed list: an asset is erc20, an NFT erc721.

import type { Movement } from '../chain.ts'
import { MalformedAnswer } from '../node/wire.ts'
import { ASSET_CONTRACTS, collectionContract, oldCollectionContract } from './contracts.ts'
import type { ChainEvent, CodecValue } from './events.ts'
import { feesOf, mayBeFee, tellsFees } from './fees.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { vnftTransfer } from './vnft-events.ts'

/** A movement, with the event's index in the block. `extrinsic`: the extrinsic's index; null for an event outside of any. */
export type EventMovement = Movement & { readonly logIndex: number; readonly extrinsic: number | null }

/** An address as text or as the codec's value. */
type End = string | CodecValue
type Ends = { readonly from: End; readonly to: End }
/** Returns a field by its index. */
type Field = (place: number) => CodecValue
/** Reads the movement of an event; null if nothing moves. */
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

/** Runtimes also emit deposits and withdrawals of 0. */
const unlessNothing = (movement: Movement): Movement | null => (movement.amount === 0n ? null : movement)

const comesAt =
  (who: number, amount = who + 1): Reader =>
  (field, { nobody }) =>
    unlessNothing(coin({ from: nobody, to: field(who) }, field(amount)))

const goesAt =
  (who: number, amount = who + 1): Reader =>
  (field, { nobody }) =>
    unlessNothing(coin({ from: field(who), to: nobody }, field(amount)))

/** Governance set a balance. The event before it has the amount of the change. */
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

/** The readers for an instance of pallet_assets. */
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

/** The readers for Nfts or Uniques. */
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

/** On a runtime that does not report fees, any deposit or withdrawal of an extrinsic may be a fee, so all are excluded. */
const isFee = (runtime: Pick<Runtime, 'metadata'>, events: readonly ChainEvent[]) => {
  if (!tellsFees(runtime)) return mayBeFee
  const places = new Set(feesOf(events).flatMap((fee) => fee.places))
  return (_: ChainEvent, place: number): boolean => places.has(place)
}

/** The movements of a block, in the order of its events. @throws MalformedAnswer for an event that lacks a field. Pure. */
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
