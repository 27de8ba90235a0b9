// A file in the Token Lists format (tokenlists.org), judged before anything of it is kept. What the format has beyond what
// is used here (timestamp, tags, keywords) is left alone.

import type { ListedTokenRow } from '../../db/queries/listed-tokens.ts'
import type { EvmNetwork } from '../../db/words.ts'
import { parseAddress } from '../chains/evm/address.ts'
import { cleanText } from '../chains/text.ts'
import { AppError } from '../errors.ts'

export const TOKEN_LIST_FILE_BYTES_MAX = 10_000_000
const TOKENS_MAX = 50_000
/** As names and symbols from the chain are bounded. */
const NAME_LENGTH_MAX = 64
const SYMBOL_LENGTH_MAX = 32
const LOGO_URL = /^(?:https|ipfs):\/\/[^\s\p{C}]+$/u
const LOGO_URL_LENGTH_MAX = 2_048
/** EIP-20: decimals is a uint8. */
const DECIMALS_MAX = 255

export type TokenListFile = {
  readonly name: string
  /** `1.2.3`. */
  readonly version: string
  readonly tokens: readonly ListedTokenRow[]
  /** Tokens of chains that are not in `networks`. */
  readonly skipped: number
}

const refuse = (sentence: string): never => {
  throw new AppError('invalid_input', sentence)
}

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown, what: string): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : refuse(`${what} must be an object.`)

const wholeNumber = (value: unknown, input: { readonly what: string; readonly max: number }): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= input.max
    ? value
    : refuse(`${input.what} must be a whole number from 0 to ${input.max}.`)

const text = (value: unknown, input: { readonly what: string; readonly max: number }): string => {
  const { what, max } = input
  const cleaned = typeof value === 'string' ? cleanText(value, max) : ''
  return cleaned === '' ? refuse(`${what} must be a text with visible characters.`) : cleaned
}

const logoUrlOf = (value: unknown, what: string): string => {
  if (value === undefined || value === '') return ''
  if (typeof value === 'string' && value.length <= LOGO_URL_LENGTH_MAX && LOGO_URL.test(value)) return value
  return refuse(`${what} must be a URI of at most ${LOGO_URL_LENGTH_MAX} characters: https://… or ipfs://….`)
}

const displayDecimalsOf = (value: unknown, what: string): number | null => {
  if (value === undefined) return null
  const { displayDecimals } = fieldsOf(value, what)
  if (displayDecimals === undefined) return null
  return wholeNumber(displayDecimals, { what: `${what}.displayDecimals`, max: DECIMALS_MAX })
}

const addressOf = (value: unknown, what: string): string =>
  typeof value === 'string' ? parseAddress(value, what) : refuse(`${what} must be an address: 0x and 40 hex digits.`)

/** null for a token of another chain: of that nothing but the chain is judged. */
const tokenOf = (value: unknown, what: string, networks: ReadonlyMap<number, EvmNetwork>): ListedTokenRow | null => {
  const fields = fieldsOf(value, what)
  const chainId = wholeNumber(fields.chainId, { what: `${what}.chainId`, max: Number.MAX_SAFE_INTEGER })
  const network = networks.get(chainId)
  if (network === undefined) return null
  wholeNumber(fields.decimals, { what: `${what}.decimals`, max: DECIMALS_MAX })
  return {
    network,
    address: addressOf(fields.address, `${what}.address`),
    name: text(fields.name, { what: `${what}.name`, max: NAME_LENGTH_MAX }),
    symbol: text(fields.symbol, { what: `${what}.symbol`, max: SYMBOL_LENGTH_MAX }),
    logoUrl: logoUrlOf(fields.logoURI, `${what}.logoURI`),
    displayDecimals: displayDecimalsOf(fields.extensions, `${what}.extensions`),
  }
}

const versionOf = (value: unknown): string => {
  const { major, minor, patch } = fieldsOf(value, 'version')
  const parts = Object.entries({ major, minor, patch })
  return parts.map(([part, number]) => wholeNumber(number, { what: `version.${part}`, max: 1e9 })).join('.')
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return refuse('The file must be JSON.')
  }
}

/**
 * Reads a token list. Pure.
 * @param input.networks the networks that this deployment can serve, by chain id
 * @throws invalid_input, address_invalid, network_mismatch: the sentence names the place in the file.
 */
export const parseTokenListFile = (input: {
  readonly text: string
  readonly networks: ReadonlyMap<number, EvmNetwork>
}): TokenListFile => {
  const list = fieldsOf(parsed(input.text), 'A token list')
  const name = text(list.name, { what: 'name', max: NAME_LENGTH_MAX })
  const version = versionOf(list.version)
  const { tokens } = list
  if (!Array.isArray(tokens) || tokens.length === 0 || tokens.length > TOKENS_MAX) {
    return refuse(`tokens must be a list of 1 to ${TOKENS_MAX} tokens.`)
  }
  const rows = new Map<string, ListedTokenRow>()
  let skipped = 0
  for (const [index, token] of tokens.entries()) {
    const row = tokenOf(token, `tokens.${index}`, input.networks)
    if (row === null) {
      skipped += 1
      continue
    }
    const key = `${row.network} ${row.address}`
    if (rows.has(key)) refuse(`tokens.${index}.address is in the list twice on ${row.network}: it must be there once.`)
    rows.set(key, row)
  }
  return { name, version, tokens: [...rows.values()], skipped }
}
