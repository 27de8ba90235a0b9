// Signs and verifies messages with sr25519 keys. Wallets wrap a message in <Bytes>…</Bytes> (polkadot-js, `signRaw`),
// so that a transaction cannot be passed off as a message. Programs with a key sign a message unwrapped, so both are
// verified.
//
// A wrapped message never equals a signing payload of an extrinsic. A payload ends in the implicit data of its
// extensions: the hashes of the genesis, of a block and perhaps of the metadata, or the byte 0 for no metadata hash.
// An attacker cannot choose those hashes to end in `</Bytes>`, and `>` is not 0. A payload above 256 bytes is hashed
// with BLAKE2b-256 before signing: a hash with the opening and the closing tag would have to match 15 bytes by chance
// (2^-120).

import { verify } from '@scure/sr25519'
import type { Hex, SignedMessage } from '../chain.ts'
import type { Signable } from '../contract-wallets.ts'
import { publicKeyOf } from './address.ts'
import { fromHex, toHex } from './scale.ts'

const SIGNATURE_BYTES = 64
/** The tag of sr25519 in MultiSignature; ed25519 (0) and ECDSA (2) are not accepted. */
const SR25519_TAG = 1

const bareSignature = (signature: Uint8Array): Uint8Array | null => {
  if (signature.length === SIGNATURE_BYTES) return signature
  return signature.length === SIGNATURE_BYTES + 1 && signature[0] === SR25519_TAG ? signature.subarray(1) : null
}

/** A message to be signed by a key for its own address. Pure. */
export const keyMessage = (message: Uint8Array): Signable<Hex> => ({
  payload: { kind: 'substrate_message', message },
  with: (signature) => {
    if (signature.length !== SIGNATURE_BYTES) throw new Error('expected 64 bytes of an sr25519 signature')
    return toHex(signature)
  },
})

/** Whether the sr25519 key of an address (with any prefix) signed a message, wrapped or not. Pure. */
export const isSignedByKey = ({ address, message, signature }: SignedMessage): boolean => {
  const publicKey = publicKeyOf(address)
  const bare = bareSignature(fromHex(signature))
  if (publicKey === null || bare === null) return false
  return [`<Bytes>${message}</Bytes>`, message].some((text) => {
    try {
      return verify(Buffer.from(text, 'utf8'), bare, publicKey)
    } catch {
      // The library throws for 64 bytes that are not a valid encoding of a signature.
      return false
    }
  })
}
