/** Whether the long versions of tests run, as in `bun run test:long`. */
export const isLong = process.env.STRONGROOM_LONG === '1'

/** Whether a test is left to the long run; says so. @param what the test shows */
export const isLeftOut = (what: string): boolean => {
  if (!isLong) console.log(`Not run: ${what}. \`bun run test:long\` runs it.`)
  return !isLong
}
