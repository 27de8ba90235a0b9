// Reads movements from events. Fields are read by index, because their names changed between runtimes (class,
// collection).
//
// - The coin: transfers between accounts; minting, burning, deposits and withdrawals (transfers from and to other
//   chains by XCM, rewards, swaps), but not those of fees (fees.ts). Reserved and held coins stay their owner's.
// - Assets: the same, without fees that are paid in an asset.
// - Standards use the names of the closed list: an asset is erc20, an NFT erc721.

import type { Movement } from '../chain.ts'
import { MalformedAnswer } from '../node/wire.ts'
import { ASSET_CONTRACTS, collectionContract, type NftPallet } from './contracts.ts'
import { type ChainEvent, type CodecValue, nameOf, valuesOf } from './events.ts'
import { feesOf, mayBeFee } from './fees.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { vnftTransfer } from './vnft.ts'

/** With the event's index in the block, and that of its extrinsic; null for an event outside of any extrinsic. */
export type EventMovement = Movement & { readonly logIndex: number; readonly extrinsic: number | null }

type Field = (index: number) => CodecValue
type Context = {
  readonly runtime: Pick<Runtime, 'storage'>
  readonly nobody: string
  readonly before: ChainEvent | null
}
/** Reads the movement of an event; null if nothing moves. */
type Reader = (field: Field, context: Context) => Movement | null

/** What moves. */
type Thing = Pick<Movement, 'standard' | 'contract' | 'tokenId'>
/** The indices of the fields. Without an index `from` or `to` is absent, and the amount is 1. */
type Indices = { readonly from?: number; readonly to?: number; readonly amount?: number }

const moving =
  (thingOf: (field: Field, context: Context) => Thing, { from, to, amount }: Indices): Reader =>
  (field, context) => {
    const end = (index: number | undefined) => (index === undefined ? context.nobody : String(field(index)))
    const moved = amount === undefined ? 1n : BigInt(String(field(amount)))
    return { ...thingOf(field, context), from: end(from), to: end(to), amount: moved }
  }

const COIN: Thing = { standard: 'native', contract: null, tokenId: null }

const coins = (indices: Indices): Reader => moving(() => COIN, indices)

/** Runtimes also emit deposits and withdrawals of 0. */
const unlessZero =
  (read: Reader): Reader =>
  (field, context) => {
    const movement = read(field, context)
    return movement?.amount === 0n ? null : movement
  }

const coinsTo = (to: number): Reader => unlessZero(coins({ to, amount: to + 1 }))
const coinsFrom = (from: number): Reader => unlessZero(coins({ from, amount: from + 1 }))

/** Governance set a balance. The event before it has the amount of the change. */
const balanceSet: Reader = (field, { nobody, before }) => {
  const [amount] = before === null ? [] : valuesOf(before)
  if (before === null || amount === undefined) return null
  const isIssued = nameOf(before) === 'Balances.Issued'
  if (!isIssued && nameOf(before) !== 'Balances.Rescinded') return null
  const account = String(field(0))
  const ends = isIssued ? { from: nobody, to: account } : { from: account, to: nobody }
  return { ...COIN, ...ends, amount: BigInt(String(amount)) }
}

const COINS: Readonly<Record<string, Reader>> = {
  'Balances.Deposit': coinsTo(0),
  'Balances.Withdraw': coinsFrom(0),
  'Balances.Transfer': coins({ from: 0, to: 1, amount: 2 }),
  'Balances.ReserveRepatriated': coins({ from: 0, to: 1, amount: 2 }),
  'Balances.TransferOnHold': coins({ from: 1, to: 2, amount: 3 }),
  'Balances.TransferAndHold': coins({ from: 1, to: 2, amount: 3 }),
  'Balances.Minted': coinsTo(0),
  'Balances.Restored': coinsTo(0),
  'Balances.Burned': coinsFrom(0),
  'Balances.BurnedHeld': coinsFrom(1),
  'Balances.Suspended': coinsFrom(0),
  'Balances.Slashed': coinsFrom(0),
  'Balances.DustLost': coinsFrom(0),
  'Balances.BalanceSet': balanceSet,
}

const assetReaders = ([pallet, contractOf]: [string, (id: CodecValue) => string]): Readonly<Record<string, Reader>> => {
  const assets = (indices: Indices): Reader =>
    moving((field) => ({ standard: 'erc20', contract: contractOf(field(0)), tokenId: null }), indices)
  return {
    [`${pallet}.Transferred`]: assets({ from: 1, to: 2, amount: 3 }),
    [`${pallet}.Issued`]: assets({ to: 1, amount: 2 }),
    [`${pallet}.Deposited`]: assets({ to: 1, amount: 2 }),
    [`${pallet}.Burned`]: assets({ from: 1, amount: 2 }),
    [`${pallet}.Withdrawn`]: assets({ from: 1, amount: 2 }),
  }
}

const ASSETS: Readonly<Record<string, Reader>> = Object.assign({}, ...Object.entries(ASSET_CONTRACTS).map(assetReaders))

const itemReaders = (events: 'Nfts' | 'Uniques', pallet: NftPallet): Readonly<Record<string, Reader>> => {
  const itemIn = (field: Field, { runtime }: Context): Thing => ({
    standard: 'erc721',
    contract: collectionContract(runtime, { pallet, id: String(field(0)) }),
    tokenId: BigInt(String(field(1))),
  })
  return {
    [`${events}.Issued`]: moving(itemIn, { to: 2 }),
    [`${events}.Transferred`]: moving(itemIn, { from: 2, to: 3 }),
    [`${events}.Burned`]: moving(itemIn, { from: 2 }),
  }
}

const READERS = { ...COINS, ...ASSETS, ...itemReaders('Nfts', 'nfts'), ...itemReaders('Uniques', 'uniques') }

/** If a runtime does not report fees, any deposit or withdrawal of an extrinsic may be a fee, so all are excluded. */
const feeTest = ({ reportsFees }: Pick<Runtime, 'reportsFees'>, events: readonly ChainEvent[]) => {
  if (!reportsFees) return mayBeFee
  const indices = new Set(feesOf(events).flatMap((fee) => fee.indices))
  return (_: ChainEvent, index: number): boolean => indices.has(index)
}

/** The movements of a block, in the order of its events. @throws MalformedAnswer if an event lacks a field. Pure. */
export const transfersOf = (
  { runtime, row }: { readonly runtime: Pick<Runtime, 'storage' | 'reportsFees'>; readonly row: SubstrateNode['row'] },
  events: readonly ChainEvent[],
): readonly EventMovement[] => {
  const isFeePart = feeTest(runtime, events)
  return events.flatMap((event, logIndex) => {
    if (isFeePart(event, logIndex)) return []
    const values = valuesOf(event)
    const field: Field = (index) => {
      const value = values[index]
      if (value === undefined) throw new MalformedAnswer(`${index + 1} fields of ${nameOf(event)}`)
      return value
    }
    const read = READERS[nameOf(event)]
    const movement =
      read === undefined
        ? vnftTransfer(row, event)
        : read(field, { runtime, nobody: row.nobody, before: events[logIndex - 1] ?? null })
    return movement === null ? [] : [{ ...movement, logIndex, extrinsic: event.extrinsic }]
  })
}
