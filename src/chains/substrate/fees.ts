// Finds the fees in a block's events. For each extrinsic the runtime
// - withdraws the most that it may cost (Withdraw),
// - refunds what it did not cost (Deposit),
// - pays the fee to its receivers (Deposit; none if the fee is burned), and
// - reports who paid how much: TransactionPayment.TransactionFeePaid.
// All other deposits and withdrawals move coins. Dry runs and calls that the runtime makes by itself pay no fee.
//
// A fee in an asset is withdrawn from the payer (Withdrawn) and partly refunded (Deposited) in that asset, and reported
// by AssetTxPayment.AssetTxFeePaid. The swap in the pool counts as movements of the pool. Runtimes of 2023 and 2024
// swap by transfers between payer and pool; these are reported as transfers.

import { ASSET_CONTRACTS } from './contracts.ts'
import { type ChainEvent, nameOf, valuesOf } from './events.ts'
import { palletOf, type Runtime } from './runtime.ts'

/** Amounts in base units. `amount` is what the payer paid, with the tip. */
type Fee = {
  readonly payer: string
  /** The asset; null for the coin. */
  readonly contract: string | null
  readonly amount: bigint
  /** Who received parts of it. */
  readonly shares: readonly { readonly who: string; readonly amount: bigint }[]
  /** The indices of its deposits and withdrawals among the block's events. */
  readonly indices: readonly number[]
}

type Amount = {
  readonly index: number
  readonly contract: string | null
  readonly who: string
  readonly amount: bigint
}

/** The events that report a fee, and the names of the events that take it from the payer and give a part of it back. */
const FEE_EVENTS: Readonly<Record<string, { readonly taken: string; readonly given: string } | undefined>> = {
  'TransactionPayment.TransactionFeePaid': { taken: 'Withdraw', given: 'Deposit' },
  'AssetTxPayment.AssetTxFeePaid': { taken: 'Withdrawn', given: 'Deposited' },
}

/** Events that may stand between the deposits of one fee. */
const WITH_DEPOSIT: ReadonlySet<string> = new Set([
  'Balances.Endowed',
  'Balances.Issued',
  'Balances.Rescinded',
  'Balances.Upgraded',
  'Balances.MintedCredit',
  'Balances.BurnedDebt',
  'System.NewAccount',
  'Treasury.Deposit',
])

const amountAt = (events: readonly ChainEvent[], index: number, name: string): Amount | null => {
  const event = events[index]
  if (event === undefined || event.name !== name) return null
  const contractOf = ASSET_CONTRACTS[event.pallet]
  if (event.pallet !== 'Balances' && contractOf === undefined) return null
  const values = valuesOf(event)
  const contract = contractOf === undefined || values[0] === undefined ? null : contractOf(values[0])
  const [who, amount] = contractOf === undefined ? values : values.slice(1)
  if (who === undefined || amount === undefined) return null
  return { index, contract, who: String(who), amount: BigInt(String(amount)) }
}

/** Collects the deposits before the event of the fee, until the amount is used up or another kind of event comes. */
const sharesBefore = (
  events: readonly ChainEvent[],
  paid: { readonly index: number; readonly payer: string; readonly amount: bigint; readonly after: number },
): readonly Amount[] => {
  const shares: Amount[] = []
  let left = paid.amount
  for (let index = paid.index - 1; index > paid.after; index -= 1) {
    const share = amountAt(events, index, 'Deposit')
    if (share?.contract === null && share.who !== paid.payer && share.amount <= left) {
      shares.push(share)
      left -= share.amount
      continue
    }
    const event = events[index]
    if (event === undefined || !WITH_DEPOSIT.has(nameOf(event))) break
  }
  return shares
}

const isKilled = (event: ChainEvent, who: string): boolean =>
  nameOf(event) === 'System.KilledAccount' && String(valuesOf(event)[0]) === who

/** The fee that an event reports; null also if no events say that it was taken and partly given back. */
const feeAt = (events: readonly ChainEvent[], index: number): Fee | null => {
  const event = events[index]
  const names = event === undefined ? undefined : FEE_EVENTS[nameOf(event)]
  if (event === undefined || names === undefined) return null
  const [payer, actual] = valuesOf(event).map(String)
  if (payer === undefined || actual === undefined) return null
  const first = events.findIndex(({ extrinsic }) => extrinsic === event.extrinsic)
  const before = events.slice(first, index)
  const byPayer = (name: string) =>
    before.flatMap((_, offset) => amountAt(events, first + offset, name) ?? []).filter(({ who }) => who === payer)
  const isCoin = names.given === 'Deposit'
  // A fee in an asset is withdrawn before the call runs, so it is the extrinsic's first event.
  const taken = byPayer(names.taken).find((each) => isCoin || each.index === first)
  const back = (taken?.amount ?? 0n) - BigInt(actual)
  if (taken === undefined || back < 0n) return null
  const refund = byPayer(names.given).findLast((each) => each.contract === taken.contract && each.amount === back)
  const refunds = back > 0n && refund !== undefined ? [refund] : []
  // An account that was killed gets no refund. Otherwise a missing refund means that the withdrawal was not for a fee.
  const mayLackRefund = back === 0n || (isCoin && before.some((each) => isKilled(each, payer)))
  if (refunds.length === 0 && !mayLackRefund) return null
  const amount = taken.amount - (refunds[0]?.amount ?? 0n)
  const after = refunds[0]?.index ?? taken.index
  const shares = isCoin ? sharesBefore(events, { index, payer, amount, after }) : []
  const indices = [taken, ...refunds, ...shares].map((part) => part.index)
  return { payer, contract: taken.contract, amount, shares, indices }
}

export const feesOf = (events: readonly ChainEvent[]): readonly Fee[] =>
  events.flatMap((_, index) => feeAt(events, index) ?? [])

/** Whether a runtime takes fees in assets without an event for them, as those before 2023 do. Pure. */
export const hidesAssetFees = (runtime: Pick<Runtime, 'form' | 'metadata'>): boolean =>
  runtime.form.extra.includes('fee_asset') && palletOf(runtime, 'AssetTxPayment')?.events.isSome !== true

/** Whether an event may be a part of a fee, on a runtime that does not report fees. Pure. */
export const mayBeFee = (event: ChainEvent): boolean =>
  event.extrinsic !== null && (nameOf(event) === 'Balances.Deposit' || nameOf(event) === 'Balances.Withdraw')

/** An account and an asset; `contract` is null for the coin. */
export type Holding = { readonly address: string; readonly contract: string | null }

export const holdingKey = ({ address, contract }: Holding): string => `${address} ${contract ?? ''}`

export const feeChanges = (
  { reportsFees }: Pick<Runtime, 'reportsFees'>,
  events: readonly ChainEvent[],
): ReadonlyMap<string, bigint> => {
  const changes = new Map<string, bigint>()
  const change = (address: string, amount: bigint, contract: string | null = null) => {
    const key = holdingKey({ address, contract })
    changes.set(key, (changes.get(key) ?? 0n) + amount)
  }
  if (reportsFees) {
    for (const { payer, contract, amount, shares } of feesOf(events)) {
      change(payer, -amount, contract)
      for (const share of shares) change(share.who, share.amount)
    }
    return changes
  }
  for (const [index, event] of events.entries()) {
    if (!mayBeFee(event)) continue
    const given = amountAt(events, index, 'Deposit')
    const taken = amountAt(events, index, 'Withdraw')
    if (given !== null) change(given.who, given.amount)
    if (taken !== null) change(taken.who, -taken.amount)
  }
  return changes
}
