const LENGTH_BYTES = 4

/**
 * Texts (UTF-8) and bytes as one byte string, each behind its length (4 bytes, big-endian): no two different lists of
 * fields give the same bytes, so none can be taken for another under a MAC, a key derivation or an AES-GCM tag.
 */
export const encodeFields = (fields: readonly (string | Uint8Array)[]): Uint8Array => {
  const parts = fields.map((field) => (typeof field === 'string' ? Buffer.from(field, 'utf8') : field))
  const encoded = Buffer.alloc(parts.reduce((length, part) => length + LENGTH_BYTES + part.length, 0))
  let offset = 0
  for (const part of parts) {
    offset = encoded.writeUInt32BE(part.length, offset)
    encoded.set(part, offset)
    offset += part.length
  }
  return encoded
}
