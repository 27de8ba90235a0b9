import { readFile, stat } from 'node:fs/promises'
import type { Command } from 'commander'

/** The operator's name in the audit log. */
export const OPERATOR = 'operator'

/** Refuses arguments that do not fit together, in commander's own form. */
export const usageError = (command: Command, sentence: string): never => command.error(`error: ${sentence}`)

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
