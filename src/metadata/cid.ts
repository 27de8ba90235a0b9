// The name that IPFS gives to a small file: CIDv1, codec raw, SHA-256, base32 (the CID specification, multiformats). A file
// of one block is its own digest, so it is known before any node is asked, and a node's answer can be checked.

/** CIDv1, raw, sha2-256, 32 bytes. */
const PREFIX = '01551220'
const DIGEST_DIGITS = 64
/** 36 bytes are 288 bits: 58 digits of 5 bits, the last two bits zero. */
const DIGITS = 58
const PADDING_BITS = 2n
/** RFC 4648 §6 in lower case, against the digits of BigInt. */
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
const CID = /^b[a-z2-7]{58}$/

/** @param digest SHA-256 in lower-case hex. Pure. */
export const cidOf = (digest: string): string => {
  const digits = (BigInt(`0x${PREFIX}${digest}`) << PADDING_BITS).toString(32).padStart(DIGITS, '0')
  return `b${digits.replace(/./g, (digit) => BASE32[Number.parseInt(digit, 32)] ?? '')}`
}

/** The digest in a CID as `cidOf` makes it; null for any other. Pure. */
export const digestOfCid = (cid: string): string | null => {
  if (!CID.test(cid)) return null
  const number = [...cid.slice(1)].reduce((sum, digit) => sum * 32n + BigInt(BASE32.indexOf(digit)), 0n)
  const digest = (number >> PADDING_BITS).toString(16).slice(-DIGEST_DIGITS)
  return cidOf(digest) === cid ? digest : null
}
