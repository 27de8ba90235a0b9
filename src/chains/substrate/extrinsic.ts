// Encodes extrinsics of version 4: the bytes to sign, and the signed extrinsic. It does not use the codec, because the
// codec chooses types by the names in the metadata, and a node may give forged metadata.

import type { Payload } from '../../vault/language/payload.ts'
import type { Hex, Signed, SubstrateUnsigned } from '../chain.ts'
import { publicKeyOf } from './address.ts'
import { blake2Hash, compact, fixedWidth, fromHex, toHex } from './scale.ts'
import type { Part } from './signed-extensions.ts'

/** Version 4; the highest bit means signed. */
const SIGNED_VERSION = Uint8Array.of(0x84)
const SIGNATURE_BYTES = 64
const U32_BYTES = 4

/** sp_runtime, Era. A mortal era has the period, a power of two, and the phase of the first block in it. Pure. */
export const eraBytes = (era: SubstrateUnsigned['era']): Buffer => {
  if (era === null) return Buffer.of(0)
  const { current, period } = era
  // For long periods the phase is encoded in steps of several blocks.
  const step = Math.max(period >> 12, 1)
  const phase = Math.floor((current % period) / step)
  const low = Math.min(15, Math.max(1, Math.log2(period) - 1))
  return fixedWidth(BigInt(low | (phase << 4)), 2)
}

const option = (content: Hex | null): Buffer =>
  content === null ? Buffer.of(0) : Buffer.concat([Uint8Array.of(1), fromHex(content)])

const ENCODERS: Readonly<Record<Exclude<Part, Hex>, (unsigned: SubstrateUnsigned) => Buffer>> = {
  era: ({ era }) => eraBytes(era),
  nonce: ({ nonce }) => compact(BigInt(nonce)),
  tip: ({ tip }) => compact(tip),
  fee_asset: ({ feeAsset }) => option(feeAsset),
  metadata_mode: ({ metadataHash }) => Buffer.of(metadataHash === null ? 0 : 1),
  spec_version: ({ specVersion }) => fixedWidth(BigInt(specVersion), U32_BYTES),
  transaction_version: ({ transactionVersion }) => fixedWidth(BigInt(transactionVersion), U32_BYTES),
  genesis_hash: ({ genesisHash }) => fromHex(genesisHash),
  birth_hash: ({ blockHash }) => fromHex(blockHash),
  metadata_hash: ({ metadataHash }) => option(metadataHash),
}

const isConstant = (part: Part): part is Hex => part.startsWith('0x')

const encodeParts = (unsigned: SubstrateUnsigned, parts: readonly Part[]): Buffer =>
  Buffer.concat(parts.map((part) => (isConstant(part) ? fromHex(part) : ENCODERS[part](unsigned))))

export const payloadOf = (unsigned: SubstrateUnsigned): Payload => {
  const { extra, implicit, addressPrefix, signaturePrefix } = unsigned.form
  return {
    kind: 'extrinsic',
    call: fromHex(unsigned.call),
    extra: encodeParts(unsigned, extra),
    implicit: encodeParts(unsigned, implicit),
    addressPrefix: fromHex(addressPrefix),
    signaturePrefix: fromHex(signaturePrefix),
  }
}

/** Encodes the signed extrinsic with its length prefix, and hashes it. @param signature sr25519, 64 bytes. Pure. */
export const assemble = (unsigned: SubstrateUnsigned, signature: Uint8Array): Signed => {
  if (signature.length !== SIGNATURE_BYTES) throw new Error(`expected ${SIGNATURE_BYTES} bytes of an sr25519 signature`)
  const { extra, addressPrefix, signaturePrefix } = unsigned.form
  const publicKey = publicKeyOf(unsigned.from)
  if (publicKey === null) throw new Error('expected the address of the signer')
  const body = Buffer.concat([
    SIGNED_VERSION,
    fromHex(addressPrefix),
    publicKey,
    fromHex(signaturePrefix),
    signature,
    encodeParts(unsigned, extra),
    fromHex(unsigned.call),
  ])
  const raw = Buffer.concat([compact(BigInt(body.length)), body])
  return { raw: toHex(raw), hash: toHex(blake2Hash(raw)) }
}
