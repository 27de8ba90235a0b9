// The script behind `bun run test`: one PostgreSQL and one bundle of the programs for the whole run, then `bun test` over test/,
// then one closing line. Three files run at a time, as many wait for a chain or a process, each process with its modules loaded
// once. Arguments go to `bun test`: `bun run test wallets` runs the files with "wallets" in their path. Files named
// `*.long.test.ts` run in `bun run test:long` alone.

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { scriptsIn } from './support/imports.ts'
import { quickFolder, startTestPostgres } from './support/postgres.ts'
import { bundlePrograms } from './support/programs.ts'

/** The result of one run of `bun test`. */
export type Tally = { readonly passed: number; readonly failed: number; readonly skipped: number }

/** As `isLong` of test/support/long.ts, which only a test may import. */
const IS_LONG = process.env.STRONGROOM_LONG === '1'
const TIMEOUT_MS = IS_LONG ? 1_800_000 : 180_000
const LANES = 3
const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))

/**
 * How the engine of the test processes works; the processes that tests start have an environment of their own. Most code runs
 * a few times, so that the last compiler (FTL) takes longer than what it makes saves. Memory is collected when it has grown, not
 * each second.
 */
const ENGINE = { BUN_JSC_useFTLJIT: '0', BUN_GC_TIMER_DISABLE: '1' } as const

/**
 * Reads the counts that `bun test` prints at its end. A bad exit without a failed test (a crash, or an error outside any
 * test) counts as one more failure. If the counts are missing, each test's own line is counted.
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

/** Begins of the paths of the files that take longest, about ten seconds and more. */
export const LONGEST = [
  ...['test/client/react', 'test/console/', 'test/e2e/', 'test/openapi/', 'test/restore/'],
  ...['test/environment/start', 'test/wallets/crash'],
  ...['test/policies/forged-policies', 'test/policies/limits', 'test/policies/lying-node', 'test/policies/property'],
  ...['test/transactions/crash', 'test/transactions/database-restart', 'test/transactions/explore'],
  ...['test/transactions/faults', 'test/transactions/outside', 'test/transactions/substrate'],
]

/**
 * What `bun test` reads as the durations of an earlier run: it begins with the longest files, so that at the end no core waits for
 * one of them. It takes an unknown file for the longest of all, so each is named.
 */
export const timingsOf = (paths: readonly string[]): string => {
  const isLongest = (path: string) => LONGEST.some((begin) => path.startsWith(begin))
  return JSON.stringify({ version: 1, files: Object.fromEntries(paths.map((path) => [path, isLongest(path) ? 2 : 1])) })
}

const ERROR_LINES_MAX = 40

/**
 * What was printed before each failed test, its error among it: the whole output may be too long for those who read it later.
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

const runTests = (
  variables: Readonly<Record<string, string>>,
  timings: string,
): Promise<Tally & { readonly output: string }> =>
  new Promise((resolve, reject) => {
    const args = [
      'test',
      '--no-orphans',
      `--parallel=${LANES}`,
      '--no-isolate',
      `--timings=${timings}`,
      `--timeout=${TIMEOUT_MS}`,
      ...(IS_LONG ? [] : ['--path-ignore-patterns=**/*.long.test.ts']),
    ]
    const child = spawn(process.execPath, [...args, ...process.argv.slice(2)], {
      cwd: REPOSITORY,
      env: { ...ENGINE, ...process.env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const pass = (target: NodeJS.WriteStream) => (chunk: Buffer) => {
      output += chunk.toString()
      target.write(chunk)
    }
    child.stdout.on('data', pass(process.stdout))
    child.stderr.on('data', pass(process.stderr))
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal))
    child.once('error', reject)
    child.once('close', (code) => resolve({ ...tally(output, code ?? 1), output }))
  })

const main = async (): Promise<void> => {
  const name = `strongroom-test-${process.pid}-`
  const folder = await mkdtemp(join(tmpdir(), name))
  const quick = await mkdtemp(join(quickFolder(), name))
  const server = await startTestPostgres(join(quick, 'postgres'))
  let result: Awaited<ReturnType<typeof runTests>>
  try {
    const programs = await bundlePrograms(join(folder, 'programs'))
    const timings = join(folder, 'timings.json')
    const scripts = scriptsIn('test')
    await writeFile(timings, timingsOf(scripts))
    const left = IS_LONG ? [] : scripts.filter((path) => path.endsWith('.long.test.ts'))
    if (left.length > 0) console.log(`Not run: ${left.join(', ')}. \`bun run test:long\` runs them.`)
    result = await runTests({ ...programs, STRONGROOM_TEST_POSTGRES_URL: server.url }, timings)
  } finally {
    await server.stop()
    for (const each of [folder, quick]) await rm(each, { recursive: true, force: true, maxRetries: 5 })
  }
  for (const each of failures(result.output)) process.stdout.write(`\nFailed:\n${each}\n`)
  process.stdout.write(`\n${closingLine(result)}\n`)
  process.exitCode = result.failed > 0 || result.passed === 0 ? 1 : 0
}

if (import.meta.main) await main()
