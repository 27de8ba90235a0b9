// Ids of passkeys that do not exist, for users who have none and for nobody: whoever asks for an e-mail address again and
// again sees the same ones (Web Authentication Level 3, §14.6.2).

import type { Sealer } from '../custody/sealer.ts'

/** As long as those of widespread authenticators. */
const LENGTHS = [16, 20, 32, 32]
/** One of so many users has two. */
const TWO_OF = 4

/** One or two of them, 16 to 32 bytes each. */
export const decoyCredentialIds = (
  sealer: Sealer,
  of: { readonly projectId: string; readonly name: string; readonly rpId: string },
): readonly Uint8Array[] => {
  const macOf = sealer.authenticator('decoy credential')
  const fields = [of.projectId, of.name, of.rpId]
  const [shape = 0, first = 0, second = 0] = macOf([...fields, 'shape'])
  const lengths = shape % TWO_OF === 0 ? [first, second] : [first]
  return lengths.map((at, index) => macOf([...fields, String(index)]).subarray(0, LENGTHS[at % LENGTHS.length]))
}
