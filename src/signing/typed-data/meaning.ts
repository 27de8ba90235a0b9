// What typed data of well-known contracts does, as plain values. Pure. The words for it are in words.ts.

import type { NodelessChain } from '../../chains/chain.ts'
import type { ContractOperation } from '../../chains/contract-wallets.ts'
import {
  addressAt,
  ITEM,
  integerAt,
  type KnownType,
  ordersIn,
  readGrants,
  recognizeType,
  structsAt,
} from '../../vault/language/known-typed-data.ts'
import type { TypedData } from '../../vault/language/payload.ts'

export const KINDS = [
  'permit',
  'permit2_allowance',
  'permit2_transfer',
  'transfer_authorization',
  'authorization_cancelled',
  'safe_transaction',
  'safe_message',
  'seaport_order',
  'seaport_bulk_order',
  'unknown',
] as const
type Kind = (typeof KINDS)[number]

export const EFFECTS = ['may_take', 'sends', 'receives'] as const

/** `from` and `to`: canonical addresses, or empty for any address. */
export type Move = {
  readonly effect: (typeof EFFECTS)[number]
  readonly standard: 'coin' | 'token' | 'nft'
  /** Canonical; null for the coin. */
  readonly contract: string | null
  /** null: any of the collection, or no NFT. */
  readonly tokenId: bigint | null
  readonly amount: bigint
  readonly isUnlimited: boolean
  readonly from: string
  readonly to: string
}

export type Order = {
  readonly account: string
  readonly moves: readonly Move[]
  readonly endsAt: bigint
}

export type Meaning = {
  readonly kind: Kind
  readonly type: KnownType | null
  /** The canonical address of the contract that checks the signature; null if the domain has none. */
  readonly contract: string | null
  /** Whose assets it moves; null if it does not say. */
  readonly account: string | null
  /** Who may use it; null: any address. */
  readonly spender: string | null
  readonly moves: readonly Move[]
  /** Each of them can be used alone. */
  readonly orders: readonly Order[]
  /** Seconds since 1970, until which it can be used; null if it has no such time. */
  readonly endsAt: bigint | null
  /** The end of the allowance that it makes (Permit2). */
  readonly allowanceEndsAt: bigint | null
  readonly operation: (ContractOperation & { readonly hasRefund: boolean }) | null
}

/** Amounts near the largest number mean "all". */
const UNLIMITED = { uint256: 1n << 255n, uint160: 1n << 159n } as const

type Chain = Pick<NodelessChain, 'parseShown'>
type Values = Readonly<Record<string, unknown>>

const itemMove = (chain: Chain, item: Values, between: Pick<Move, 'effect' | 'from' | 'to'>): Move => {
  const itemType = integerAt(item, 'itemType')
  const [start, end] = [integerAt(item, 'startAmount'), integerAt(item, 'endAmount')]
  const isAny = itemType === ITEM.erc721Any || itemType === ITEM.erc1155Any
  return {
    ...between,
    standard: itemType === ITEM.coin ? 'coin' : itemType === ITEM.erc20 ? 'token' : 'nft',
    contract: itemType === ITEM.coin ? null : chain.parseShown(addressAt(item, 'token'), 'typed_data'),
    tokenId: itemType <= ITEM.erc20 || isAny ? null : integerAt(item, 'identifierOrCriteria'),
    // What is given counts at most, what comes at least.
    amount: (between.effect === 'receives') === start < end ? start : end,
    isUnlimited: false,
  }
}

const readOrder = (chain: Chain, order: Values): Order => {
  const account = chain.parseShown(addressAt(order, 'offerer'), 'typed_data')
  const sent = structsAt(order, 'offer').map((item) =>
    itemMove(chain, item, { effect: 'sends', from: account, to: '' }),
  )
  const received = structsAt(order, 'consideration').map((item) => {
    const to = chain.parseShown(addressAt(item, 'recipient'), 'typed_data')
    return itemMove(chain, item, { effect: 'receives', from: '', to })
  })
  return { account, moves: [...sent, ...received], endsAt: integerAt(order, 'endTime') }
}

const readOperation = (chain: Chain, message: Values): Meaning['operation'] => ({
  to: `0x${chain.parseShown(addressAt(message, 'to'), 'typed_data').slice(2)}`,
  value: integerAt(message, 'value'),
  data: `0x${String(message.data).slice(2)}`,
  operation: Number(integerAt(message, 'operation')),
  hasRefund: integerAt(message, 'gasPrice') > 0n,
})

/** The kind of each type, and the members that say whose assets it moves, who may use it, and until when. */
const KNOWN: Readonly<
  Record<
    KnownType,
    { readonly kind: Kind; readonly account?: string; readonly spender?: string; readonly end?: string }
  >
> = {
  permit: { kind: 'permit', account: 'owner', spender: 'spender', end: 'deadline' },
  dai_permit: { kind: 'permit', account: 'holder', spender: 'spender', end: 'expiry' },
  permit2_single: { kind: 'permit2_allowance', spender: 'spender', end: 'sigDeadline' },
  permit2_batch: { kind: 'permit2_allowance', spender: 'spender', end: 'sigDeadline' },
  permit2_transfer: { kind: 'permit2_transfer', spender: 'spender', end: 'deadline' },
  permit2_transfers: { kind: 'permit2_transfer', spender: 'spender', end: 'deadline' },
  permit2_witness_transfer: { kind: 'permit2_transfer', spender: 'spender', end: 'deadline' },
  permit2_witness_transfers: { kind: 'permit2_transfer', spender: 'spender', end: 'deadline' },
  transfer_with_authorization: { kind: 'transfer_authorization', account: 'from', end: 'validBefore' },
  receive_with_authorization: { kind: 'transfer_authorization', account: 'from', spender: 'to', end: 'validBefore' },
  cancel_authorization: { kind: 'authorization_cancelled', account: 'authorizer' },
  safe_transaction: { kind: 'safe_transaction' },
  safe_message: { kind: 'safe_message' },
  seaport_order: { kind: 'seaport_order' },
  seaport_bulk_order: { kind: 'seaport_bulk_order' },
}

const tokenMoves = (
  chain: Chain,
  { type, typedData, from }: { readonly type: KnownType; readonly typedData: TypedData; readonly from: string },
): readonly Move[] => {
  const { message } = typedData
  const isTransfer = type === 'transfer_with_authorization' || type === 'receive_with_authorization'
  const to = isTransfer ? 'to' : KNOWN[type].spender
  const bits = type === 'permit2_single' || type === 'permit2_batch' ? UNLIMITED.uint160 : UNLIMITED.uint256
  return readGrants(type, typedData).map(({ token, amount }) => ({
    effect: isTransfer ? 'sends' : 'may_take',
    standard: 'token',
    contract: chain.parseShown(token, 'typed_data'),
    tokenId: null,
    amount,
    isUnlimited: amount >= bits,
    from,
    to: to === undefined ? '' : chain.parseShown(addressAt(message, to), 'typed_data'),
  }))
}

const latestOf = (ends: readonly bigint[]): bigint | null =>
  ends.length === 0 ? null : ends.reduce((one, other) => (one > other ? one : other))

const allowanceEnd = (message: Values): bigint | null =>
  latestOf(structsAt(message, 'details').map((details) => integerAt(details, 'expiration')))

/** Until when it can be used: of several orders the latest end. */
const readEnd = (type: KnownType, message: Values, orders: readonly Order[]): bigint | null => {
  const { end } = KNOWN[type]
  const endsAt = end === undefined ? latestOf(orders.map((order) => order.endsAt)) : integerAt(message, end)
  // DAI: 0 means that it never ends.
  return type === 'dai_permit' && endsAt === 0n ? null : endsAt
}

/** @param input.typedData checked before. @param input.signer canonical */
export const readMeaning = (
  chain: Chain,
  { typedData, signer }: { readonly typedData: TypedData; readonly signer: string },
): Meaning => {
  const { domain, message } = typedData
  const shown = (text: string) => chain.parseShown(text, 'typed_data')
  const contract = domain.verifyingContract === undefined ? null : shown(domain.verifyingContract)
  // Without a contract nothing accepts it, whatever its types are.
  const type = contract === null ? null : recognizeType(typedData)
  const nothing = { account: null, spender: null, moves: [], orders: [], endsAt: null, allowanceEndsAt: null }
  if (type === null) return { type, contract, ...nothing, kind: 'unknown', operation: null }
  const { kind, account: accountAt, spender } = KNOWN[type]
  const orders = ordersIn(type, message).map((order) => readOrder(chain, order))
  // A tree can have orders of several accounts: another one than the signer is worth a warning.
  const ofOrders = orders.map(({ account }) => account)
  const account =
    accountAt === undefined
      ? (ofOrders.find((each) => each !== signer) ?? ofOrders[0] ?? null)
      : shown(addressAt(message, accountAt))
  const from = account ?? signer
  return {
    kind,
    type,
    contract,
    account,
    spender: spender === undefined ? null : shown(addressAt(message, spender)),
    moves: kind.startsWith('seaport')
      ? orders.flatMap(({ moves }) => moves)
      : tokenMoves(chain, { type, typedData, from }),
    orders,
    endsAt: readEnd(type, message, orders),
    allowanceEndsAt: allowanceEnd(message),
    operation: type === 'safe_transaction' ? readOperation(chain, message) : null,
  }
}
