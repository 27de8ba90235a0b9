// The audit's details about a signature. Custody computes them from the payload, so that a caller cannot give other ones.

import { blake2b } from '@noble/hashes/blake2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { ExtrinsicPayload, Payload } from '../../language/payload.ts'
import { appendIntegers, bytesOfInteger, encodeList, minimal } from './rlp.ts'
import { fieldsOfTransaction, isLegacy } from './transaction-fields.ts'

/** Version 4; the highest bit means signed. */
const SIGNED_EXTRINSIC = 0x84
const HASH_BYTES = 32

const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`

/** A compact integer (SCALE) below 2^30. */
const compact = (value: number): Buffer => {
  const [mode, length] = value < 1 << 6 ? [0, 1] : value < 1 << 14 ? [1, 2] : [2, 4]
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value * 4 + mode)
  return bytes.subarray(0, length)
}

/** v = 35 + 2 × chain id + y parity (EIP-155), instead of the chain id and the two zeros. */
const signedLegacy = (unsigned: Uint8Array, signature: Uint8Array): Uint8Array => {
  const { nonce, maxFeePerGas, gas, to, value, data, chainId } = fieldsOfTransaction(unsigned)
  const v = 2n * BigInt(hexOf(chainId)) + 35n + BigInt(signature[64] ?? 0)
  const [r, s] = [signature.subarray(0, 32), signature.subarray(32, 64)]
  const integers = [bytesOfInteger(v), r, s].map(minimal)
  return encodeList([nonce, maxFeePerGas, gas, to, value, data, ...integers])
}

const signedTransaction = (unsigned: Uint8Array, signature: Uint8Array): Uint8Array => {
  if (isLegacy(unsigned)) return signedLegacy(unsigned, signature)
  const [r, s, yParity] = [signature.subarray(0, 32), signature.subarray(32, 64), signature.subarray(64)]
  return Buffer.concat([unsigned.subarray(0, 1), appendIntegers(unsigned.subarray(1), [yParity, r, s])])
}

const signedExtrinsic = (payload: ExtrinsicPayload, signature: Uint8Array, publicKey: Uint8Array): Uint8Array => {
  const { addressPrefix, signaturePrefix, extra, call } = payload
  const version = Buffer.of(SIGNED_EXTRINSIC)
  const body = Buffer.concat([version, addressPrefix, publicKey, signaturePrefix, signature, extra, call])
  return Buffer.concat([compact(body.length), body])
}

type Trace = {
  readonly hash: string
  /** What can be sent; null for a message. */
  readonly raw: string | null
}

/**
 * What can be sent, and the hash by which a chain knows the signed transaction or extrinsic, or the digest of a signed message. Pure. A Substrate
 * message is signed as it is, so its digest is made here: the audit holds no message.
 * @param input.bytes what the key's algorithm took (`bytesToSign`).
 */
export const traceOf = (input: {
  readonly payload: Payload
  readonly bytes: Uint8Array
  readonly signature: Uint8Array
  readonly publicKey: Uint8Array
}): Trace => {
  const { payload, bytes, signature, publicKey } = input
  if (payload.kind === 'evm_transaction') {
    const raw = signedTransaction(payload.unsigned, signature)
    return { hash: hexOf(keccak_256(raw)), raw: hexOf(raw) }
  }
  if (payload.kind === 'extrinsic') {
    const raw = signedExtrinsic(payload, signature, publicKey)
    return { hash: hexOf(blake2b(raw, { dkLen: HASH_BYTES })), raw: hexOf(raw) }
  }
  return {
    hash: hexOf(payload.kind === 'substrate_message' ? blake2b(bytes, { dkLen: HASH_BYTES }) : bytes),
    raw: null,
  }
}

/**
 * BLAKE2b-256 of what an extrinsic's signature covers; null for other payloads, whose hash covers all. No signature covers how
 * an extrinsic's bytes divide, nor two of its prefixes, so its hash alone could name an extrinsic that nobody can send. Pure.
 */
export const coveredOf = ({
  payload,
  bytes,
}: {
  readonly payload: Payload
  readonly bytes: Uint8Array
}): string | null => (payload.kind === 'extrinsic' ? hexOf(blake2b(bytes, { dkLen: HASH_BYTES })) : null)
