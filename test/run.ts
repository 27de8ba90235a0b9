// The script behind `bun run test`: one PostgreSQL and one bundle of the programs, then `bun test` over test/, then one
// closing line. Two files run at a time, each process with its modules loaded once: a third process takes more CPU time
// than it finds free. Arguments go to `bun test`: `bun run test wallets` runs the files with "wallets" in their path.
// Files named `*.long.test.ts` run in `bun run test:long` alone. With `--touched`, as in `.ci/run`, the long cases of
// what the last day's commits touched run afterwards (test/touched.ts).

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { scriptsIn } from './support/imports.ts'
import { quickFolder, startRunPostgres } from './support/postgres.ts'
import { bundlePrograms } from './support/programs.ts'
import { changedPaths, longFiles, touchedBy } from './touched.ts'

/** The result of one run of `bun test`. */
export type Tally = { readonly passed: number; readonly failed: number; readonly skipped: number }

/** As `isLong` of test/support/long.ts, which only a test may import. */
const IS_LONG = process.env.STRONGROOM_LONG === '1'
const TIMEOUT_MS = 180_000
const LONG_TIMEOUT_MS = 1_800_000
const LANES = 2

/** Some long cases measure how long something takes, so fewer run beside each other. */
const TOUCHED_LANES = 2

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

const TOUCHED = '--touched'
/**
 * Minutes after the beginning of the run: when no further file with touched long cases begins, and when those that run
 * are ended. With what `.ci/run` does before, it takes less than 20 minutes.
 */
const TOUCHED_BEGIN_MINUTES = 12
const TOUCHED_END_MINUTES = 16
/** For test/transactions/nodes-soak.long.test.ts, which else takes a quarter of an hour. */
const SOAK_SECONDS = '120'
const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))

/**
 * How the engine of the test processes works; the processes that tests start have an environment of their own. Most
 * code runs a few times, so that the last compiler (FTL) takes longer than what it makes saves. Memory is collected
 * when it has grown, not each second.
 */
const ENGINE = { BUN_JSC_useFTLJIT: '0', BUN_GC_TIMER_DISABLE: '1' } as const

/**
 * Reads the counts that `bun test` prints at its end. A bad exit without a failed test (a crash, or an error outside
 * any test) counts as one more failure. If the counts are missing, each test's own line is counted.
 */
export const tally = (output: string, exitCode: number): Tally => {
  const text = stripVTControlCharacters(output)
  const closing = (word: string): number | undefined => {
    const last = [...text.matchAll(new RegExp(`^ *([0-9]+) ${word}$`, 'gm'))].at(-1)
    return last === undefined ? undefined : Number(last[1])
  }
  const lines = (word: string): number => [...text.matchAll(new RegExp(`^\\(${word}\\) `, 'gm'))].length
  const failed = closing('fail') ?? lines('fail')
  const endedWell = exitCode === 0 && /^Ran [0-9]+ tests? /m.test(text)
  return {
    passed: closing('pass') ?? lines('pass'),
    failed: failed === 0 && !endedWell ? 1 : failed,
    skipped: (closing('skip') ?? 0) + (closing('todo') ?? 0),
  }
}

/** The last line of a run. */
export const closingLine = ({ passed, failed, skipped }: Tally): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

/** Begins of the paths of the files that take longest, about four seconds and more. */
export const LONGEST = [
  'test/cli/audit',
  'test/cli/project',
  'test/cli/tx',
  'test/client/client',
  'test/client/evm',
  'test/client/package',
  'test/e2e/',
  'test/freezes/freeze',
  'test/idempotency/idempotency',
  'test/issuers/callers',
  'test/keys/',
  'test/metrics/metrics',
  'test/policies/contract-wallets',
  'test/restore/',
  'test/security/taken-api',
  'test/security/vault-memory',
  'test/transactions/faults',
  'test/transactions/send',
  'test/transactions/sign-payload',
  'test/transactions/substrate',
  'test/users/challenge',
  'test/users/email',
  'test/users/passkeys',
  'test/users/reach',
  'test/vault/new-wallet',
  'test/vault/user-secrets',
  'test/wallets/forged-wallets',
  'test/wallets/guess-limit',
  'test/webhooks/deliver',
]

/**
 * What `bun test` reads as the durations of an earlier run: it begins with the longest files, so that at the end no
 * core waits for one of them. It takes an unknown file for the longest of all, so each is named.
 */
export const timingsOf = (paths: readonly string[]): string => {
  const isLongest = (path: string) => LONGEST.some((begin) => path.startsWith(begin))
  return JSON.stringify({ version: 1, files: Object.fromEntries(paths.map((path) => [path, isLongest(path) ? 2 : 1])) })
}

const ERROR_LINES_MAX = 40

/**
 * What was printed before each failed test, its error among it: the whole output may be too long for those who read it
 * later.
 * @returns one text for each failed test
 */
export const failures = (output: string): readonly string[] => {
  const lines = stripVTControlCharacters(output).split('\n')
  const closing = lines.findLastIndex((line) => /^[0-9]+ tests? failed:$/.test(line))
  return lines.slice(0, closing < 0 ? undefined : closing).flatMap((line, index) => {
    if (!line.startsWith('(fail) ')) return []
    const before = lines.slice(Math.max(0, index - ERROR_LINES_MAX), index)
    const other = before.findLastIndex((each) => /^\((pass|fail|skip)\) /.test(each))
    return [[...before.slice(other + 1), line].join('\n')]
  })
}

type Run = Tally & { readonly output: string }

/** Runs `bun test`. @param input.stopping ends it in the middle: what it had shown by then is its result */
const runBunTest = (input: {
  readonly args: readonly string[]
  readonly variables: Readonly<Record<string, string>>
  /** What is not shown at once is shown as a whole at the end, so that files that run at a time do not mix. */
  readonly isShownAtOnce: boolean
  readonly stopping?: AbortSignal
}): Promise<Run> =>
  new Promise((resolve, reject) => {
    const { args, variables, isShownAtOnce, stopping } = input
    const child = spawn(process.execPath, ['test', '--no-orphans', ...args], {
      cwd: REPOSITORY,
      env: { ...ENGINE, ...process.env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const pass = (target: NodeJS.WriteStream) => (chunk: Buffer) => {
      output += chunk.toString()
      if (isShownAtOnce) target.write(chunk)
    }
    child.stdout.on('data', pass(process.stdout))
    child.stderr.on('data', pass(process.stderr))
    const stop = () => child.kill('SIGTERM')
    for (const signal of SIGNALS) process.once(signal, stop)
    stopping?.addEventListener('abort', stop)
    child.once('error', reject)
    child.once('close', (code) => {
      stopping?.removeEventListener('abort', stop)
      for (const signal of SIGNALS) process.off(signal, stop)
      if (!isShownAtOnce) process.stdout.write(output)
      const all = tally(output, code ?? 1)
      resolve({ ...all, failed: stopping?.aborted ? failures(output).length : all.failed, output })
    })
  })

const runSuite = (
  variables: Readonly<Record<string, string>>,
  timings: string,
  chosen: readonly string[],
): Promise<Run> =>
  runBunTest({
    args: [
      `--parallel=${LANES}`,
      '--no-isolate',
      `--timings=${timings}`,
      `--timeout=${IS_LONG ? LONG_TIMEOUT_MS : TIMEOUT_MS}`,
      ...(IS_LONG ? [] : ['--path-ignore-patterns=**/*.long.test.ts']),
      ...chosen,
    ],
    variables,
    isShownAtOnce: true,
  })

/**
 * Runs the long cases of what the last day's commits touched, until the time is over.
 * @param input.begunAt when the whole run began, by `performance.now()`
 */
const runTouched = async (input: {
  readonly variables: Readonly<Record<string, string>>
  readonly begunAt: number
}): Promise<readonly Run[]> => {
  const changed = changedPaths()
  if (typeof changed === 'string') {
    console.log(`\n${changed} No long cases run.`)
    return []
  }
  const left = [...touchedBy({ changed, long: longFiles() })]
  console.log(`\nThe commits of the last day touched ${left.length} files with long cases.`)
  const remaining = (minutes: number) => input.begunAt + minutes * 60_000 - performance.now()
  const stopping = new AbortController()
  const timer = setTimeout(() => stopping.abort(), remaining(TOUCHED_END_MINUTES))
  const variables = { STRONGROOM_SOAK_SECONDS: SOAK_SECONDS, ...input.variables, STRONGROOM_LONG: '1' }
  const runs: Run[] = []
  const runLane = async () => {
    while (remaining(TOUCHED_BEGIN_MINUTES) > 0) {
      const path = left.shift()
      if (path === undefined) return
      const args = [`--timeout=${LONG_TIMEOUT_MS}`, `./${path}`]
      runs.push(await runBunTest({ args, variables, isShownAtOnce: false, stopping: stopping.signal }))
      if (stopping.signal.aborted) console.log(`Ended in the middle, as the time was over: ${path}.`)
    }
  }
  await Promise.all(Array.from({ length: TOUCHED_LANES }, runLane))
  clearTimeout(timer)
  if (left.length > 0) console.log(`\nNot run, as the time was over: ${left.join(', ')}.`)
  return runs
}

const sumOf = (runs: readonly Tally[]): Tally => ({
  passed: runs.reduce((sum, { passed }) => sum + passed, 0),
  failed: runs.reduce((sum, { failed }) => sum + failed, 0),
  skipped: runs.reduce((sum, { skipped }) => sum + skipped, 0),
})

const main = async (): Promise<void> => {
  const begunAt = performance.now()
  const chosen = process.argv.slice(2).filter((argument) => argument !== TOUCHED)
  const name = `strongroom-test-${process.pid}-`
  const folder = await mkdtemp(join(tmpdir(), name))
  const quick = await mkdtemp(join(quickFolder(), name))
  const [server, programs] = await Promise.all([
    startRunPostgres(join(quick, 'postgres')),
    bundlePrograms(join(folder, 'programs')),
  ])
  const runs: Run[] = []
  try {
    const timings = join(folder, 'timings.json')
    const scripts = scriptsIn('test')
    await writeFile(timings, timingsOf(scripts))
    const left = IS_LONG ? [] : scripts.filter((path) => path.endsWith('.long.test.ts'))
    if (left.length > 0) console.log(`Not run: ${left.join(', ')}. \`bun run test:long\` runs them.`)
    const { url, sockets } = server
    const database = { STRONGROOM_TEST_POSTGRES_URL: url, STRONGROOM_TEST_POSTGRES_SOCKETS: sockets }
    const variables = { ...programs, ...database }
    runs.push(await runSuite(variables, timings, chosen))
    if (process.argv.includes(TOUCHED)) runs.push(...(await runTouched({ variables, begunAt })))
  } finally {
    await server.stop()
    for (const each of [folder, quick]) await rm(each, { recursive: true, force: true, maxRetries: 5 })
  }
  for (const each of runs.flatMap(({ output }) => failures(output))) process.stdout.write(`\nFailed:\n${each}\n`)
  const result = sumOf(runs)
  process.stdout.write(`\n${closingLine(result)}\n`)
  process.exitCode = result.failed > 0 || result.passed === 0 ? 1 : 0
}

if (import.meta.main) await main()
