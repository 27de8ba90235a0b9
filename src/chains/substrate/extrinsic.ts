// Extrinsics of version 4: a call, what its signer signs with it, and both together as a node takes them. What is signed
// besides the call follows from the runtime's own list of signed extensions.

import { blake2b } from '@noble/hashes/blake2.js'
import { GenericExtrinsicSignatureV4 } from '@polkadot/types'
import type { Hex, Signed, SubstrateUnsigned } from '../chain.ts'
import type { Runtime } from './runtime.ts'

const VERSION = 4
/** Its highest bit says that it is signed. */
const SIGNED_VERSION = Uint8Array.of(0x80 | VERSION)
const HASH_BYTES = 32
/** Longer payloads are hashed before they are signed (sp_runtime, SignedPayload). */
const PAYLOAD_MAX_BYTES = 256
const SIGNATURE_BYTES = 64
/** MultiSignature's tag. */
const SR25519_TAG = 1

export const blake2Hash = (data: Uint8Array): Uint8Array => blake2b(data, { dkLen: HASH_BYTES })
export const toHex = (data: Uint8Array): Hex => `0x${Buffer.from(data).toString('hex')}`

/** What stands in the extrinsic and, with the rest, under the signature. */
const payloadOf = ({ registry }: Runtime, unsigned: SubstrateUnsigned) =>
  registry.createType(
    'ExtrinsicPayload',
    {
      method: unsigned.call,
      era: registry.createType('ExtrinsicEra', unsigned.era),
      nonce: unsigned.nonce,
      tip: unsigned.tip,
      specVersion: unsigned.specVersion,
      transactionVersion: unsigned.transactionVersion,
      genesisHash: unsigned.genesisHash,
      blockHash: unsigned.blockHash,
      // No hash of the metadata is signed: 0 says so (RFC 78).
      mode: 0,
      metadataHash: null,
    },
    { version: VERSION },
  )

/** @returns what sr25519 signs. Pure. */
export const signingBytes = (runtime: Runtime, unsigned: SubstrateUnsigned): Uint8Array => {
  const payload = payloadOf(runtime, unsigned).toU8a({ method: true })
  return payload.length > PAYLOAD_MAX_BYTES ? blake2Hash(payload) : payload
}

/** The signed extrinsic, with its length before it, and its hash. @param signature 64 bytes, sr25519. Pure. */
export const assemble = (runtime: Runtime, unsigned: SubstrateUnsigned, signature: Uint8Array): Signed => {
  if (signature.length !== SIGNATURE_BYTES) throw new Error(`expected ${SIGNATURE_BYTES} bytes of an sr25519 signature`)
  const { registry } = runtime
  const tagged = Uint8Array.of(SR25519_TAG, ...signature)
  const signed = new GenericExtrinsicSignatureV4(registry, undefined, { isSigned: true }).addSignature(
    unsigned.from,
    tagged,
    payloadOf(runtime, unsigned).toHex(),
  )
  // The call as it was signed: the codec would read it first, and a large one takes it seconds.
  const body = Buffer.concat([SIGNED_VERSION, signed.toU8a(), Buffer.from(unsigned.call.slice(2), 'hex')])
  const raw = registry.createType('Bytes', toHex(body)).toU8a()
  return { raw: toHex(raw), hash: toHex(blake2Hash(raw)) }
}
