// Parsers of command arguments. They refuse a wrong argument with one sentence, before anything is opened.

import { InvalidArgumentError } from 'commander'
import type { Network } from '../../../db/words.ts'
import { readNetworks } from '../../platform/config.ts'
import type { Variables } from '../../platform/environment/variables.ts'
import { UUID } from '../../platform/http/text.ts'
import { EVM_NETWORKS, NETWORKS } from '../../platform/networks.ts'

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

/** For help texts, which must work without a configuration. */
export const NETWORK_WORDS = NETWORKS.join(', ')
export const EVM_NETWORK_WORDS = EVM_NETWORKS.join(', ')

/** A network of this deployment. */
export const networkIn =
  (variables: Variables) =>
  (text: string): Network =>
    oneOf(readNetworks(variables).map((row) => row.network))(text)

export const evmNetworkIn =
  (variables: Variables) =>
  (text: string): Network =>
    oneOf(readNetworks(variables).flatMap((row) => ('chainId' in row ? [row.network] : [])))(text)

/** A comma-separated list of words. */
export const listOf =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): readonly Word[] => [...new Set(text.split(',').map((each) => oneOf(words)(each.trim())))]

/** An ISO 8601 time with a time zone. */
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

/** For an option that can be repeated. */
export const several =
  <Value>(parse: (text: string) => Value) =>
  (text: string, earlier: readonly Value[] = []): readonly Value[] => [...earlier, parse(text)]
