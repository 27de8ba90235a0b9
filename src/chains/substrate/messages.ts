// Signatures of messages by sr25519 keys. Wallets wrap what is no transaction in <Bytes>…</Bytes>, so that nobody can have a
// transaction signed as a message (polkadot-js, `signRaw`); programs with a key sign it as it is.
//
// What is signed for an extrinsic ends in what its extensions imply: hashes of the genesis, of a block and perhaps of the
// metadata, or the byte 0 for none of it. Nobody chooses those to end in `</Bytes>`, and `>` is not 0. Where it is longer than
// 256 bytes, its BLAKE2b-256 is signed instead: for that to begin and to end as a wrapped message does, 15 bytes must be met
// by chance (2^-120).

import { sr25519Verify } from '@polkadot/util-crypto/sr25519'
import type { Hex, SignedMessage } from '../chain.ts'
import type { Signable } from '../contract-wallets.ts'
import { publicKeyOf } from './address.ts'

const SIGNATURE_BYTES = 64
/** MultiSignature's tag of sr25519; ed25519 (0) and ECDSA (2) are not taken. */
const SR25519_TAG = 1

const bareSignature = (signature: Uint8Array): Uint8Array | null => {
  if (signature.length === SIGNATURE_BYTES) return signature
  return signature.length === SIGNATURE_BYTES + 1 && signature[0] === SR25519_TAG ? signature.subarray(1) : null
}

const OPENING = Buffer.from('<Bytes>')
const CLOSING = Buffer.from('</Bytes>')

const startsWith = (bytes: Uint8Array, start: Uint8Array) =>
  Buffer.compare(bytes.subarray(0, start.length), start) === 0
const endsWith = (bytes: Uint8Array, end: Uint8Array) => Buffer.compare(bytes.subarray(-end.length), end) === 0

/**
 * As `u8aWrapBytes` of polkadot-js, what is wrapped already stays as it is; but that leaves bare, too, what begins as a
 * message of EIP-191 does, and such bytes could be of a call: here they are wrapped as all others.
 */
const wrapped = (message: Uint8Array): Uint8Array =>
  startsWith(message, OPENING) && endsWith(message, CLOSING) ? message : Buffer.concat([OPENING, message, CLOSING])

/** By a key for its own address. Pure. */
export const keyMessage = (message: Uint8Array): Signable<Hex> => ({
  bytes: wrapped(message),
  with: (signature) => {
    if (signature.length !== SIGNATURE_BYTES) throw new Error('expected 64 bytes of an sr25519 signature')
    return `0x${Buffer.from(signature).toString('hex')}`
  },
})

/** Whether the sr25519 key of an address, with whichever prefix, signed a message. Pure. */
export const isSignedByKey = ({ address, message, signature }: SignedMessage): boolean => {
  const publicKey = publicKeyOf(address)
  const bare = bareSignature(Buffer.from(signature.slice(2), 'hex'))
  if (publicKey === null || bare === null) return false
  return [`<Bytes>${message}</Bytes>`, message].some((text) => {
    try {
      return sr25519Verify(Buffer.from(text, 'utf8'), bare, publicKey)
    } catch {
      // Not all 64 bytes are a signature.
      return false
    }
  })
}
