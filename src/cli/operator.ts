import type { Command } from 'commander'
import { type Config, readConfig } from '../config.ts'
import type { Ctx, IdentityCtx, WorkerCtx } from '../context.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from '../security/core-dumps.ts'

/** The operator's name in the audit log. */
export const OPERATOR = 'operator'

/** Loaded late: it takes half of a command's start-up time, and help texts do not need it. */
const loadContext = async () => {
  if (!(await forbidCoreDumps())) note(CORE_DUMPS_ALLOWED)
  return import('../context.ts')
}

/** Runs a command with the full context, and always closes its connections. */
export const withCtx = async (command: (ctx: Ctx) => Promise<void>, config: Config = readConfig()): Promise<void> => {
  const { createCtx } = await loadContext()
  const ctx = await createCtx({ config: { ...config, logLevel: 'silent' }, process: 'cli' })
  try {
    await command(ctx)
  } finally {
    await ctx.db.close({ timeoutSeconds: 5 })
  }
}

/** Runs a command that needs neither ROOT_KEY nor IDENTITY_KEY. */
export const withServiceCtx = async (command: (ctx: WorkerCtx) => Promise<void>): Promise<void> => {
  const { createWorkerCtx } = await loadContext()
  const ctx = await createWorkerCtx({ config: { ...readConfig(), logLevel: 'silent' }, process: 'cli' })
  try {
    await command(ctx)
  } finally {
    await ctx.db.close({ timeoutSeconds: 5 })
  }
}

/** Runs a command that needs IDENTITY_KEY but not ROOT_KEY. */
export const withIdentityCtx = async (command: (ctx: IdentityCtx) => Promise<void>): Promise<void> => {
  const { createIdentityCtx } = await loadContext()
  const ctx = await createIdentityCtx({ config: { ...readConfig(), logLevel: 'silent' }, process: 'cli' })
  try {
    await command(ctx)
  } finally {
    await ctx.db.close({ timeoutSeconds: 5 })
  }
}

/** Refuses arguments that do not fit together, in commander's own form. */
export const usageError = (command: Command, sentence: string): never => command.error(`error: ${sentence}`)

/** An error as one sentence. For a failed statement it gives the database's message, without the statement and its values. */
export const sentenceOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'Something failed.'
  if ('query' in error && 'params' in error && error.cause !== undefined) return `Database: ${sentenceOf(error.cause)}`
  return error.message || ('code' in error ? String(error.code) : error.name)
}

/** Prints progress, which is not part of the result. */
export const note = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

export const printJson = (value: unknown): void => print(JSON.stringify(value))

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A row as JSON: snake_case column names, bigint as decimal strings, dates as ISO 8601. */
export const rowAsJson = (row: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const shown = typeof value === 'bigint' ? String(value) : value
      return [snakeCase(name), shown instanceof Date ? shown.toISOString() : shown]
    }),
  )

/** Aligns the columns of a table for people. */
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
