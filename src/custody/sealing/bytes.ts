const LENGTH_BYTES = 4

/**
 * Joins texts (UTF-8) and bytes, each after its length (4 bytes, big-endian). Different lists of fields give different bytes,
 * so that under a MAC, a key derivation or an AES-GCM tag none can be taken for another.
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
 * Key bytes that are needed for one block: `using keys = new HeldKeys()` zeroes all that it holds when the block ends, by
 * return or by throw. A key that outlives the block is not held, and whoever receives it zeroes it.
 * Strings (a PIN, a secret, a phrase) cannot be zeroed in JavaScript, so keys are bytes everywhere.
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
