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
