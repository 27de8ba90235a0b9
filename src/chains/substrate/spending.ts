// Computes what a call takes from its signer besides the fee: what the signer must have for the call to succeed, and
// the most that the call may take. Metadata does not say it, so this file lists well-known calls. For every other call
// the most is not known (null).

import type { Hex } from '../chain.ts'
import { existentialDeposit } from './account.ts'
import { type CallTree, treeOf } from './codec.ts'
import { constantOf, type Runtime } from './runtime.ts'
import { littleEndian } from './scale.ts'
import { fieldOf, integerIn, itemsOf, type Value } from './values.ts'

/** In planck. `most` is null if it is not known, and 'all' if the call may take the signer's whole balance. */
export type Spending = { readonly needed: bigint; readonly most: bigint | 'all' | null }

const NOTHING: Spending = { needed: 0n, most: 0n }
const NOT_KNOWN: Spending = { needed: 0n, most: null }
const ALL: Spending = { needed: 0n, most: 'all' }

const exactly = (amount: bigint): Spending => ({ needed: amount, most: amount })

/** The sum of both. Not known (null) wins over 'all'. */
const both = (one: Spending, other: Spending): Spending => {
  const needed = one.needed + other.needed
  if (one.most === null || other.most === null) return { needed, most: null }
  if (one.most === 'all' || other.most === 'all') return { needed, most: 'all' }
  return { needed, most: one.most + other.most }
}

const bytesIn = (value: Value, name: string): bigint => {
  const data = fieldOf(value, name)
  return data.kind === 'bytes' ? BigInt((data.value.length - 2) / 2) : 0n
}

const VALUE_PER_GAS_TAG = 0

/** The price of a unit of gas (the variant GearBank.GasMultiplier). Unused gas is refunded. */
const planckPerGas = ({ constants }: Runtime): bigint => {
  const [tag, ...value] = constants.gearBank?.gasMultiplier?.toU8a() ?? []
  return tag === VALUE_PER_GAS_TAG ? littleEndian(Uint8Array.from(value)) : 0n
}

type Counting = { readonly runtime: Runtime; readonly call: CallTree; readonly pallet: string }
type Count = (counting: Counting) => Spending

const nothing: Count = () => NOTHING

const takingNothing = (...calls: readonly string[]): Readonly<Record<string, Count>> =>
  Object.fromEntries(calls.map((name) => [name, nothing]))

const field =
  (name: string): Count =>
  ({ call }) =>
    exactly(integerIn(call, name))

/** The sum of constants of the pallet, each times a count; not known if one is missing. `a|b`: two names of one. */
const depositOf =
  (timesByName: Readonly<Record<string, (call: CallTree) => bigint>>): Count =>
  ({ runtime, call, pallet }) => {
    let sum = 0n
    for (const [names, times] of Object.entries(timesByName)) {
      const constants = names.split('|').map((name) => constantOf(runtime, pallet, name))
      const amount = constants.find((each) => each !== null)
      if (amount === undefined) return NOT_KNOWN
      sum += amount * times(call)
    }
    return exactly(sum)
  }

const once = () => 1n

const deposit = (...names: readonly string[]): Count => depositOf(Object.fromEntries(names.map((name) => [name, once])))

const perByte = (base: string, each: string, ...fields: readonly string[]): Count =>
  depositOf({ [base]: once, [each]: (call) => fields.reduce((sum, name) => sum + bytesIn(call, name), 0n) })

/** The pallet may take less: the deposit may already have been made, or the balance may be less than the amount. */
const atMost =
  (count: Count): Count =>
  (counting) => ({ ...count(counting), needed: 0n })

/** The value and gas of a message. A new program also gets the existential deposit. */
const message = ({ runtime, call }: Counting): Spending =>
  exactly(integerIn(call, 'value') + integerIn(call, 'gas_limit') * planckPerGas(runtime))
const program: Count = (counting) => both(message(counting), exactly(existentialDeposit(counting.runtime)))

const prepaidIn = (call: CallTree): Value => {
  const inner = fieldOf(call, 'call')
  return inner.kind === 'variant' ? inner.content : { kind: 'nothing' }
}

const multisig: Count = atMost(depositOf({ depositBase: once, depositFactor: (call) => integerIn(call, 'threshold') }))

const innerCalls = ({ fields }: CallTree): readonly CallTree[] =>
  fields
    .flatMap(({ value }) => (value.kind === 'list' ? value.items : [value]))
    .flatMap((value) => (value.kind === 'call' ? [value] : []))

const inside: Count = ({ runtime, call }) =>
  innerCalls(call).reduce((sum, inner) => both(sum, spentByOne(runtime, inner)), NOTHING)

const NFTS: Readonly<Record<string, Count>> = {
  create: deposit('collectionDeposit|classDeposit'),
  mint: (counting) => {
    const price = integerIn(fieldOf(counting.call, 'witness_data'), 'mint_price')
    return both(deposit('itemDeposit|instanceDeposit')(counting), exactly(price))
  },
  set_metadata: perByte('metadataDepositBase', 'depositPerByte', 'data'),
  set_collection_metadata: perByte('metadataDepositBase', 'depositPerByte', 'data'),
  set_class_metadata: perByte('metadataDepositBase', 'depositPerByte', 'data'),
  set_attribute: perByte('attributeDepositBase', 'depositPerByte', 'key', 'value'),
  buy_item: field('bid_price'),
  ...takingNothing('transfer', 'burn', 'approve_transfer', 'set_price'),
}

const ASSETS: Readonly<Record<string, Count>> = {
  create: deposit('assetDeposit'),
  set_metadata: perByte('metadataDepositBase', 'metadataDepositPerByte', 'name', 'symbol'),
  approve_transfer: atMost(deposit('approvalDeposit')),
  touch: deposit('assetAccountDeposit'),
  ...takingNothing('transfer', 'transfer_keep_alive', 'transfer_approved', 'mint', 'burn'),
}

/** By pallet and call. What an inner call takes from another account than the signer is not counted. */
const COUNTS: Readonly<Record<string, Readonly<Record<string, Count>>>> = {
  system: takingNothing('remark', 'remark_with_event'),
  balances: {
    transfer: field('value'),
    transfer_allow_death: field('value'),
    transfer_keep_alive: field('value'),
    transfer_all: () => ALL,
    burn: field('value'),
  },
  gear: {
    send_message: message,
    send_reply: message,
    upload_program: program,
    create_program: program,
    ...takingNothing('upload_code', 'claim_value'),
  },
  gear_voucher: {
    issue: field('balance'),
    update: field('balance_top_up'),
    // The voucher pays for the gas, and the signer pays the value of the message.
    call: ({ call }) => exactly(integerIn(prepaidIn(call), 'value')),
    ...takingNothing('revoke', 'decline'),
  },
  staking: {
    bond: atMost(field('value')),
    bond_extra: atMost(field('max_additional')),
    ...takingNothing('unbond', 'rebond', 'withdraw_unbonded', 'nominate', 'chill', 'validate', 'set_payee'),
    payout_stakers: nothing,
  },
  staking_rewards: { refill: field('value') },
  nomination_pools: { join: field('amount'), ...takingNothing('unbond', 'claim_payout', 'withdraw_unbonded') },
  vesting: {
    vested_transfer: ({ call }) => exactly(integerIn(fieldOf(call, 'schedule'), 'locked')),
    ...takingNothing('vest', 'vest_other'),
  },
  // The multisig account pays for the inner call.
  multisig: {
    as_multi: multisig,
    approve_as_multi: multisig,
    ...takingNothing('as_multi_threshold_1', 'cancel_as_multi'),
  },
  proxy: {
    add_proxy: atMost(deposit('proxyDepositBase', 'proxyDepositFactor')),
    create_pure: deposit('proxyDepositBase', 'proxyDepositFactor'),
    announce: atMost(deposit('announcementDepositBase', 'announcementDepositFactor')),
    ...takingNothing('proxy', 'proxy_announced', 'remove_proxy', 'remove_proxies'),
  },
  utility: { batch: inside, batch_all: inside, force_batch: inside, if_else: inside, as_derivative: nothing },
  identity: {
    set_subs: atMost(depositOf({ subAccountDeposit: (call) => BigInt(itemsOf(fieldOf(call, 'subs')).length) })),
    add_sub: atMost(deposit('subAccountDeposit')),
    request_judgement: field('max_fee'),
    clear_identity: nothing,
  },
  indices: { claim: deposit('deposit') },
  session: { set_keys: atMost(deposit('keyDeposit')), purge_keys: nothing },
  referenda: { submit: deposit('submissionDeposit') },
  nfts: NFTS,
  uniques: NFTS,
  assets: ASSETS,
  foreign_assets: ASSETS,
  pool_assets: ASSETS,
}

/** Constants are looked up by the pallet's name in camel case. */
const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

const spentByOne = (runtime: Runtime, call: CallTree): Spending => {
  const [pallet = '', name = ''] = call.functionName.split('.')
  const count = COUNTS[pallet]?.[name]
  return count === undefined ? NOT_KNOWN : count({ runtime, call, pallet: camelCase(pallet) })
}

const gasIn = (runtime: Runtime, call: CallTree): bigint => {
  const own = call.functionName.startsWith('gear.') ? integerIn(call, 'gas_limit') * planckPerGas(runtime) : 0n
  return innerCalls(call).reduce((sum, inner) => sum + gasIn(runtime, inner), own)
}

/** The price of the gas of all messages in a call and its inner calls, in planck, also of what a voucher pays. Pure. */
export const gasPaidBy = (runtime: Runtime, call: Hex): bigint => {
  const tree = treeOf(runtime, call)
  return tree === null ? 0n : gasIn(runtime, tree)
}

/** The price of the gas that a voucher pays, in planck; 0 for a call without a voucher. Pure. */
export const gasOnVoucher = (runtime: Runtime, call: Hex): bigint => {
  const tree = treeOf(runtime, call)
  if (tree?.functionName !== 'gear_voucher.call') return 0n
  return integerIn(prepaidIn(tree), 'gas_limit') * planckPerGas(runtime)
}

export const spentBy = (runtime: Runtime, call: Hex): Spending => {
  const tree = treeOf(runtime, call)
  return tree === null ? NOT_KNOWN : spentByOne(runtime, tree)
}
