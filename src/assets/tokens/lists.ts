// Imports a file in the Token Lists format (tokenlists.org). Of the list itself only name, version and tokens are used.
// Lists are long and have many authors, so an invalid token is reported and all other tokens are imported.

import type { HasDb } from '../../../db/client.ts'
import { deleteTokenList, type ListedTokenRow, replaceTokenList } from '../../../db/queries/listed-tokens.ts'
import type { NodelessChain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { cleanText } from '../../chains/text.ts'
import { listedTokenMac } from '../../identity/auth/row-macs.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'

export const TOKEN_LIST_FILE_BYTES_MAX = 10_000_000
const TOKENS_MAX = 50_000
/** The same limit as for names from the chain. */
const NAME_LENGTH_MAX = 64
/** From the format's definitions of TokenInfo, TagIdentifier and ExtensionMap. */
const TOKEN_NAME = { form: /^[ \S]*$/, what: 'without line breaks', max: 60 }
const TOKEN_SYMBOL = { form: /^\S*$/, what: 'without spaces', max: 20 }
const TAG = /^\w{1,10}$/
const TAGS_MAX = 10
const EXTENSION_NAME = /^\w{1,40}$/
const EXTENSION_TEXT_LENGTH_MAX = 42
const EXTENSIONS_MAX = 10
/** `extensions` itself, and two nested objects. */
const EXTENSIONS_DEPTH_MAX = 3
const LOGO_URL = /^(?:https|ipfs):\/\/[^\s\p{C}]+$/u
const LOGO_URL_LENGTH_MAX = 2_048
/** EIP-20: decimals is a uint8. */
const DECIMALS_MAX = 255

type ListedChain = Pick<NodelessChain, 'chainId' | 'network' | 'parseAddress'>

type TokenListFile = {
  readonly name: string
  /** For instance `1.2.3`. */
  readonly version: string
  readonly tokens: readonly ListedTokenRow[]
  /** How many tokens are on chains that are not in `chains`. */
  readonly skipped: number
  /** One sentence for each token that was refused, and for each logo or decimals that was left out. */
  readonly refused: readonly string[]
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

/** Counts characters as the format does; a character has at most two code units. */
const isWithin = (value: string, max: number): boolean => value.length <= 2 * max && [...value].length <= max

/** The format allows empty names and symbols; we display the contract's anyway. */
const label = (value: unknown, what: string, rule: typeof TOKEN_NAME): string => {
  if (typeof value !== 'string') return refuse(`${what} must be a text.`)
  const isRight = rule.form.test(value) && isWithin(value, rule.max)
  return isRight
    ? cleanText(value, rule.max)
    : refuse(`${what} must have at most ${rule.max} characters, ${rule.what}.`)
}

/** We do not use tags, but validate them so that the list's author hears of mistakes. */
const judgeTags = (value: unknown, what: string): void => {
  const isRight =
    value === undefined ||
    (Array.isArray(value) && value.length <= TAGS_MAX && value.every((tag) => typeof tag === 'string' && TAG.test(tag)))
  if (!isRight) refuse(`${what} must be a list of at most ${TAGS_MAX} words of at most 10 characters.`)
}

/** @param levels how deeply objects may be nested */
const isExtension = (value: unknown, levels: number): boolean => {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return true
  if (typeof value === 'string') return value !== '' && isWithin(value, EXTENSION_TEXT_LENGTH_MAX)
  if (typeof value !== 'object' || Array.isArray(value) || levels === 0) return false
  const entries = Object.entries(value)
  return (
    entries.length <= EXTENSIONS_MAX &&
    entries.every(([name, each]) => EXTENSION_NAME.test(name) && isExtension(each, levels - 1))
  )
}

/** Only one extension is used, the decimals to show. The other extensions are judged for the same reason as tags. */
const judgeExtensions = (extensions: Fields, what: string): void => {
  if (isExtension(extensions, EXTENSIONS_DEPTH_MAX)) return
  refuse(
    `${what} must have at most ${EXTENSIONS_MAX} fields, each a number, true, false, null, a text of 1 to ` +
      `${EXTENSION_TEXT_LENGTH_MAX} characters, or an object of such, at most two within one another.`,
  )
}

const displayDecimalsIn = ({ displayDecimals }: Fields, what: string): number | null =>
  displayDecimals === undefined
    ? null
    : wholeNumber(displayDecimals, { what: `${what}.displayDecimals`, max: DECIMALS_MAX })

const logoUrlOf = (value: unknown, what: string): string => {
  if (value === undefined || value === '') return ''
  if (typeof value === 'string' && value.length <= LOGO_URL_LENGTH_MAX && LOGO_URL.test(value)) return value
  return refuse(`${what} must be a URI of at most ${LOGO_URL_LENGTH_MAX} characters: https://… or ipfs://….`)
}

/** The result of `read`, or undefined if it refuses; the sentence goes to `refused`. */
const taken = <T>(refused: string[], read: () => T): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    refused.push(error.message)
    return undefined
  }
}

type ListContext = { readonly chains: readonly ListedChain[]; readonly refused: string[] }

/** null for a token on another chain. An invalid logo, tag, extension or number of display decimals is left out. */
const readToken = (value: unknown, what: string, { chains, refused }: ListContext): ListedTokenRow | null => {
  const fields = fieldsOf(value, what)
  const chainId = wholeNumber(fields.chainId, { what: `${what}.chainId`, max: Number.MAX_SAFE_INTEGER })
  const chain = chains.find((each) => each.chainId === chainId)
  if (chain === undefined) return null
  wholeNumber(fields.decimals, { what: `${what}.decimals`, max: DECIMALS_MAX })
  const own = {
    network: chain.network,
    address:
      typeof fields.address === 'string'
        ? chain.parseAddress(fields.address, `${what}.address`)
        : refuse(`${what}.address must be an address: 0x and 40 hex digits.`),
    name: label(fields.name, `${what}.name`, TOKEN_NAME),
    symbol: label(fields.symbol, `${what}.symbol`, TOKEN_SYMBOL),
  }
  const { logoURI, tags, extensions: given = {} } = fields
  const extensions = taken(refused, () => fieldsOf(given, `${what}.extensions`)) ?? {}
  taken(refused, () => judgeTags(tags, `${what}.tags`))
  taken(refused, () => judgeExtensions(extensions, `${what}.extensions`))
  return {
    ...own,
    logoUrl: taken(refused, () => logoUrlOf(logoURI, `${what}.logoURI`)) ?? '',
    displayDecimals: taken(refused, () => displayDecimalsIn(extensions, `${what}.extensions`)) ?? null,
  }
}

const parseJson = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return refuse('The file must be JSON.')
  }
}

const readTokens = (values: readonly unknown[], chains: readonly ListedChain[]) => {
  const rows = new Map<string, ListedTokenRow>()
  const refused: string[] = []
  let skipped = 0
  for (const [index, value] of values.entries()) {
    const what = `tokens.${index}`
    const row = taken(refused, () => readToken(value, what, { chains, refused }))
    if (row === undefined) continue
    if (row === null) {
      skipped += 1
      continue
    }
    const key = `${row.network} ${row.address}`
    if (rows.has(key)) refused.push(`${what}.address is in the list twice on ${row.network}: the first was used.`)
    else rows.set(key, row)
  }
  return { tokens: [...rows.values()], skipped, refused }
}

/**
 * @param input.chains the chains of this deployment
 * @throws invalid_input if it is not a token list or has no valid token. Pure.
 */
export const parseTokenListFile = (input: {
  readonly text: string
  readonly chains: readonly ListedChain[]
}): TokenListFile => {
  const list = fieldsOf(parseJson(input.text), 'A token list')
  const name = typeof list.name === 'string' ? cleanText(list.name, NAME_LENGTH_MAX) : ''
  if (name === '') return refuse('name must be a text with visible characters.')
  const { major, minor, patch } = fieldsOf(list.version, 'version')
  const version = Object.entries({ major, minor, patch })
    .map(([part, number]) => wholeNumber(number, { what: `version.${part}`, max: 1e9 }))
    .join('.')
  const { tokens } = list
  if (!Array.isArray(tokens) || tokens.length === 0 || tokens.length > TOKENS_MAX) {
    return refuse(`tokens must be a list of 1 to ${TOKENS_MAX} tokens.`)
  }
  const read = readTokens(tokens, input.chains)
  const [first] = read.refused
  if (read.tokens.length === 0 && first !== undefined) return refuse(`The list has no valid token: ${first}`)
  return { name, version, ...read }
}

/** Replaces an earlier list with the same name. A token that is also in another list moves to this one. */
export const importTokenList = async (
  ctx: HasDb & HasAudit & HasChains & HasIdentity,
  input: { readonly text: string; readonly actor: string },
): Promise<TokenListFile> => {
  const file = parseTokenListFile({ text: input.text, chains: ctx.chains.known })
  const { name, version, tokens, skipped, refused } = file
  const mac = listedTokenMac(ctx.identity)
  const rows = tokens.map((row) => ({ ...row, listName: name }))
  await ctx.db.transaction(async (tx) => {
    await replaceTokenList(tx, { listName: name, tokens: rows.map((row) => ({ ...row, mac: mac.of(row) })) })
    const details = {
      version,
      tokens: String(tokens.length),
      skipped: String(skipped),
      refused: String(refused.length),
    }
    const act = { projectId: null, actor: input.actor, action: 'token_list_imported', subject: name, details } as const
    await ctx.audit.record(tx, act)
  })
  return file
}

/** The list's tokens are displayed as before the import. */
export const removeTokenList = async (
  ctx: HasDb & HasAudit,
  input: { readonly name: string; readonly actor: string },
): Promise<void> => {
  const { name, actor } = input
  await ctx.db.transaction(async (tx) => {
    const tokens = await deleteTokenList(tx, name)
    if (tokens === 0) {
      throw new AppError('not_found', `There is no token list named "${name}"; "tokens list" shows all names.`)
    }
    const details = { tokens: String(tokens) }
    await ctx.audit.record(tx, { projectId: null, actor, action: 'token_list_removed', subject: name, details })
  })
}
