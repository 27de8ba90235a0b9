// What of an extrinsic's deposits and withdraws is its fee, and what moves. Events as the runtimes of test/chains/substrate's
// chain specifications emit them.

import { expect, test } from 'bun:test'
import { polkadot } from '../../../src/chains/networks/polkadot.ts'
import { substrateNetworkRow } from '../../../src/chains/networks.ts'
import { addressOf } from '../../../src/chains/substrate/address.ts'
import type { ChainEvent, CodecValue } from '../../../src/chains/substrate/events.ts'
import { feeChanges, feesOf, holdingKey } from '../../../src/chains/substrate/fees.ts'
import { transfersOf } from '../../../src/chains/substrate/transfers.ts'
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

test('a fee that is burned is what was withdrawn', () => {
  const events = [withdraw(HER, 90n), own('Balances', 'BurnedDebt', 90n), paid(HER, 90n), done]
  expect(fees(events)).toEqual([[HER, 90n, []]])
  expect(moved(events)).toEqual([])
})

test('what comes back, and who gets the fee, belongs to it; what the call deposits does not', () => {
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

test('a deposit of as much as a fee is no part of it where the runtime says something in between', () => {
  const swap = [deposit(HIM, 60n), own('AssetConversion', 'SwapExecuted')]
  expect(moved([withdraw(HER, 60n), ...swap, paid(HER, 60n), done])).toEqual([[NONE, HIM, 60n]])
})

test('a fee that somebody else pays leaves what the sender withdraws', () => {
  const events = [withdraw(HIM, 9n), withdraw(HER, 70n), paid(HIM, 9n), done]
  expect(fees(events)).toEqual([[HIM, 9n, []]])
  expect(moved(events)).toEqual([[HER, NONE, 70n]])
})

test('of an account that is gone at the end nothing comes back', () => {
  const gone = own('System', 'KilledAccount', HER)
  const events = [withdraw(HER, 90n), gone, own('Balances', 'Transfer', HER, HIM, 910n), paid(HER, 60n), done]
  expect(fees(events)).toEqual([[HER, 90n, []]])
  expect(moved(events)).toEqual([[HER, HIM, 910n]])
})

test('a call that is free withdraws no fee', () => {
  expect(moved([withdraw(HER, 70n), paid(HER, 0n), done])).toEqual([[HER, NONE, 70n]])
  // What is taken first and given back whole was its fee.
  expect(moved([withdraw(HER, 90n), deposit(HER, 90n), paid(HER, 0n), done])).toEqual([])
})

test('each extrinsic has a fee of its own, and what the runtime does by itself has none', () => {
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

test('coins that are slashed, burned, lost as dust or put away are gone; what is reserved or held is still there', () => {
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

test('a balance that governance sets moves by what the issuance changed by', () => {
  const set = (name: string, amount: bigint) => [own('Balances', name, amount), own('Balances', 'BalanceSet', HER, 5n)]
  expect(moved([...set('Issued', 50n), ...set('Rescinded', 30n), own('Balances', 'BalanceSet', HER, 5n)])).toEqual([
    [NONE, HER, 50n],
    [HER, NONE, 30n],
  ])
})

test('a fee that is paid in an asset is what was taken of it, less what came back; what the call moves of it is told', () => {
  const [id, other] = [1984n, 7n]
  const asset = (name: string, of: bigint, who: string, amount: bigint) => own('Assets', name, of, who, amount)
  const swapped = own('AssetConversion', 'SwapCreditExecuted', 90n)
  const taken = [asset('Withdrawn', id, HER, 90n), withdraw(POT, 9n), asset('Deposited', id, POT, 90n), swapped]
  const call = [own('Assets', 'Transferred', id, HER, HIM, 5n), asset('Deposited', other, HER, 30n)]
  const back = [deposit(POT, 3n), asset('Withdrawn', id, POT, 30n), swapped, asset('Deposited', id, HER, 30n)]
  const told = own('AssetTxPayment', 'AssetTxFeePaid', HER, 60n, 0n, 'the Location')
  const events = [...taken, ...call, ...back, deposit(AUTHOR, 6n), told, done]
  expect(feesOf(events)).toEqual([{ payer: HER, contract: 'asset:1984', amount: 60n, shares: [], places: [0, 9] }])
  expect(moved(events).filter(([from, to]) => from === HER || to === HER)).toEqual([
    [HER, HIM, 5n],
    [NONE, HER, 30n],
  ])
  expect([...feeChanges(runtime, events)]).toEqual([[holdingKey({ address: HER, contract: 'asset:1984' }), -60n]])
})

test('what the runtime does not say of a fee in an asset is told as it moved', () => {
  const told = own('AssetTxPayment', 'AssetTxFeePaid', HER, 60n, 0n, 'the Location')
  const swap = own('Assets', 'Transferred', 1984n, HER, POT, 60n)
  expect(feesOf([swap, told, done])).toEqual([])
  expect(moved([swap, told, done])).toEqual([[HER, POT, 60n]])
  // More came back than was taken: it was taken for something else.
  expect(feesOf([own('Assets', 'Withdrawn', 1984n, HER, 50n), told, done])).toEqual([])
})
