// Signatures of messages by sr25519 keys. Wallets wrap what is no transaction in <Bytes>…</Bytes>, so that nobody can have a
// transaction signed as a message (polkadot-js, `signRaw`); programs with a key sign it as it is.

import { sr25519Verify } from '@polkadot/util-crypto/sr25519'
import type { SignedMessage } from '../chain.ts'
import { publicKeyOf } from './address.ts'

const SIGNATURE_BYTES = 64
/** MultiSignature's tag of sr25519; ed25519 (0) and ECDSA (2) are not taken. */
const SR25519_TAG = 1

const bareSignature = (signature: Uint8Array): Uint8Array | null => {
  if (signature.length === SIGNATURE_BYTES) return signature
  return signature.length === SIGNATURE_BYTES + 1 && signature[0] === SR25519_TAG ? signature.subarray(1) : null
}

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
