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
