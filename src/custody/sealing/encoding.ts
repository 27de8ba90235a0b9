const LENGTH_BYTES = 4

/**
 * Texts (UTF-8) and bytes as one byte string, each behind its length (4 bytes, big-endian): no two different lists of
 * fields give the same bytes, so none can be taken for another under a MAC, a key derivation or an AES-GCM tag.
 */
export const encodeFields = (fields: readonly (string | Uint8Array)[]): Uint8Array => {
  const lengthOf = (field: string | Uint8Array) => (typeof field === 'string' ? Buffer.byteLength(field) : field.length)
  let length = 0
  for (const field of fields) length += LENGTH_BYTES + lengthOf(field)
  const encoded = Buffer.allocUnsafe(length)
  let offset = 0
  for (const field of fields) {
    const start = encoded.writeUInt32BE(lengthOf(field), offset)
    if (typeof field === 'string') encoded.write(field, start)
    else encoded.set(field, start)
    offset = start + lengthOf(field)
  }
  return encoded
}
