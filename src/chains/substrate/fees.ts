// Finds the fees in a block's events. For each extrinsic the runtime
// - withdraws the most that it may cost (Withdraw),
// - refunds what it did not cost (Deposit),
// - pays the fee to its receivers (Deposit; none if the fee is burned), and
// - reports who paid how much: TransactionPayment.TransactionFeePaid.
// All other deposits and withdrawals move coins. Dry runs and calls that the runtime makes by itself pay no fee.
//
// A fee in an asset is withdrawn from the payer (Withdrawn) and partly refunded (Deposited) in that asset, and reported by
// AssetTxPayment.AssetTxFeePaid. The swap in the pool counts as movements of the pool. Runtimes of 2023 and 2024 swap by
// transfers between payer and pool; these are reported as transfers.

import { ASSET_CONTRACTS } from './contracts.ts'
import type { ChainEvent, CodecValue } from './events.ts'
import type { Runtime } from './runtime.ts'

/** Amounts in base units. `amount` is what the payer paid, with the tip. */
type Fee = {
  readonly payer: string
  /** The asset; null for the coin. */
  readonly contract: string | null
  readonly amount: bigint
  /** Who received parts of it. */
  readonly shares: readonly { readonly who: string; readonly amount: bigint }[]
  /** The indices of its deposits and withdrawals among the block's events. */
  readonly places: readonly number[]
}

type Amount = { readonly place: number; readonly who: string; readonly amount: bigint }

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

const nameOf = ({ pallet, name }: ChainEvent): string => `${pallet}.${name}`

const valuesOf = ({ fields }: ChainEvent): readonly CodecValue[] => [...fields.values()]

const amountAt = (events: readonly ChainEvent[], place: number, name: string): Amount | null => {
  const event = events[place]
  if (event === undefined || nameOf(event) !== name) return null
  const [who, amount] = valuesOf(event)
  return who === undefined || amount === undefined ? null : { place, who: String(who), amount: BigInt(String(amount)) }
}

/** Goes back from the event of the fee: collects deposits until the amount is used up or another kind of event is met. */
const sharesBefore = (
  events: readonly ChainEvent[],
  paid: { readonly place: number; readonly payer: string; readonly amount: bigint; readonly after: number },
): readonly Amount[] => {
  const shares: Amount[] = []
  let left = paid.amount
  for (let place = paid.place - 1; place > paid.after; place -= 1) {
    const share = amountAt(events, place, 'Balances.Deposit')
    if (share !== null && share.who !== paid.payer && share.amount <= left) {
      shares.push(share)
      left -= share.amount
      continue
    }
    const event = events[place]
    if (event === undefined || !WITH_DEPOSIT.has(nameOf(event))) break
  }
  return shares
}

const isEnd = (event: ChainEvent | undefined, who: string): boolean =>
  event !== undefined && nameOf(event) === 'System.KilledAccount' && String(valuesOf(event)[0]) === who

const coinFeeAt = (events: readonly ChainEvent[], place: number): Fee | null => {
  const event = events[place]
  if (event === undefined || nameOf(event) !== 'TransactionPayment.TransactionFeePaid') return null
  const [who, actual] = valuesOf(event).map(String)
  if (who === undefined || actual === undefined) return null
  const first = events.findIndex(({ extrinsic }) => extrinsic === event.extrinsic)
  const between = Array.from({ length: place - first }, (_, index) => first + index)
  const byPayer = (name: string) =>
    between.flatMap((each) => amountAt(events, each, name) ?? []).filter((each) => each.who === who)
  const taken = byPayer('Balances.Withdraw')[0]
  const back = (taken?.amount ?? 0n) - BigInt(actual)
  if (taken === undefined || back < 0n) return null
  const refund = back > 0n ? byPayer('Balances.Deposit').findLast(({ amount }) => amount === back) : undefined
  // An account that was killed gets no refund. Otherwise a missing refund means that the withdrawal was not for a fee.
  if (back > 0n && refund === undefined && !between.some((each) => isEnd(events[each], who))) return null
  const amount = taken.amount - (refund?.amount ?? 0n)
  const shares = sharesBefore(events, { place, payer: who, amount, after: refund?.place ?? taken.place })
  const parts = [taken, ...(refund === undefined ? [] : [refund]), ...shares]
  return { payer: who, contract: null, amount, shares, places: parts.map((part) => part.place) }
}

type AssetAmount = Amount & { readonly contract: string }

const assetAmountAt = (events: readonly ChainEvent[], place: number, name: string): AssetAmount | null => {
  const event = events[place]
  const contractOf = event === undefined ? undefined : ASSET_CONTRACTS[event.pallet]
  if (event === undefined || contractOf === undefined || event.name !== name) return null
  const [id, who, amount] = valuesOf(event)
  if (id === undefined || who === undefined || amount === undefined) return null
  return { place, contract: contractOf(id), who: String(who), amount: BigInt(String(amount)) }
}

/** null also if the runtime emits no events for taking and refunding the asset. */
const assetFeeAt = (events: readonly ChainEvent[], place: number): Fee | null => {
  const event = events[place]
  if (event === undefined || nameOf(event) !== 'AssetTxPayment.AssetTxFeePaid') return null
  const [who, actual] = valuesOf(event).map(String)
  if (who === undefined || actual === undefined) return null
  // The fee is withdrawn before the call runs, so it is the extrinsic's first event.
  const taken = assetAmountAt(
    events,
    events.findIndex(({ extrinsic }) => extrinsic === event.extrinsic),
    'Withdrawn',
  )
  const back = (taken?.amount ?? 0n) - BigInt(actual)
  if (taken === null || taken.who !== who || back < 0n) return null
  const given = Array.from({ length: place - taken.place }, (_, index) =>
    assetAmountAt(events, taken.place + index, 'Deposited'),
  )
  const refund = given.findLast(
    (each) => each !== null && each.who === who && each.contract === taken.contract && each.amount === back,
  )
  if (back > 0n && refund == null) return null
  const places = [taken.place, ...(back > 0n && refund != null ? [refund.place] : [])]
  return { payer: who, contract: taken.contract, amount: BigInt(actual), shares: [], places }
}

/** The fees in the events of a block. Pure. */
export const feesOf = (events: readonly ChainEvent[]): readonly Fee[] =>
  events.flatMap((_, place) => coinFeeAt(events, place) ?? assetFeeAt(events, place) ?? [])

const tellers = new WeakMap<Runtime['metadata'], boolean>()

/** Whether a runtime has an event that reports fees; those before 2022 do not. Pure. */
export const tellsFees = ({ metadata }: Pick<Runtime, 'metadata'>): boolean => {
  const known = tellers.get(metadata)
  if (known !== undefined) return known
  const pallet = metadata.asLatest.pallets.find(({ name }) => name.toString() === 'TransactionPayment')
  const tells = pallet?.events.isSome === true
  tellers.set(metadata, tells)
  return tells
}

/** Whether a runtime takes fees in assets without an event for them, as those before 2023 do. Pure. */
export const hidesAssetFees = ({ form, metadata }: Pick<Runtime, 'form' | 'metadata'>): boolean => {
  const pallet = metadata.asLatest.pallets.find(({ name }) => name.toString() === 'AssetTxPayment')
  return form.extra.includes('fee_asset') && pallet?.events.isSome !== true
}

/** Whether an event may be a part of a fee, on a runtime that does not report fees. Pure. */
export const mayBeFee = (event: ChainEvent): boolean =>
  event.extrinsic !== null && (nameOf(event) === 'Balances.Deposit' || nameOf(event) === 'Balances.Withdraw')

/** An account and an asset; `contract` is null for the coin. */
export type Holding = { readonly address: string; readonly contract: string | null }

/** The key of a holding in a map. Pure. */
export const holdingKey = ({ address, contract }: Holding): string => `${address} ${contract ?? ''}`

/** How much the fees of a block change balances, by holdingKey. Pure. */
export const feeChanges = (
  runtime: Pick<Runtime, 'metadata'>,
  events: readonly ChainEvent[],
): ReadonlyMap<string, bigint> => {
  const changes = new Map<string, bigint>()
  const change = (address: string, amount: bigint, contract: string | null = null) => {
    const key = holdingKey({ address, contract })
    changes.set(key, (changes.get(key) ?? 0n) + amount)
  }
  if (tellsFees(runtime)) {
    for (const { payer, contract, amount, shares } of feesOf(events)) {
      change(payer, -amount, contract)
      for (const share of shares) change(share.who, share.amount)
    }
    return changes
  }
  for (const [place, event] of events.entries()) {
    if (!mayBeFee(event)) continue
    const given = amountAt(events, place, 'Balances.Deposit')
    const taken = amountAt(events, place, 'Balances.Withdraw')
    if (given !== null) change(given.who, given.amount)
    if (taken !== null) change(taken.who, -taken.amount)
  }
  return changes
}
