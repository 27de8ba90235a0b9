// Computes what a call takes from its signer besides the fee: transfers, stakes, deposits, and the gas of messages. There are
// two amounts: what the signer must have for the call to succeed, and the most that the call may take. Metadata does not say
// what a call takes, so this file lists well-known calls. For every other call the most is not known (null).

import type { Hex } from '../chain.ts'
import { existentialDeposit } from './account.ts'
import { type CallTree, treeOf } from './decode.ts'
import { toHex } from './extrinsic.ts'
import type { Runtime } from './runtime.ts'
import { littleEndian } from './storage.ts'
import { fieldOf, type Value } from './values.ts'

/** In planck. `most` is null if it is not known, and 'all' if the call may take the signer's whole balance. */
export type Spending = { readonly needed: bigint; readonly most: bigint | 'all' | null }

const NOTHING: Spending = { needed: 0n, most: 0n }
const NOT_KNOWN: Spending = { needed: 0n, most: null }
const ALL: Spending = { needed: 0n, most: 'all' }

const exactly = (amount: bigint): Spending => ({ needed: amount, most: amount })
const upTo = (most: bigint): Spending => ({ needed: 0n, most })

/** The sum of both. Not known (null) wins over 'all'. */
const both = (one: Spending, other: Spending): Spending => {
  const needed = one.needed + other.needed
  if (one.most === null || other.most === null) return { needed, most: null }
  if (one.most === 'all' || other.most === 'all') return { needed, most: 'all' }
  return { needed, most: one.most + other.most }
}

const amountIn = (value: Value, name: string): bigint => {
  const amount = fieldOf(value, name)
  return amount.kind === 'integer' ? amount.value : 0n
}

const bytesIn = (value: Value, name: string): bigint => {
  const data = fieldOf(value, name)
  return data.kind === 'bytes' ? BigInt((data.value.length - 2) / 2) : 0n
}

const countIn = (value: Value, name: string): bigint => {
  const list = fieldOf(value, name)
  return list.kind === 'list' ? BigInt(list.items.length) : 0n
}

/** A constant of the runtime in planck, under any of its names; null if there is none. */
const constant = ({ constants }: Runtime, pallet: string, ...names: readonly string[]): bigint | null => {
  const found = names.map((name) => constants[pallet]?.[name]).find((each) => each !== undefined)
  return found === undefined ? null : littleEndian(toHex(found.toU8a()))
}

const VALUE_PER_GAS_TAG = 0

/** The price of a unit of gas (the variant GearBank.GasMultiplier). Unused gas is refunded. */
const planckPerGas = ({ constants }: Runtime): bigint => {
  const [tag, ...value] = constants.gearBank?.gasMultiplier?.toU8a() ?? []
  return tag === VALUE_PER_GAS_TAG ? littleEndian(toHex(Uint8Array.from(value))) : 0n
}

/** Computes a spending from constants of a pallet; not known if one of them is missing. `a|b` is a constant with two names. */
const deposits = (
  runtime: Runtime,
  pallet: string,
  names: readonly string[],
  of: (each: bigint[]) => Spending,
): Spending => {
  const amounts = names.map((name) => constant(runtime, pallet, ...name.split('|')))
  return amounts.some((each) => each === null) ? NOT_KNOWN : of(amounts.map((each) => each ?? 0n))
}

type Counting = { readonly runtime: Runtime; readonly call: CallTree; readonly pallet: string }
type Count = (counting: Counting) => Spending

const field =
  (name: string): Count =>
  ({ call }) =>
    exactly(amountIn(call, name))

/** The pallet takes the amount in a field, or the whole balance if that is less. */
const fieldAtMost =
  (name: string): Count =>
  ({ call }) =>
    upTo(amountIn(call, name))

const deposit =
  (...names: readonly string[]): Count =>
  ({ runtime, pallet }) =>
    deposits(runtime, pallet, names, (each) => exactly(each.reduce((sum, one) => sum + one, 0n)))

/** A deposit that may already have been made. */
const depositAtMost =
  (...names: readonly string[]): Count =>
  ({ runtime, pallet }) =>
    deposits(runtime, pallet, names, (each) => upTo(each.reduce((sum, one) => sum + one, 0n)))

const perByte =
  (base: string, each: string, ...fields: readonly string[]): Count =>
  ({ runtime, pallet, call }) => {
    const bytes = fields.reduce((sum, name) => sum + bytesIn(call, name), 0n)
    return deposits(runtime, pallet, [base, each], ([first = 0n, one = 0n]) => exactly(first + one * bytes))
  }

const nothing: Count = () => NOTHING

/** The value and gas of a message. A new program also gets the existential deposit. */
const message = ({ runtime, call }: Counting): Spending =>
  exactly(amountIn(call, 'value') + amountIn(call, 'gas_limit') * planckPerGas(runtime))
const program: Count = (counting) => both(message(counting), exactly(existentialDeposit(counting.runtime)))

/** The inner call that a voucher pays for. */
const prepaidIn = (call: CallTree): Value => {
  const inner = fieldOf(call, 'call')
  return inner.kind === 'variant' ? inner.of : { kind: 'nothing' }
}

/** The voucher pays for the gas, and the signer pays the value of the message. */
const prepaid: Count = ({ call }) => exactly(amountIn(prepaidIn(call), 'value'))

const multisig: Count = ({ runtime, call }) =>
  deposits(runtime, 'multisig', ['depositBase', 'depositFactor'], ([base = 0n, each = 0n]) =>
    upTo(base + each * amountIn(call, 'threshold')),
  )

const subAccounts: Count = ({ runtime, call }) =>
  deposits(runtime, 'identity', ['subAccountDeposit'], ([each = 0n]) => upTo(each * countIn(call, 'subs')))

const inside: Count = ({ runtime, call }) =>
  call.fields
    .flatMap(({ value }) => (value.kind === 'list' ? value.items : [value]))
    .reduce((sum, value) => (value.kind === 'call' ? both(sum, spentByOne(runtime, value)) : sum), NOTHING)

const mintPrice = ({ call }: Counting): Spending => exactly(amountIn(fieldOf(call, 'witness_data'), 'mint_price'))

const NFTS: Readonly<Record<string, Count>> = {
  create: deposit('collectionDeposit|classDeposit'),
  mint: (counting) => both(deposit('itemDeposit|instanceDeposit')(counting), mintPrice(counting)),
  set_metadata: perByte('metadataDepositBase', 'depositPerByte', 'data'),
  set_collection_metadata: perByte('metadataDepositBase', 'depositPerByte', 'data'),
  set_class_metadata: perByte('metadataDepositBase', 'depositPerByte', 'data'),
  set_attribute: perByte('attributeDepositBase', 'depositPerByte', 'key', 'value'),
  buy_item: field('bid_price'),
  transfer: nothing,
  burn: nothing,
  approve_transfer: nothing,
  set_price: nothing,
}

const ASSETS: Readonly<Record<string, Count>> = {
  create: deposit('assetDeposit'),
  set_metadata: perByte('metadataDepositBase', 'metadataDepositPerByte', 'name', 'symbol'),
  approve_transfer: depositAtMost('approvalDeposit'),
  touch: deposit('assetAccountDeposit'),
  transfer: nothing,
  transfer_keep_alive: nothing,
  transfer_approved: nothing,
  mint: nothing,
  burn: nothing,
}

/** By pallet and call. What an inner call takes from another account than the signer is not counted. */
const COUNTS: Readonly<Record<string, Readonly<Record<string, Count>>>> = {
  system: { remark: nothing, remark_with_event: nothing },
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
    upload_code: nothing,
    claim_value: nothing,
  },
  gear_voucher: {
    issue: field('balance'),
    update: field('balance_top_up'),
    call: prepaid,
    revoke: nothing,
    decline: nothing,
  },
  staking: {
    bond: fieldAtMost('value'),
    bond_extra: fieldAtMost('max_additional'),
    ...Object.fromEntries(
      ['unbond', 'rebond', 'nominate', 'chill', 'validate', 'set_payee', 'withdraw_unbonded', 'payout_stakers'].map(
        (name) => [name, nothing],
      ),
    ),
  },
  staking_rewards: { refill: field('value') },
  nomination_pools: { join: field('amount'), unbond: nothing, claim_payout: nothing, withdraw_unbonded: nothing },
  vesting: {
    vest: nothing,
    vest_other: nothing,
    vested_transfer: ({ call }) => exactly(amountIn(fieldOf(call, 'schedule'), 'locked')),
  },
  // The multisig account pays for the inner call.
  multisig: {
    as_multi: multisig,
    approve_as_multi: multisig,
    as_multi_threshold_1: nothing,
    cancel_as_multi: nothing,
  },
  proxy: {
    proxy: nothing,
    proxy_announced: nothing,
    add_proxy: depositAtMost('proxyDepositBase', 'proxyDepositFactor'),
    create_pure: deposit('proxyDepositBase', 'proxyDepositFactor'),
    announce: depositAtMost('announcementDepositBase', 'announcementDepositFactor'),
    remove_proxy: nothing,
    remove_proxies: nothing,
  },
  utility: {
    batch: inside,
    batch_all: inside,
    force_batch: inside,
    if_else: inside,
    as_derivative: nothing,
  },
  identity: {
    set_subs: subAccounts,
    add_sub: depositAtMost('subAccountDeposit'),
    request_judgement: field('max_fee'),
    clear_identity: nothing,
  },
  indices: { claim: deposit('deposit') },
  session: { set_keys: depositAtMost('keyDeposit'), purge_keys: nothing },
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
  const own = call.functionName.startsWith('gear.') ? amountIn(call, 'gas_limit') * planckPerGas(runtime) : 0n
  return call.fields
    .flatMap(({ value }) => (value.kind === 'list' ? value.items : [value]))
    .reduce((sum, value) => (value.kind === 'call' ? sum + gasIn(runtime, value) : sum), own)
}

/** The price of the gas of all messages in a call and its inner calls, in planck, whoever pays it. Pure. */
export const gasPaidBy = (runtime: Runtime, call: Hex): bigint => {
  const tree = treeOf(runtime, call)
  return tree === null ? 0n : gasIn(runtime, tree)
}

/** The price of the gas that a voucher pays, in planck; 0 for a call without a voucher. Pure. */
export const gasOnVoucher = (runtime: Runtime, call: Hex): bigint => {
  const tree = treeOf(runtime, call)
  if (tree?.functionName !== 'gear_voucher.call') return 0n
  return amountIn(prepaidIn(tree), 'gas_limit') * planckPerGas(runtime)
}

/** What a call takes from its signer, with all calls in a batch. Pure. */
export const spentBy = (runtime: Runtime, call: Hex): Spending => {
  const tree = treeOf(runtime, call)
  return tree === null ? NOT_KNOWN : spentByOne(runtime, tree)
}
