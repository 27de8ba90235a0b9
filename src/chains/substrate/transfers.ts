// Reads movements from events. Fields are read by index, because their names changed between runtimes (class, collection).
//
// - The coin: transfers between accounts; minting, burning, deposits and withdrawals (transfers from and to other chains by XCM,
//   rewards, swaps). Deposits and withdrawals of fees are excluded: see fees.ts. Reserved and held coins stay their owner's.
// - Assets: the same, without fees that are paid in an asset.
// - Standards use the names of the closed list: an asset is erc20, an NFT erc721.

import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, Movement } from '../chain.ts'
import { bytes, hash, isRecord, MalformedAnswer } from '../node/wire.ts'
import { programAddress } from './address.ts'
import { ASSET_CONTRACTS, collectionContract, type NftPallet } from './contracts.ts'
import { type ChainEvent, type CodecValue, nameOf, valuesOf } from './events.ts'
import { feesOf, mayBeFee } from './fees.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { decodePayload, type SailsItem } from './sails.ts'

// Reads movements from the events of VNFT programs on Vara. A Sails event is a message to the actor of zeros. Many programs
// report a mint with the token's metadata but without its id; such a mint gives no movement.
//
// A program may emit any event, as a contract may emit any Transfer on an EVM network. It only affects that program's tokens.

const ACTOR = '[u8;32]'
const ZEROS: Hex = `0x${'00'.repeat(32)}`
/** "Vnft" as text in SCALE. */
const SERVICE_PREFIX = '0x10566e6674'

const event = (name: string, ...types: readonly string[]): SailsItem => ({ service: 'Vnft', name, types })
const TRANSFER = event('Transfer', ACTOR, ACTOR, 'U256')
const TRANSFERRED = event('Transferred', ACTOR, ACTOR, 'U256')
const BURNED = event('Burned', ACTOR, 'U256')
const MINTED = event('Minted', ACTOR, 'U256')
/** Name, description, media and reference. Short texts may take exactly the bytes of an id, so this form is tried first. */
const MINTED_WITH_METADATA = event('Minted', ACTOR, '(Text,Text,Text,Text)')

type Transfer = { readonly from: unknown; readonly to: unknown; readonly tokenId: unknown }

const transferIn = (payload: Hex): Transfer | null => {
  const transfer = decodePayload(TRANSFER, payload) ?? decodePayload(TRANSFERRED, payload)
  if (transfer !== null) return { from: transfer[0], to: transfer[1], tokenId: transfer[2] }
  const burnt = decodePayload(BURNED, payload)
  if (burnt !== null) return { from: burnt[0], to: ZEROS, tokenId: burnt[1] }
  const minted = decodePayload(MINTED_WITH_METADATA, payload) === null ? decodePayload(MINTED, payload) : null
  return minted === null ? null : { from: ZEROS, to: minted[0], tokenId: minted[1] }
}

/** The movement that a VNFT event reports; null for any other event. @param input.message the event's first field. Pure. */
const vnftTransfer = (
  row: SubstrateNetworkRow,
  input: { readonly pallet: string; readonly name: string; readonly message: CodecValue | undefined },
): Movement | null => {
  if (input.pallet !== 'Gear' || input.name !== 'UserMessageSent') return null
  const message = input.message?.toJSON()
  if (!isRecord(message) || message.destination !== ZEROS) return null
  const payload = bytes(message.payload)
  const transfer = payload.startsWith(SERVICE_PREFIX) ? transferIn(payload) : null
  if (transfer === null) return null
  const account = (actor: unknown) => programAddress(row, hash(actor))
  return {
    standard: 'erc721',
    contract: hash(message.source),
    tokenId: BigInt(String(transfer.tokenId)),
    from: account(transfer.from),
    to: account(transfer.to),
    amount: 1n,
  }
}

/** A movement, with the event's index in the block. `extrinsic`: the extrinsic's index; null for an event outside of any. */
export type EventMovement = Movement & { readonly logIndex: number; readonly extrinsic: number | null }

/** Returns a field by its index. */
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
/** The indices of the fields. Without an index `from` or `to` is nobody, and the amount is 1. */
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

/** The readers for an instance of pallet_assets. */
const assetsOf = ([pallet, contractOf]: [string, (id: CodecValue) => string]): Readonly<Record<string, Reader>> => {
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

const ASSETS: Readonly<Record<string, Reader>> = Object.assign({}, ...Object.entries(ASSET_CONTRACTS).map(assetsOf))

/** The readers for Nfts or Uniques. */
const itemsOf = (events: 'Nfts' | 'Uniques', pallet: NftPallet): Readonly<Record<string, Reader>> => {
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

const READERS = { ...COINS, ...ASSETS, ...itemsOf('Nfts', 'nfts'), ...itemsOf('Uniques', 'uniques') }

/** On a runtime that does not report fees, any deposit or withdrawal of an extrinsic may be a fee, so all are excluded. */
const isFee = ({ reportsFees }: Pick<Runtime, 'reportsFees'>, events: readonly ChainEvent[]) => {
  if (!reportsFees) return mayBeFee
  const indices = new Set(feesOf(events).flatMap((fee) => fee.indices))
  return (_: ChainEvent, index: number): boolean => indices.has(index)
}

/** The movements of a block, in the order of its events. @throws MalformedAnswer for an event that lacks a field. Pure. */
export const transfersOf = (
  { runtime, row }: { readonly runtime: Pick<Runtime, 'storage' | 'reportsFees'>; readonly row: SubstrateNode['row'] },
  events: readonly ChainEvent[],
): readonly EventMovement[] => {
  const isOfFee = isFee(runtime, events)
  return events.flatMap((event, logIndex) => {
    const { pallet, name, extrinsic } = event
    if (isOfFee(event, logIndex)) return []
    const values = valuesOf(event)
    const field: Field = (index) => {
      const value = values[index]
      if (value === undefined) throw new MalformedAnswer(`${index + 1} fields of ${pallet}.${name}`)
      return value
    }
    const read = READERS[`${pallet}.${name}`]
    const movement =
      read === undefined
        ? vnftTransfer(row, { pallet, name, message: values[0] })
        : read(field, { runtime, nobody: row.nobody, before: events[logIndex - 1] ?? null })
    return movement === null ? [] : [{ ...movement, logIndex, extrinsic }]
  })
}
