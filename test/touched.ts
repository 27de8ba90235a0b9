// Which files with long cases the commits of the last day touched: `.ci/run` runs these after the suite.

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT, scriptsIn } from './support/imports.ts'

const DAY_SECONDS = 86_400

/** What a file of tests writes where the long run does more than the suite (test/support/long.ts). */
const LONG_CASES = /\b(?:longTest|someOf|roundsOf|isLong|isLeftOut|STRONGROOM_LONG)\b/

const git = (...args: readonly string[]): string | null => {
  const run = Bun.spawnSync(['git', ...args], { cwd: ROOT, stderr: 'ignore' })
  return run.success ? run.stdout.toString().trim() : null
}

/**
 * The paths that the commits of the last day changed, counted back from the newest one.
 * @returns the reason as a sentence where the history is not there
 */
export const changedPaths = (): readonly string[] | string => {
  const [isShallow, newest] = [git('rev-parse', '--is-shallow-repository'), git('log', '-1', '--format=%ct')]
  if (isShallow === null || newest === null) return 'There is no git history.'
  if (isShallow === 'true') return 'The clone is shallow.'
  const changed = git('log', `--since=${Number(newest) - DAY_SECONDS}`, '--name-only', '--format=') ?? ''
  return [...new Set(changed.split('\n').filter((path) => path !== ''))]
}

/** The test files with long cases. */
export const longFiles = (): readonly string[] =>
  scriptsIn('test').filter(
    (path) =>
      /\.test\.tsx?$/.test(path) &&
      (path.endsWith('.long.test.ts') || LONG_CASES.test(readFileSync(join(ROOT, path), 'utf8'))),
  )

/**
 * The names of a file's folders, as `vault`, `rooms` and `wallets` of `src/vault/rooms/wallets/keyring.ts`; without
 * `src` and `test` themselves.
 */
const foldersOf = (path: string): readonly string[] =>
  dirname(path)
    .split('/')
    .filter((name) => !['.', 'src', 'test'].includes(name))

/**
 * The files of `long` that changed themselves, then those in a test folder with the name of a changed folder, most
 * changes first.
 * @param input.changed paths from the root of the repository
 */
export const touchedBy = (input: {
  readonly changed: readonly string[]
  readonly long: readonly string[]
}): readonly string[] => {
  const changesIn = Map.groupBy(
    input.changed.flatMap((path) => [...new Set(foldersOf(path))]),
    (name) => name,
  )
  const weightOf = (path: string): number =>
    input.changed.includes(path)
      ? Number.POSITIVE_INFINITY
      : Math.max(0, ...foldersOf(path).map((name) => changesIn.get(name)?.length ?? 0))
  return input.long
    .map((path) => ({ path, weight: weightOf(path) }))
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => (one.weight === other.weight ? 0 : other.weight - one.weight))
    .map(({ path }) => path)
}
