const LENGTH_BYTES = 4

/**
 * Joins texts (UTF-8) and bytes, each after its length (4 bytes, big-endian). Different lists of fields give different bytes,
 * so that no list can pass for another under a MAC, a key derivation or an AES-GCM tag.
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
 * The keys of one block: `using keys = new HeldKeys()` zeroes all that it holds when the block ends, by return or by throw.
 * A key that outlives the block is not held; who receives it zeroes it. Strings cannot be zeroed, so keys are bytes.
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
