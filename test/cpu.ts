// The script behind `bun run test:cpu`: the CPU seconds of each test file with all processes that it starts, dearest
// first. Each file runs by itself, on a PostgreSQL of its own, so the sum is more than a whole run takes: that one
// shares the server, and loads its modules three times. Arguments choose files by a part of their path. It fails for a
// file over the budget: what takes more goes to the long run (test/support/long.ts).

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scriptsIn } from './support/imports.ts'
import { bundlePrograms } from './support/programs.ts'

const RUN = fileURLToPath(new URL('run.ts', import.meta.url))
const MICROSECONDS = 1_000_000

/**
 * What one file may take by itself. Some four seconds of it are its PostgreSQL and its modules, which a whole run
 * shares.
 */
const BUDGET_SECONDS = 25

type Cost = { readonly path: string; readonly seconds: number; readonly hasPassed: boolean }

const measure = async (path: string, programs: Readonly<Record<string, string>>): Promise<Cost> => {
  const env = { ...process.env, ...programs }
  const run = Bun.spawn([process.execPath, RUN, path], { env, stdout: 'ignore', stderr: 'ignore' })
  const hasPassed = (await run.exited) === 0
  // With what the process waited for (getrusage(2)).
  return { path, seconds: Number(run.resourceUsage()?.cpuTime.total ?? 0) / MICROSECONDS, hasPassed }
}

const lineOf = ({ path, seconds, hasPassed }: Cost): string =>
  `${seconds.toFixed(1).padStart(7)} s  ${path}${hasPassed ? '' : '  (failed)'}`

const measureAll = async (paths: readonly string[]): Promise<readonly Cost[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-programs-'))
  try {
    const programs = await bundlePrograms(folder)
    const costs: Cost[] = []
    for (const path of paths) {
      const cost = await measure(path, programs)
      costs.push(cost)
      process.stderr.write(`${lineOf(cost)}\n`)
    }
    return costs.toSorted((one, other) => other.seconds - one.seconds)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const parts = process.argv.slice(2)
const isChosen = (path: string) => parts.length === 0 || parts.some((part) => path.includes(part))
const costs = await measureAll(scriptsIn('test').filter((path) => path.endsWith('.test.ts') && isChosen(path)))
for (const cost of costs) console.log(lineOf(cost))
const seconds = costs.reduce((sum, cost) => sum + cost.seconds, 0)
console.log(lineOf({ path: `${costs.length} files`, seconds, hasPassed: costs.every((cost) => cost.hasPassed) }))
const over = costs.filter((cost) => cost.seconds > BUDGET_SECONDS)
if (over.length > 0) {
  console.log(`Over the budget of ${BUDGET_SECONDS} s a file: ${over.map(({ path }) => path).join(', ')}.`)
  process.exitCode = 1
}
