/**
 * Bounds how often something is done, however often it is asked for.
 * @returns a function that does it, or gives what it began less than `intervalMs` ago.
 */
export const atMostEvery = <Result>(intervalMs: number, work: () => Promise<Result>): (() => Promise<Result>) => {
  let begun: { readonly atMs: number; readonly result: Promise<Result> } | null = null
  return () => {
    const nowMs = performance.now()
    if (begun === null || nowMs - begun.atMs >= intervalMs) begun = { atMs: nowMs, result: work() }
    return begun.result
  }
}
