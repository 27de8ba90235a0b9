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

/**
 * Key bytes that live for one block: `using keys = new HeldKeys()` zeroes whatever was held when the block is left, by
 * return or by throw (it is the language's own `finally`). What must live on is not held, and whoever receives it zeroes it.
 * Strings (a PIN, a secret, a phrase) cannot be zeroed in JavaScript, so keys are bytes from end to end.
 */
export class HeldKeys implements Disposable {
  readonly #held: Uint8Array[] = []

  hold<Key extends Uint8Array>(key: Key): Key {
    this.#held.push(key)
    return key
  }

  [Symbol.dispose](): void {
    for (const key of this.#held) key.fill(0)
  }
}
