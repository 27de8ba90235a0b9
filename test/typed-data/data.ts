// Typed data of well-known contracts, by their published types.

const membersOf = (declaration: string) =>
  declaration.split(',').map((member) => {
    const [type = '', name = ''] = member.split(' ')
    return { name, type }
  })

/** `{ Permit: 'address owner,address spender' }` as `types` has it. */
export const typesOf = (declarations: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(declarations).map(([name, declaration]) => [name, membersOf(declaration)]))

type Domain = {
  readonly name?: string
  readonly version?: string
  readonly chainId?: number | string
  readonly verifyingContract?: string
}

const built = (
  declarations: Readonly<Record<string, string>>,
  domain: Domain,
  message: Readonly<Record<string, unknown>>,
) => ({ domain, types: typesOf(declarations), primaryType: Object.keys(declarations)[0] ?? '', message })

type Message = Readonly<Record<string, unknown>>

/** ERC-2612. */
export const permit = (domain: Domain, message: Message) =>
  built(
    { Permit: 'address owner,address spender,uint256 value,uint256 nonce,uint256 deadline' },
    { version: '1', ...domain },
    message,
  )

/** ERC-3009. */
export const transferAuthorization = (
  primaryType: 'TransferWithAuthorization' | 'ReceiveWithAuthorization',
  domain: Domain,
  message: Message,
) =>
  built(
    {
      [primaryType]: 'address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce',
    },
    { version: '1', ...domain },
    message,
  )

/** Permit2, SignatureTransfer. */
export const permitTransferFrom = (domain: Domain, message: Message) =>
  built(
    {
      PermitTransferFrom: 'TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline',
      TokenPermissions: 'address token,uint256 amount',
    },
    { name: 'Permit2', ...domain },
    message,
  )

/** Safe 1.3 and later. */
export const safeTransaction = (domain: Domain, message: Message) =>
  built(
    {
      SafeTx:
        'address to,uint256 value,bytes data,uint8 operation,uint256 safeTxGas,uint256 baseGas,uint256 gasPrice,address gasToken,address refundReceiver,uint256 nonce',
    },
    domain,
    {
      ...{ value: '0', data: '0x', operation: 0, safeTxGas: '0', baseGas: '0', gasPrice: '0', nonce: '0' },
      ...{ gasToken: `0x${'00'.repeat(20)}`, refundReceiver: `0x${'00'.repeat(20)}` },
      ...message,
    },
  )

/** The example of EIP-712. */
export const mail = (domain: Domain) =>
  built({ Mail: 'Person from,Person to,string contents', Person: 'string name,address wallet' }, domain, {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  })

const PERMIT_DETAILS = 'address token,uint160 amount,uint48 expiration,uint48 nonce'
const ORDER_ITEM = 'uint8 itemType,address token,uint256 identifierOrCriteria,uint256 startAmount,uint256 endAmount'

/** The permit of DAI. */
export const daiPermit = (domain: Domain, message: Message) =>
  built({ Permit: 'address holder,address spender,uint256 nonce,uint256 expiry,bool allowed' }, domain, message)

/** Permit2, AllowanceTransfer. */
export const permitSingle = (domain: Domain, message: Message) =>
  built(
    { PermitSingle: 'PermitDetails details,address spender,uint256 sigDeadline', PermitDetails: PERMIT_DETAILS },
    { name: 'Permit2', ...domain },
    message,
  )

export const permitBatch = (domain: Domain, message: Message) =>
  built(
    { PermitBatch: 'PermitDetails[] details,address spender,uint256 sigDeadline', PermitDetails: PERMIT_DETAILS },
    { name: 'Permit2', ...domain },
    message,
  )

/** Permit2, SignatureTransfer of several tokens, or with a witness. */
export const permitBatchTransferFrom = (domain: Domain, message: Message) =>
  built(
    {
      PermitBatchTransferFrom: 'TokenPermissions[] permitted,address spender,uint256 nonce,uint256 deadline',
      TokenPermissions: 'address token,uint256 amount',
    },
    { name: 'Permit2', ...domain },
    message,
  )

export const permitWitnessTransferFrom = (domain: Domain, message: Message) =>
  built(
    {
      PermitWitnessTransferFrom:
        'TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Order witness',
      TokenPermissions: 'address token,uint256 amount',
      Order: 'address reactor',
    },
    { name: 'Permit2', ...domain },
    message,
  )

/** ERC-3009. */
export const cancelAuthorization = (domain: Domain, message: Message) =>
  built({ CancelAuthorization: 'address authorizer,bytes32 nonce' }, domain, message)

export const safeMessage = (domain: Domain, message: Message) =>
  built({ SafeMessage: 'bytes message' }, domain, message)

const ORDER_TYPES = {
  OrderComponents:
    'address offerer,address zone,OfferItem[] offer,ConsiderationItem[] consideration,uint8 orderType,uint256 startTime,uint256 endTime,bytes32 zoneHash,uint256 salt,bytes32 conduitKey,uint256 counter',
  OfferItem: ORDER_ITEM,
  ConsiderationItem: `${ORDER_ITEM},address recipient`,
}

const orderComponents = (message: Message) => ({
  ...{ zone: `0x${'00'.repeat(20)}`, orderType: 0, startTime: 0, counter: 0, salt: '1' },
  ...{ zoneHash: `0x${'00'.repeat(32)}`, conduitKey: `0x${'00'.repeat(32)}` },
  ...message,
})

const seaport = (domain: Domain) => ({ name: 'Seaport', version: '1.6', ...domain })

/** Seaport 1.6. */
export const seaportOrder = (domain: Domain, message: Message) =>
  built(ORDER_TYPES, seaport(domain), orderComponents(message))

/** `OrderComponents[2][2]` for a height of 2. */
export const bulkOrderTypes = (height: number) =>
  typesOf({ BulkOrder: `OrderComponents${'[2]'.repeat(height)} tree`, ...ORDER_TYPES })

const pairs = (list: readonly unknown[]): unknown[] =>
  Array.from({ length: list.length / 2 }, (_, at) => [list[2 * at], list[2 * at + 1]])

/** A tree of orders of Seaport 1.6, filled up with empty ones as the marketplace's own library does it. */
export const seaportBulkOrder = (domain: Domain, orders: readonly Message[], height: number) => {
  const empty = { offerer: `0x${'00'.repeat(20)}`, offer: [], consideration: [], endTime: 0, salt: '0' }
  const filled = Array.from({ length: 2 ** height }, (_, at) => orderComponents(orders[at] ?? empty))
  const tree = Array.from({ length: height - 1 }).reduce<unknown[]>(pairs, filled)
  return {
    ...{ domain: seaport(domain), types: bulkOrderTypes(height), primaryType: 'BulkOrder', message: { tree } },
  }
}
