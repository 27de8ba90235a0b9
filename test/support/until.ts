const PATIENCE_MS = 60_000
const POLL_MS = 20

/**
 * Looks again and again until it is right, by default: true. @returns what it saw then @throws Error if that takes too
 * long
 */
export const until = async <Value>(
  look: () => Value | Promise<Value>,
  isRight: (value: Value) => boolean = (value) => value === true,
  timeoutMs = PATIENCE_MS,
): Promise<Value> => {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const begunAt = performance.now()
    const value = await look()
    if (isRight(value)) return value
    if (performance.now() > deadline) throw new Error(`it did not come to that: ${Bun.inspect(value).slice(-2_000)}`)
    // Looks take at most a third of the time: the rest is for what they wait for.
    await Bun.sleep(Math.max(POLL_MS, 2 * (performance.now() - begunAt)))
  }
}
