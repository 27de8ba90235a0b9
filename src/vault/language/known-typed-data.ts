// Typed data of well-known contracts, recognised by the text of its type (encodeType), and what a spender can take with
// it. A contract accepts only data of its own types. The vault counts with this code, and previews show with it.

import type { TypedData } from './payload.ts'
import { bytesIn, integerIn } from './typed-data.ts'
import { readStructs } from './typed-data-types.ts'

const PERMIT_DETAILS = 'PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)'
const TOKEN_PERMISSIONS = 'TokenPermissions(address token,uint256 amount)'
const AUTHORIZATION = 'address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce'
const OFFER_ITEM =
  'OfferItem(uint8 itemType,address token,uint256 identifierOrCriteria,uint256 startAmount,uint256 endAmount)'
const CONSIDERATION_ITEM =
  'ConsiderationItem(uint8 itemType,address token,uint256 identifierOrCriteria,uint256 startAmount,uint256 endAmount,address recipient)'
const ORDER =
  'OrderComponents(address offerer,address zone,OfferItem[] offer,ConsiderationItem[] consideration,uint8 orderType,uint256 startTime,uint256 endTime,bytes32 zoneHash,uint256 salt,bytes32 conduitKey,uint256 counter)'

/** Sources: ERC-2612, the source of DAI, Permit2 (PermitHash.sol), ERC-3009, Safe 1.4.1, Seaport 1.6. */
const TYPES = {
  permit: 'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)',
  dai_permit: 'Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)',
  permit2_single: `PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)${PERMIT_DETAILS}`,
  permit2_batch: `PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline)${PERMIT_DETAILS}`,
  permit2_transfer: `PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)${TOKEN_PERMISSIONS}`,
  permit2_transfers: `PermitBatchTransferFrom(TokenPermissions[] permitted,address spender,uint256 nonce,uint256 deadline)${TOKEN_PERMISSIONS}`,
  transfer_with_authorization: `TransferWithAuthorization(${AUTHORIZATION})`,
  receive_with_authorization: `ReceiveWithAuthorization(${AUTHORIZATION})`,
  cancel_authorization: 'CancelAuthorization(address authorizer,bytes32 nonce)',
  safe_transaction:
    'SafeTx(address to,uint256 value,bytes data,uint8 operation,uint256 safeTxGas,uint256 baseGas,uint256 gasPrice,address gasToken,address refundReceiver,uint256 nonce)',
  safe_message: 'SafeMessage(bytes message)',
  seaport_order: `${ORDER}${CONSIDERATION_ITEM}${OFFER_ITEM}`,
} as const

export type KnownType =
  | keyof typeof TYPES
  | 'permit2_witness_transfer'
  | 'permit2_witness_transfers'
  | 'seaport_bulk_order'

/** A tree of orders, each of which can be used alone. Seaport accepts no higher tree. */
const BULK_ORDER_HEIGHT_MAX = 24
const BULK_ORDERS = Array.from(
  { length: BULK_ORDER_HEIGHT_MAX },
  (_, below) => `BulkOrder(OrderComponents${'[2]'.repeat(below + 1)} tree)${CONSIDERATION_ITEM}${OFFER_ITEM}${ORDER}`,
)

const BY_TEXT: ReadonlyMap<string, KnownType> = new Map([
  ...Object.entries(TYPES).map(([kind, text]) => [text, kind as keyof typeof TYPES] as const),
  ...BULK_ORDERS.map((text) => [text, 'seaport_bulk_order'] as const),
])

/** Permit2's transfers with a witness: a further member of any type. */
const WITNESSES: ReadonlyMap<string, { readonly type: KnownType; readonly permitted: string }> = new Map([
  ['PermitWitnessTransferFrom', { type: 'permit2_witness_transfer', permitted: 'TokenPermissions' }],
  ['PermitBatchWitnessTransferFrom', { type: 'permit2_witness_transfers', permitted: 'TokenPermissions[]' }],
])

/** The type, or null for typed data of any other contract. Pure. @throws invalid_input for types that are not valid */
export const recognizeType = ({ types, primaryType }: Pick<TypedData, 'types' | 'primaryType'>): KnownType | null => {
  // The data can be a domain alone.
  if (!Object.hasOwn(types, primaryType)) return null
  const structs = readStructs(types, primaryType)
  const encoded = structs.get(primaryType)?.encoded ?? ''
  const known = BY_TEXT.get(encoded)
  if (known !== undefined) return known
  const witness = WITNESSES.get(primaryType)
  if (witness === undefined || structs.get('TokenPermissions')?.encoded !== TOKEN_PERMISSIONS) return null
  const head = `${primaryType}(${witness.permitted} permitted,address spender,uint256 nonce,uint256 deadline,`
  return encoded.startsWith(head) && structs.get(primaryType)?.fields.length === 5 ? witness.type : null
}

const UINT256_MAX = (1n << 256n) - 1n
export const ITEM = { coin: 0n, erc20: 1n, erc721: 2n, erc1155: 3n, erc721Any: 4n, erc1155Any: 5n } as const

type Values = Readonly<Record<string, unknown>>

const isValues = (value: unknown): value is Values => typeof value === 'object' && value !== null

/** A member that is a struct, or the structs in a list, also in lists of lists. Data that was checked has it. */
export const structsAt = (values: Values, name: string): readonly Values[] => {
  const value = values[name]
  return (Array.isArray(value) ? value.flat(BULK_ORDER_HEIGHT_MAX) : [value]).filter(isValues)
}

export const integerAt = (values: Values, name: string): bigint => integerIn(values[name], `message.${name}`)

/** 0x and 40 digits of lower-case hex. */
export const addressAt = (values: Values, name: string): string =>
  `0x${Buffer.from(bytesIn(values[name], `message.${name}`)).toString('hex')}`

/** `token`: 0x and 40 digits of lower-case hex. */
type Grant = { readonly token: string; readonly amount: bigint }

const grantAt = (amountName: string) => (values: Values) => ({
  token: addressAt(values, 'token'),
  amount: integerAt(values, amountName),
})

const offered = (item: Values): Grant => {
  const [start, end] = [integerAt(item, 'startAmount'), integerAt(item, 'endAmount')]
  return { token: addressAt(item, 'token'), amount: start > end ? start : end }
}

/** The signed orders, without those that only fill up a tree. @param message checked before, of this known type */
export const ordersIn = (type: KnownType, message: Values): readonly Values[] => {
  if (type === 'seaport_order') return [message]
  if (type !== 'seaport_bulk_order') return []
  return structsAt(message, 'tree').filter(
    (order) => structsAt(order, 'offer').length + structsAt(order, 'consideration').length > 0,
  )
}

/** The amounts of ERC-20 that a spender can take, in base units. @param typedData checked before, of this known type */
export const readGrants = (type: KnownType, { domain, message }: TypedData): readonly Grant[] => {
  const contract = domain.verifyingContract?.toLowerCase() ?? ''
  switch (type) {
    case 'permit':
    case 'transfer_with_authorization':
    case 'receive_with_authorization':
      return [{ token: contract, amount: integerAt(message, 'value') }]
    case 'dai_permit':
      return [{ token: contract, amount: message.allowed === true ? UINT256_MAX : 0n }]
    case 'permit2_single':
    case 'permit2_batch':
      return structsAt(message, 'details').map(grantAt('amount'))
    case 'permit2_transfer':
    case 'permit2_transfers':
    case 'permit2_witness_transfer':
    case 'permit2_witness_transfers':
      return structsAt(message, 'permitted').map(grantAt('amount'))
    case 'seaport_order':
    case 'seaport_bulk_order':
      return ordersIn(type, message)
        .flatMap((order) => structsAt(order, 'offer'))
        .filter((item) => integerAt(item, 'itemType') === ITEM.erc20)
        .map(offered)
    case 'cancel_authorization':
    case 'safe_transaction':
    case 'safe_message':
      return []
    default:
      return type satisfies never
  }
}
