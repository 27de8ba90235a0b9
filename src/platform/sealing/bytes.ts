/**
 * A PIN or a secret: as UTF-8, or as text where the caller has a string already. Over the socket it comes as bytes,
 * which are zeroed with their message: no string is made of them, because nothing can erase one.
 */
export type SecretText = string | Uint8Array

/**
 * Zeros that stay where they are. A small array that was made in another way is moved when its buffer or a view of it
 * is asked for, and the runtime leaves the first place as it was.
 */
export const zeros = (length: number): Uint8Array => new Uint8Array(new ArrayBuffer(length))

/** A copy that stays where it is. */
export const copyOf = (bytes: Uint8Array): Uint8Array => {
  const copy = zeros(bytes.length)
  copy.set(bytes)
  return copy
}

/** Copies the bytes, and zeroes the input. */
export const moved = (bytes: Uint8Array): Uint8Array => {
  const copy = copyOf(bytes)
  bytes.fill(0)
  return copy
}

/** Joins the parts in a buffer that does not move. */
export const joined = (parts: readonly Uint8Array[]): Uint8Array => {
  const whole = zeros(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Its UTF-8; of bytes, a view of them. */
export const utf8Of = (text: SecretText): Buffer =>
  typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.length)

const LENGTH_BYTES = 4

/**
 * Joins texts (UTF-8) and bytes, each after its length (4 bytes, big-endian). Different lists of fields give different
 * bytes, so that no list can pass for another under a MAC, a key derivation or an AES-GCM tag.
 */
export const encodeFields = (fields: readonly (string | Uint8Array)[]): Uint8Array => {
  const lengthOf = (field: string | Uint8Array) => (typeof field === 'string' ? Buffer.byteLength(field) : field.length)
  let length = 0
  for (const field of fields) length += LENGTH_BYTES + lengthOf(field)
  const encoded = Buffer.from(new ArrayBuffer(length))
  let offset = 0
  for (const field of fields) {
    const start = offset + LENGTH_BYTES
    const written = typeof field === 'string' ? encoded.write(field, start) : field.length
    if (typeof field !== 'string') encoded.set(field, start)
    encoded.writeUInt32BE(written, offset)
    offset = start + written
  }
  return encoded
}

/** The fields of a row that decide, in a fixed order; null for an absent one. */
export type BoundFields = Readonly<Record<string, string | number | bigint | Date | null>>

const textOf = (value: NonNullable<BoundFields[string]>): string =>
  value instanceof Date ? value.toISOString() : String(value)

/** Names and texts of the present ones. Times are ISO 8601, UTC, with ms. */
export const namedTextsOf = (fields: BoundFields): readonly (readonly [string, string])[] =>
  Object.entries(fields).flatMap(([name, value]) => {
    if (value === null) return []
    return [[name, textOf(value)]]
  })

/** The same for `encodeFields`: each text follows its name. Every envelope has some, so there are no lists of pairs. */
export const textsOf = (fields: BoundFields): readonly string[] => {
  const texts: string[] = []
  for (const name of Object.keys(fields)) {
    const value = fields[name] ?? null
    if (value !== null) texts.push(name, textOf(value))
  }
  return texts
}

/**
 * `using keys = new HeldKeys()` zeroes all that it holds when the block ends. A key that outlives the block is not
 * held: its receiver zeroes it. Strings cannot be zeroed, so keys are bytes.
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
