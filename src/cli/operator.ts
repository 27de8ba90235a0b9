import { readFile, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { type Config, readConfig } from '../config.ts'
import type { ReadingCtx } from '../context.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from '../security/core-dumps.ts'

/** The operator's name in the audit log. */
export const OPERATOR = 'operator'

type Contexts = typeof import('../context.ts')
type Create<Of> = (input: { readonly config: Config; readonly process: string }) => Promise<Of>

/** Runs a command in a context, and always closes its connections. */
const runIn =
  <Of extends ReadingCtx>(choose: (contexts: Contexts) => Create<Of>) =>
  async (command: (ctx: Of) => Promise<void>, config: Config = readConfig()): Promise<void> => {
    if (!(await forbidCoreDumps())) note(CORE_DUMPS_ALLOWED)
    // Loaded late: it takes half of a command's start-up time, and help texts do not need it.
    const create = choose(await import('../context.ts'))
    const ctx = await create({ config: { ...config, logLevel: 'silent' }, process: 'cli' })
    try {
      await command(ctx)
    } finally {
      await ctx.db.close({ timeoutSeconds: 5 })
    }
  }

/** Runs a command with the full context. */
export const withCtx = runIn(({ createCtx }) => createCtx)

/** Runs a command that only reads, and needs no key. */
export const withReadingCtx = runIn(({ createReadingCtx }) => createReadingCtx)

/** Runs a command that needs neither ROOT_KEY nor IDENTITY_KEY, but SERVICE_KEY, with which the audit is authenticated. */
export const withServiceCtx = runIn(({ createWorkerCtx }) => createWorkerCtx)

/** Runs a command that needs IDENTITY_KEY but not ROOT_KEY. */
export const withIdentityCtx = runIn(({ createIdentityCtx }) => createIdentityCtx)

/** Refuses arguments that do not fit together, in commander's own form. */
export const usageError = (command: Command, sentence: string): never => command.error(`error: ${sentence}`)

/** Asks a question at the terminal. @returns whether the answer is "yes". */
export const confirmed = async (question: string): Promise<boolean> => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await terminal.question(`${question} Type "yes": `)).trim().toLowerCase() === 'yes'
  } finally {
    terminal.close()
  }
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

/** The content of a text file. @throws Error if it cannot be read or is too large. */
export const readTextFile = async (path: string, bytesMax: number): Promise<string> => {
  const { size } = await stat(path)
  if (size > bytesMax) throw new Error(`The file must have at most ${bytesMax} bytes; it has ${size}.`)
  return readFile(path, 'utf8')
}

export const counted = (count: number, what: string, plural = 's'): string =>
  `${count} ${what}${count === 1 ? '' : plural}`

/** @param none what to print instead of a time that does not exist. */
export const timeOr = (none: string, at: Date | null): string => at?.toISOString() ?? none

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
