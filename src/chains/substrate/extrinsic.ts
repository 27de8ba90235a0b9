// Encodes extrinsics of version 4: the bytes to sign, and the signed extrinsic. It does not use the codec, because the codec
// chooses types by the names in the metadata, and a node may give forged metadata.

import type { Payload } from '../../vault/language/payload.ts'
import type { Hex, Signed, SubstrateUnsigned } from '../chain.ts'
import { publicKeyOf } from './address.ts'
import { blake2Hash, compact, fixedWidth, fromHex, toHex } from './scale.ts'
import type { Part } from './signed-extensions.ts'

/** Version 4; the highest bit means signed. */
const SIGNED_VERSION = Uint8Array.of(0x84)
const SIGNATURE_BYTES = 64
const U32_BYTES = 4

/** An era (sp_runtime, Era). Of a mortal one: the period, a power of two, and the phase of the first block in it. Pure. */
export const eraBytes = (era: SubstrateUnsigned['era']): Buffer => {
  if (era === null) return Buffer.of(0)
  const { current, period } = era
  // For long periods the phase is encoded in steps of several blocks.
  const step = Math.max(period >> 12, 1)
  const phase = Math.floor((current % period) / step)
  const low = Math.min(15, Math.max(1, Math.log2(period) - 1))
  return fixedWidth(BigInt(low | (phase << 4)), 2)
}

/** An Option in SCALE. */
const option = (content: Hex | null): Buffer =>
  content === null ? Buffer.of(0) : Buffer.concat([Uint8Array.of(1), fromHex(content)])

const bytesOf = (unsigned: SubstrateUnsigned, part: Part): Buffer => {
  switch (part) {
    case 'era':
      return eraBytes(unsigned.era)
    case 'nonce':
      return compact(BigInt(unsigned.nonce))
    case 'tip':
      return compact(unsigned.tip)
    case 'fee_asset':
      return option(unsigned.feeAsset)
    case 'metadata_mode':
      return Buffer.of(unsigned.metadataHash === null ? 0 : 1)
    case 'spec_version':
      return fixedWidth(BigInt(unsigned.specVersion), U32_BYTES)
    case 'transaction_version':
      return fixedWidth(BigInt(unsigned.transactionVersion), U32_BYTES)
    case 'genesis_hash':
      return fromHex(unsigned.genesisHash)
    case 'birth_hash':
      return fromHex(unsigned.blockHash)
    case 'metadata_hash':
      return option(unsigned.metadataHash)
    default:
      return fromHex(part)
  }
}

const extraOf = (unsigned: SubstrateUnsigned): Buffer =>
  Buffer.concat(unsigned.form.extra.map((part) => bytesOf(unsigned, part)))

/** What to sign. Pure. */
export const payloadOf = (unsigned: SubstrateUnsigned): Payload => {
  const { implicit, addressPrefix, signaturePrefix } = unsigned.form
  return {
    kind: 'extrinsic',
    call: fromHex(unsigned.call),
    extra: extraOf(unsigned),
    implicit: Buffer.concat(implicit.map((part) => bytesOf(unsigned, part))),
    addressPrefix: fromHex(addressPrefix),
    signaturePrefix: fromHex(signaturePrefix),
  }
}

/** Encodes the signed extrinsic with its length prefix, and hashes it. @param signature sr25519, 64 bytes. Pure. */
export const assemble = (unsigned: SubstrateUnsigned, signature: Uint8Array): Signed => {
  if (signature.length !== SIGNATURE_BYTES) throw new Error(`expected ${SIGNATURE_BYTES} bytes of an sr25519 signature`)
  const { addressPrefix, signaturePrefix } = unsigned.form
  const publicKey = publicKeyOf(unsigned.from)
  if (publicKey === null) throw new Error('expected the address of the signer')
  const body = Buffer.concat([
    SIGNED_VERSION,
    fromHex(addressPrefix),
    publicKey,
    fromHex(signaturePrefix),
    signature,
    extraOf(unsigned),
    fromHex(unsigned.call),
  ])
  const raw = Buffer.concat([compact(BigInt(body.length)), body])
  return { raw: toHex(raw), hash: toHex(blake2Hash(raw)) }
}
