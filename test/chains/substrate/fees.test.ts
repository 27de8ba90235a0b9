// What of an extrinsic's deposits and withdraws is its fee, and what moves. Events as the runtimes of
// test/chains/substrate's chain specifications emit them.

import { expect, test } from 'bun:test'
import { addressOf } from '../../../src/chains/substrate/address.ts'
import type { ChainEvent, CodecValue } from '../../../src/chains/substrate/events.ts'
import { feeChanges, feesOf, holdingKey } from '../../../src/chains/substrate/fees.ts'
import { transfersOf } from '../../../src/chains/substrate/transfers.ts'
import { polkadot } from '../../../src/platform/networks/polkadot.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { assetHubRuntime } from './metadata.ts'

const row = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })
const runtime = assetHubRuntime()
const account = (fill: number): string => addressOf(row, new Uint8Array(32).fill(fill))
const [HER, HIM, POT, AUTHOR] = [account(1), account(2), account(3), account(4)]
const NONE = polkadot.nobody

/** Only what addresses and amounts are read by. */
const value = (of: string | bigint) => ({ toString: () => String(of) }) as CodecValue

const event =
  (extrinsic: number | null) =>
  (pallet: string, name: string, ...values: readonly (string | bigint)[]): ChainEvent => ({
    ...{ extrinsic, pallet, name },
    fields: new Map(values.map((each, place) => [String(place), value(each)])),
  })
const own = event(1)
const withdraw = (who: string, amount: bigint) => own('Balances', 'Withdraw', who, amount)
const deposit = (who: string, amount: bigint) => own('Balances', 'Deposit', who, amount)
const paid = (who: string, amount: bigint) => own('TransactionPayment', 'TransactionFeePaid', who, amount, 0n)
const done = own('System', 'ExtrinsicSuccess')

const moved = (events: readonly ChainEvent[]) =>
  transfersOf({ runtime, row }, events).map(({ from, to, amount }) => [from, to, amount])
const fees = (events: readonly ChainEvent[]): readonly (readonly unknown[])[] =>
  feesOf(events).map(({ payer, amount, shares }) => [payer, amount, shares.map((share) => [share.who, share.amount])])

test('a burned fee is the withdrawn amount', () => {
  const events = [withdraw(HER, 90n), own('Balances', 'BurnedDebt', 90n), paid(HER, 90n), done]
  expect(fees(events)).toEqual([[HER, 90n, []]])
  expect(moved(events)).toEqual([])
})

test('refunds and shares belong to the fee; deposits of the call do not', () => {
  const events = [
    ...[withdraw(HER, 90n), withdraw(HER, 50n), deposit(HIM, 50n), own('PolkadotXcm', 'Attempted')],
    ...[deposit(HER, 30n), deposit(POT, 48n), own('Balances', 'Endowed', AUTHOR, 12n), deposit(AUTHOR, 12n)],
    ...[paid(HER, 60n), done],
  ]
  const shares = [
    [AUTHOR, 12n],
    [POT, 48n],
  ]
  expect(fees(events)).toEqual([[HER, 60n, shares]])
  expect(moved(events)).toEqual([
    [HER, NONE, 50n],
    [NONE, HIM, 50n],
  ])
})

test('a deposit of the same amount is not part of the fee if another event is in between', () => {
  const swap = [deposit(HIM, 60n), own('AssetConversion', 'SwapExecuted')]
  expect(moved([withdraw(HER, 60n), ...swap, paid(HER, 60n), done])).toEqual([[NONE, HIM, 60n]])
})

test('if another account pays the fee, the withdrawal of the sender is a movement', () => {
  const events = [withdraw(HIM, 9n), withdraw(HER, 70n), paid(HIM, 9n), done]
  expect(fees(events)).toEqual([[HIM, 9n, []]])
  expect(moved(events)).toEqual([[HER, NONE, 70n]])
})

test('an account that is killed gets no refund', () => {
  const gone = own('System', 'KilledAccount', HER)
  const events = [withdraw(HER, 90n), gone, own('Balances', 'Transfer', HER, HIM, 910n), paid(HER, 60n), done]
  expect(fees(events)).toEqual([[HER, 90n, []]])
  expect(moved(events)).toEqual([[HER, HIM, 910n]])
})

test('a free call has no fee', () => {
  expect(moved([withdraw(HER, 70n), paid(HER, 0n), done])).toEqual([[HER, NONE, 70n]])
  // The withdrawal at the start was the fee, and it was refunded in full.
  expect(moved([withdraw(HER, 90n), deposit(HER, 90n), paid(HER, 0n), done])).toEqual([])
})

test('each extrinsic has its own fee, and events outside of extrinsics have none', () => {
  const other = event(2)
  const runs = event(null)
  const events = [
    ...[runs('Balances', 'Deposit', HER, 7n), withdraw(HER, 90n), paid(HER, 90n), done],
    ...[other('Balances', 'Withdraw', HIM, 80n), other('TransactionPayment', 'TransactionFeePaid', HIM, 80n, 0n)],
    runs('Balances', 'Withdraw', HIM, 5n),
  ]
  expect(fees(events)).toEqual([
    [HER, 90n, []],
    [HIM, 80n, []],
  ])
  expect(moved(events)).toEqual([
    [NONE, HER, 7n],
    [HIM, NONE, 5n],
  ])
})

test('coins that are slashed, burned, lost as dust or suspended leave; reserved and held coins stay', () => {
  const events = [
    own('Balances', 'Slashed', HER, 1n),
    own('Balances', 'Burned', HER, 2n),
    own('Balances', 'DustLost', HER, 3n),
    own('Balances', 'Suspended', HER, 4n),
    own('Balances', 'Restored', HER, 5n),
    own('Balances', 'BurnedHeld', 'Preimage', HER, 6n),
    own('Balances', 'TransferOnHold', 'Preimage', HER, HIM, 7n),
    own('Balances', 'TransferAndHold', 'Preimage', HER, HIM, 8n),
    own('Balances', 'ReserveRepatriated', HER, HIM, 9n, 'Free'),
    own('Balances', 'Reserved', HER, 10n),
    own('Balances', 'Unreserved', HER, 11n),
    own('Balances', 'Held', 'Preimage', HER, 12n),
    own('Balances', 'Released', 'Preimage', HER, 13n),
    own('Balances', 'Withdraw', HER, 0n),
    own('Balances', 'Deposit', HER, 0n),
  ]
  expect(moved(events)).toEqual([
    [HER, NONE, 1n],
    [HER, NONE, 2n],
    [HER, NONE, 3n],
    [HER, NONE, 4n],
    [NONE, HER, 5n],
    [HER, NONE, 6n],
    [HER, HIM, 7n],
    [HER, HIM, 8n],
    [HER, HIM, 9n],
  ])
})

test('a balance that governance sets moves by the change of the issuance', () => {
  const set = (name: string, amount: bigint) => [own('Balances', name, amount), own('Balances', 'BalanceSet', HER, 5n)]
  expect(moved([...set('Issued', 50n), ...set('Rescinded', 30n), own('Balances', 'BalanceSet', HER, 5n)])).toEqual([
    [NONE, HER, 50n],
    [HER, NONE, 30n],
  ])
})

test('a fee in an asset is the withdrawal less the refund; movements of the call are reported', () => {
  const [id, other] = [1984n, 7n]
  const asset = (name: string, of: bigint, who: string, amount: bigint) => own('Assets', name, of, who, amount)
  const swapped = own('AssetConversion', 'SwapCreditExecuted', 90n)
  const taken = [asset('Withdrawn', id, HER, 90n), withdraw(POT, 9n), asset('Deposited', id, POT, 90n), swapped]
  const call = [own('Assets', 'Transferred', id, HER, HIM, 5n), asset('Deposited', other, HER, 30n)]
  const back = [deposit(POT, 3n), asset('Withdrawn', id, POT, 30n), swapped, asset('Deposited', id, HER, 30n)]
  const reported = own('AssetTxPayment', 'AssetTxFeePaid', HER, 60n, 0n, 'the Location')
  const events = [...taken, ...call, ...back, deposit(AUTHOR, 6n), reported, done]
  expect(feesOf(events)).toEqual([{ payer: HER, contract: 'asset:1984', amount: 60n, shares: [], indices: [0, 9] }])
  expect(moved(events).filter(([from, to]) => from === HER || to === HER)).toEqual([
    [HER, HIM, 5n],
    [NONE, HER, 30n],
  ])
  expect([...feeChanges(runtime, events)]).toEqual([[holdingKey({ address: HER, contract: 'asset:1984' }), -60n]])
})

test('on a runtime without matching events a fee in an asset is reported as movements', () => {
  const reported = own('AssetTxPayment', 'AssetTxFeePaid', HER, 60n, 0n, 'the Location')
  const swap = own('Assets', 'Transferred', 1984n, HER, POT, 60n)
  expect(feesOf([swap, reported, done])).toEqual([])
  expect(moved([swap, reported, done])).toEqual([[HER, POT, 60n]])
  // More was paid than was withdrawn, so the withdrawal was not for the fee.
  expect(feesOf([own('Assets', 'Withdrawn', 1984n, HER, 50n), reported, done])).toEqual([])
})
