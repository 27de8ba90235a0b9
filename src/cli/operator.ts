import type { Command } from 'commander'
import { type Config, readConfig } from '../config.ts'
import type { Ctx, IdentityCtx, WorkerCtx } from '../context.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from '../security/core-dumps.ts'

/** How the audit names whoever works with the command line. */
export const OPERATOR = 'operator'

/** Half of what a command takes to start is this, and its help needs none of it. */
const loadContext = async () => {
  if (!(await forbidCoreDumps())) note(CORE_DUMPS_ALLOWED)
  return import('../context.ts')
}

/** Runs a command with the full context, and always ends its connections. */
export const withCtx = async (command: (ctx: Ctx) => Promise<void>, config: Config = readConfig()): Promise<void> => {
  const { createCtx } = await loadContext()
  const ctx = await createCtx({ config: { ...config, logLevel: 'silent' }, process: 'cli' })
  try {
    await command(ctx)
  } finally {
    await ctx.db.close({ timeoutSeconds: 5 })
  }
}

/** Runs a command that opens no wallet: it needs neither ROOT_KEY nor IDENTITY_KEY. */
export const withServiceCtx = async (command: (ctx: WorkerCtx) => Promise<void>): Promise<void> => {
  const { createWorkerCtx } = await loadContext()
  const ctx = await createWorkerCtx({ config: { ...readConfig(), logLevel: 'silent' }, process: 'cli' })
  try {
    await command(ctx)
  } finally {
    await ctx.db.close({ timeoutSeconds: 5 })
  }
}

/** Runs a command that makes keys of tokens: it needs IDENTITY_KEY, and no ROOT_KEY. */
export const withIdentityCtx = async (command: (ctx: IdentityCtx) => Promise<void>): Promise<void> => {
  const { createIdentityCtx } = await loadContext()
  const ctx = await createIdentityCtx({ config: { ...readConfig(), logLevel: 'silent' }, process: 'cli' })
  try {
    await command(ctx)
  } finally {
    await ctx.db.close({ timeoutSeconds: 5 })
  }
}

/** For arguments that do not fit together; ends like any other mistake of usage. */
export const usageError = (command: Command, sentence: string): never => command.error(`error: ${sentence}`)

/** What a failure is told as; of a failed statement what the database said, without the statement and its values. */
export const sentenceOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'Something failed.'
  if ('query' in error && 'params' in error && error.cause !== undefined) return `Database: ${sentenceOf(error.cause)}`
  return error.message || ('code' in error ? String(error.code) : error.name)
}

/** Progress: not part of the result. */
export const note = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

export const printJson = (value: unknown): void => print(JSON.stringify(value))

// How rows of the operators' views are printed: aligned for people, with the views' own names for machines.

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A row as JSON: the names of its columns, integers beyond 2^53 as decimal strings, instants as ISO 8601. */
export const shownRow = (row: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const shown = typeof value === 'bigint' ? String(value) : value
      return [snakeCase(name), shown instanceof Date ? shown.toISOString() : shown]
    }),
  )

/** Lines of equal columns; the last one is as long as it is. */
export const table = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
