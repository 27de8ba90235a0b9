import { keccak_256 } from '@noble/hashes/sha3.js'

/** An address by EIP-55. Pure. @param digits 40 digits of lower-case hex. */
export const withChecksum = (digits: string): string => {
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString('hex')
  const letters = [...digits].map((digit, at) => ((hash[at] ?? '0') >= '8' ? digit.toUpperCase() : digit))
  return `0x${letters.join('')}`
}
