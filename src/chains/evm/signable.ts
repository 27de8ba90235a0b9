// What to sign, with the signature in the form that contracts accept: r ‖ s ‖ v.

import type { Payload } from '../../vault/language/payload.ts'
import type { Hex } from '../chain.ts'
import type { Signable } from '../contract-wallets.ts'
import { hexText } from '../node/wire.ts'

/** v is 27 or 28 (Yellow Paper, appendix F). @param signature 65 bytes: r, s, recovery id (0 or 1) @throws Error for any other. */
const withV = (signature: Uint8Array): Hex => {
  const recoveryId = signature[64]
  if (signature.length !== 65 || (recoveryId !== 0 && recoveryId !== 1)) {
    throw new Error('expected a signature of 65 bytes ending in a recovery id of 0 or 1')
  }
  return hexText(`0x${Buffer.from(signature.subarray(0, 64)).toString('hex')}${(27 + recoveryId).toString(16)}`)
}

/** `finish` turns r ‖ s ‖ v into the result. Pure. */
export const signable = <Result>(payload: Payload, finish: (signature: Hex) => Result): Signable<Result> => ({
  payload,
  with: (signature) => finish(withV(signature)),
})
