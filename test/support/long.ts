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
