// What a wallet's key signs, in full. Chains make payloads; the vault reads and hashes them. It signs no bare digest,
// whose meaning it could not know.

/** EIP-712, `eth_signTypedData_v4`. Integers: bigints, safe integers or texts (decimal or 0x hex). Bytes: 0x hex. */
export type TypedData = {
  readonly domain: {
    readonly name?: string
    readonly version?: string
    readonly chainId?: number | bigint | string
    readonly verifyingContract?: string
    readonly salt?: string
  }
  /** With or without `EIP712Domain`, which follows from the domain. */
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>
  readonly primaryType: string
  readonly message: Readonly<Record<string, unknown>>
}

/** What an extrinsic's signature covers (sp_runtime, SignedPayload), not hashed, and what else its hash covers. */
export type ExtrinsicPayload = {
  readonly kind: 'extrinsic'
  readonly call: Uint8Array
  /** The extensions' parts: what the extrinsic contains, and what is only signed. */
  readonly extra: Uint8Array
  readonly implicit: Uint8Array
  /** The bytes before the signer's 32 bytes, and before the signature. */
  readonly addressPrefix: Uint8Array
  readonly signaturePrefix: Uint8Array
}

export type Payload =
  /** A transaction of type 0 (with its chain id, EIP-155), 1 or 2: the bytes whose hash is signed. */
  | { readonly kind: 'evm_transaction'; readonly unsigned: Uint8Array }
  /** EIP-191, version 0x45: the message as the user knows it. */
  | { readonly kind: 'evm_message'; readonly message: Uint8Array }
  | { readonly kind: 'typed_data'; readonly typedData: TypedData }
  /** A message for a Safe to accept (ERC-1271): the message as the user knows it, and the Safe on its chain. */
  | { readonly kind: 'safe_message'; readonly chainId: number; readonly safe: string; readonly message: Uint8Array }
  /** The same for typed data. */
  | { readonly kind: 'safe_typed_data'; readonly chainId: number; readonly safe: string; readonly typedData: TypedData }
  | ExtrinsicPayload
  /** The message as the user knows it: the vault wraps it in <Bytes>…</Bytes>. */
  | { readonly kind: 'substrate_message'; readonly message: Uint8Array }

/** `messages`: by all credentials of the key, as a message can mean anything. `policy`: by the developer secret. */
export type Purpose = 'transactions' | 'messages' | 'policy'

const PURPOSES: Readonly<Record<Payload['kind'], readonly Purpose[]>> = {
  evm_transaction: ['transactions', 'policy'],
  extrinsic: ['transactions', 'policy'],
  typed_data: ['messages', 'policy'],
  safe_typed_data: ['messages', 'policy'],
  evm_message: ['messages'],
  safe_message: ['messages'],
  substrate_message: ['messages'],
}

/** A Safe's transaction is one, although it is typed data. Pure. */
export const isFor = (purpose: Purpose, payload: Payload): boolean => {
  if (PURPOSES[payload.kind].includes(purpose)) return true
  return purpose === 'transactions' && payload.kind === 'typed_data' && payload.typedData.primaryType === 'SafeTx'
}
