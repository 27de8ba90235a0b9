// Parsers of command arguments. They refuse a wrong argument with one sentence, before anything is opened.

import { readFile, stat } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { Network } from '../../../db/words.ts'
import { readNetworks } from '../../platform/config.ts'
import type { Variables } from '../../platform/environment/variables.ts'
import { UUID } from '../../platform/http/text.ts'
import { EVM_NETWORKS, NETWORKS } from '../../platform/networks.ts'

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

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/

export const uuid = (text: string): string => {
  if (!UUID.test(text)) throw new InvalidArgumentError('It must be a UUID.')
  return text.toLowerCase()
}

export const wholeNumber =
  (input: { readonly from: number; readonly to: number }) =>
  (text: string): number => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= input.from && value <= input.to) return value
    throw new InvalidArgumentError(`It must be a whole number from ${input.from} to ${input.to}.`)
  }

export const oneOf =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((each) => each === text)
    if (word === undefined) throw new InvalidArgumentError(`It must be one of ${words.join(', ')}.`)
    return word
  }

export const NETWORK_WORDS = NETWORKS.join(', ')
export const EVM_NETWORK_WORDS = EVM_NETWORKS.join(', ')

export const networkIn =
  (variables: Variables) =>
  (text: string): Network =>
    oneOf(readNetworks(variables).map((row) => row.network))(text)

export const evmNetworkIn =
  (variables: Variables) =>
  (text: string): Network =>
    oneOf(readNetworks(variables).flatMap((row) => ('chainId' in row ? [row.network] : [])))(text)

export const listOf =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): readonly Word[] => [...new Set(text.split(',').map((each) => oneOf(words)(each.trim())))]

export const instant = (text: string): Date => {
  const [, year, month, day] = INSTANT.exec(text) ?? []
  const at = new Date(text)
  // Refuse days that their month does not have; Date would roll over into the next month.
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  if (day === undefined || Number.isNaN(at.getTime()) || Number(day) > daysOfMonth) {
    throw new InvalidArgumentError('It must be a time like 2027-01-31T00:00:00Z.')
  }
  return at
}

export const several =
  <Value>(parse: (text: string) => Value) =>
  (text: string, earlier: readonly Value[] = []): readonly Value[] => [...earlier, parse(text)]
