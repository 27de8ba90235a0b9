import { test } from 'bun:test'

/** Whether the long versions of tests run, as in `bun run test:long`. */
export const isLong = process.env.STRONGROOM_LONG === '1'

/** Whether a test is left to the long run; says so. @param what the test shows */
export const isLeftOut = (what: string): boolean => {
  if (!isLong) console.log(`Not run: ${what}. \`bun run test:long\` runs it.`)
  return !isLong
}

/** A test of the long run only. A short case of the same beside it, and a line in docs/testing.md, say what remains. */
export const longTest = (...[name, ...rest]: Parameters<typeof test>): void =>
  test.skipIf(isLeftOut(String(name)))(name, ...rest)

/** Of many cases of one kind all in the long run, and in the suite the first of each so many. */
export const someOf = <const Case>(cases: readonly Case[], step: number): readonly Case[] =>
  cases.filter((_, index) => isLong || index % step === 0)

/** Rounds of a random test: all in the long run, and in the suite a fifth. */
export const roundsOf = (all: number): number => (isLong ? all : Math.ceil(all / 5))
