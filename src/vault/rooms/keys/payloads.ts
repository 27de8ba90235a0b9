// Turns a full payload into the bytes that the key's algorithm takes. Each kind has a form that no other kind can have,
// so that nothing passes for something else: a transaction begins with its type or, of type 0, with the byte of an RLP
// list (0xc0 or more), a message with 0x19 0x45, typed data with 0x19 0x01, an authorisation with 0x05; a message of
// Substrate is wrapped, and an extrinsic that looks wrapped is refused.

import { blake2b } from '@noble/hashes/blake2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { ChainFamily } from '../../../../db/words.ts'
import { unreachable } from '../../../platform/errors.ts'
import type { ExtrinsicPayload, Payload } from '../../language/payload.ts'
import { typedDataDigest } from '../../language/typed-data.ts'
import { bytesOfInteger, encodeList, minimal } from './rlp.ts'
import { fieldsOfTransaction, type TransactionFields } from './transaction-fields.ts'

/** EIP-7702. */
const MAGIC = 0x05

/** Lets an account run the code of a contract. `delegate`: 0x and 40 hex digits; the zero address ends a delegation. */
export type Authorization = { readonly chainId: number; readonly delegate: string; readonly nonce: number }

/** keccak256(0x05 ‖ rlp([chain id, address, nonce])). Pure. */
export const authorizationDigest = ({ chainId, delegate, nonce }: Authorization): Uint8Array => {
  const integer = (value: number) => minimal(bytesOfInteger(BigInt(value)))
  const address = Buffer.from(delegate.slice(2), 'hex')
  return keccak_256(Buffer.concat([Buffer.of(MAGIC), encodeList([integer(chainId), address, integer(nonce)])]))
}

/** Longer payloads are hashed before they are signed (sp_runtime, SignedPayload). */
const EXTRINSIC_MAX_BYTES = 256
const HASH_BYTES = 32

const OPENING = Buffer.from('<Bytes>')
const CLOSING = Buffer.from('</Bytes>')

const isWrapped = (bytes: Uint8Array): boolean =>
  OPENING.equals(bytes.subarray(0, OPENING.length)) && CLOSING.equals(bytes.subarray(-CLOSING.length))

/** As `u8aWrapBytes` of polkadot-js, but it also wraps what begins with EIP-191's prefix, which could be a call. */
const wrapped = (message: Uint8Array): Uint8Array =>
  isWrapped(message) ? message : Buffer.concat([OPENING, message, CLOSING])

const messageDigest = (message: Uint8Array): Uint8Array =>
  keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${message.length}`), message]))

/** CompatibilityFallbackHandler.sol 1.4.1, SAFE_MSG_TYPEHASH; a bytes32 is its own ABI encoding. */
const safeDigest = (account: { readonly chainId: number; readonly safe: string }, digest: Uint8Array): Uint8Array =>
  typedDataDigest({
    domain: { chainId: account.chainId, verifyingContract: account.safe },
    types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
    primaryType: 'SafeMessage',
    message: { message: `0x${Buffer.from(digest).toString('hex')}` },
  })

const extrinsicBytes = ({ call, extra, implicit }: ExtrinsicPayload): Uint8Array => {
  const payload = Buffer.concat([call, extra, implicit])
  if (isWrapped(payload)) throw new Error('expected an extrinsic, not a wrapped message')
  return payload.length > EXTRINSIC_MAX_BYTES ? blake2b(payload, { dkLen: HASH_BYTES }) : payload
}

const FAMILIES: Readonly<Record<Payload['kind'], ChainFamily>> = {
  evm_transaction: 'evm',
  evm_message: 'evm',
  typed_data: 'evm',
  safe_message: 'evm',
  safe_typed_data: 'evm',
  extrinsic: 'substrate',
  substrate_message: 'substrate',
}

/** @returns a digest of 32 bytes for ECDSA, or the message for sr25519. @throws Error for another family or form. */
export const bytesToSign = (family: ChainFamily, payload: Payload): Uint8Array => toSign(family, payload).bytes

/** The payload with the fields of its EVM transaction, which are read to check its form. */
export const toSign = (
  family: ChainFamily,
  payload: Payload,
): { readonly bytes: Uint8Array; readonly fields: TransactionFields | null } => {
  if (FAMILIES[payload.kind] !== family) throw new Error(`a key of the ${family} family signs no ${payload.kind}`)
  if (payload.kind !== 'evm_transaction') return { bytes: otherBytes(payload), fields: null }
  const fields = fieldsOfTransaction(payload.unsigned)
  return { bytes: keccak_256(payload.unsigned), fields }
}

const otherBytes = (payload: Exclude<Payload, { readonly kind: 'evm_transaction' }>): Uint8Array => {
  switch (payload.kind) {
    case 'evm_message':
      return messageDigest(payload.message)
    case 'typed_data':
      return typedDataDigest(payload.typedData)
    case 'safe_message':
      return safeDigest(payload, messageDigest(payload.message))
    case 'safe_typed_data':
      return safeDigest(payload, typedDataDigest(payload.typedData))
    case 'extrinsic':
      return extrinsicBytes(payload)
    case 'substrate_message':
      return wrapped(payload.message)
    default:
      return unreachable(payload)
  }
}
