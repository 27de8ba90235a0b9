/** Castagnoli's polynomial, its bits reversed. */
const POLYNOMIAL = 0x82f63b78

/** CRC-32C (RFC 3720 §12.1, appendix B.4), bit by bit: it runs over a few hundred bytes at a time. */
export const crc32c = (bytes: Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ ((crc & 1) === 1 ? POLYNOMIAL : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}
