/** Makes one more while the tests that took one run, as most of the time of making it is spent waiting. */
export const madeAhead = <Made>(make: () => Promise<Made>): (() => Promise<Made>) => {
  let next: Promise<Made> | undefined
  return () => {
    const taken = next ?? make()
    next = taken.then(make, make)
    // Whoever takes it gets its error.
    next.catch(() => {})
    return taken
  }
}
