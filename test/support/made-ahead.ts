/** Makes one more while the test that took one runs: most of its time is waiting, for which the next file need not wait. */
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
