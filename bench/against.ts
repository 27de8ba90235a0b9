// `bun run bench --against <commit> [names]`: the same benches here and at another commit, in turns, so that both meet
// the same noise. Compared are the medians of what each bench measures itself: rates, and the CPU time of a request.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './load.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TURNS = 3
/** A figure that is worse than this part of the other commit's fails the comparison. */
const LEAST = 0.9

type Figures = ReadonlyMap<string, number>

const run = async (command: readonly string[], cwd: string): Promise<string> => {
  const child = Bun.spawn([...command], { cwd, stdout: 'pipe', stderr: 'inherit' })
  const output = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed in ${cwd}: ${output.slice(-2_000)}`)
  return output
}

/** Where a figure stands, as `sign.lines.2.runs.transaction.perSecond`. */
const flatten = (value: unknown, path: string): readonly (readonly [string, number])[] => {
  if (typeof value === 'number') return [[path, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => flatten(each, path === '' ? name : `${path}.${name}`))
}

/** Single rounds are in the medians beside them, and the floors are not ours. */
const isCompared = (path: string): boolean =>
  /\.(perSecond|cpuUs\.[a-z]+|cpuMs\.[a-z]+)$/.test(path) && !/\.(rounds|bare|durable)\./.test(path)

/** The sum of all processes counts: work may move from one to another. */
const summed = (figures: readonly (readonly [string, number])[]): Figures => {
  const sums = new Map<string, number>()
  for (const [path, value] of figures.filter(([each]) => isCompared(each))) {
    const name = path.replace(/\.(cpuUs|cpuMs)\.[a-z]+$/, '.cpu')
    // Neither is a part of ours.
    if (/\.(load|node)$/.test(path)) continue
    sums.set(name, (sums.get(name) ?? 0) + value)
  }
  return sums
}

const measure = async (tree: string, names: readonly string[]): Promise<Figures> =>
  summed(flatten(JSON.parse(await run([process.execPath, 'bench/run.ts', '--json', ...names], tree)), ''))

const middle = (turns: readonly Figures[], name: string): number | null => {
  const values = turns.flatMap((figures) => figures.get(name) ?? [])
  return values.length === 0 ? null : median(values)
}

/** Prints both sides of each figure. @returns whether none is worse than nine tenths. */
export const benchAgainst = async (commit: string, names: readonly string[]): Promise<boolean> => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-against-'))
  const there = join(folder, 'tree')
  await run(['git', 'worktree', 'add', '--detach', there, commit], ROOT)
  try {
    await run([process.execPath, 'install', '--frozen-lockfile'], there)
    const [ours, theirs]: [Figures[], Figures[]] = [[], []]
    for (let turn = 0; turn < TURNS; turn += 1) {
      theirs.push(await measure(there, names))
      ours.push(await measure(ROOT, names))
    }
    let isFit = true
    console.log(`\n${'medians of three'.padEnd(56)} ${commit.slice(0, 12).padStart(12)}         here   as good`)
    for (const name of new Set([...theirs, ...ours].flatMap((figures) => [...figures.keys()]))) {
      const [before, now] = [middle(theirs, name), middle(ours, name)]
      if (before === null || now === null) {
        console.log(`${name.padEnd(56)} only ${now === null ? 'there' : 'here'}`)
        continue
      }
      const ratio = name.endsWith('.cpu') ? before / now : now / before
      if (ratio < LEAST) isFit = false
      console.log(
        `${name.padEnd(56)} ${before.toFixed(1).padStart(12)} ${now.toFixed(1).padStart(12)}   ${ratio.toFixed(2)} ×${ratio < LEAST ? '  worse' : ''}`,
      )
    }
    return isFit
  } finally {
    await run(['git', 'worktree', 'remove', '--force', there], ROOT)
    await rm(folder, { recursive: true, force: true })
  }
}
