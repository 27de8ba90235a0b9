// Sign-in messages: reading them, and the checks that do not depend on who signed.

import { ParsedMessage } from '@spruceid/siwe-parser'
import { SUBSTRATE_NETWORKS } from '../../platform/networks.ts'

const CLOCK_TOLERANCE_MS = 60_000

export type SignInMessage = {
  /** The scheme of the origin that it was signed for; null if the message names none. */
  readonly scheme: string | null
  readonly domain: string
  readonly uri: string
  /** As signed: with the EIP-55 checksum, or SS58 with any prefix. */
  readonly address: string
  /** EIP-155; null for a Substrate account, whose address is the same on every chain. */
  readonly chainId: number | null
  readonly nonce: string
  /** NaN for an invalid time, for instance a leap second. `isTimely` is then false. */
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly notBeforeMs: number
}

/** Absent times set no limit. */
const timesOf = (texts: {
  readonly issuedAt: string
  readonly expirationTime: string | undefined
  readonly notBefore: string | undefined
}): Pick<SignInMessage, 'issuedAtMs' | 'expiresAtMs' | 'notBeforeMs'> => ({
  issuedAtMs: Date.parse(texts.issuedAt),
  expiresAtMs: texts.expirationTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(texts.expirationTime),
  notBeforeMs: texts.notBefore === undefined ? Number.NEGATIVE_INFINITY : Date.parse(texts.notBefore),
})

/** Whether the message was written after its nonce was issued, is not from the future, and is valid now. */
export const isTimely = (
  message: SignInMessage,
  at: { readonly nowMs: number; readonly nonceCreatedAtMs: number },
): boolean =>
  message.issuedAtMs >= at.nonceCreatedAtMs - CLOCK_TOLERANCE_MS &&
  message.issuedAtMs <= at.nowMs + CLOCK_TOLERANCE_MS &&
  message.expiresAtMs > at.nowMs &&
  message.notBeforeMs <= at.nowMs

/** The origin on which domain, URI and scheme agree, or null. Each must be written as browsers write it. */
export const originOf = ({ scheme, domain, uri }: SignInMessage): string | null => {
  if (!URL.canParse(uri)) return null
  const { origin, protocol } = new URL(uri)
  const isSpelled = uri.startsWith(origin) && /^(?:[/?#]|$)/.test(uri.slice(origin.length))
  const isAgreed = `${protocol}//${domain}` === origin && (scheme === null || `${scheme}:` === protocol)
  return isSpelled && isAgreed ? origin : null
}

// Sign-In with Ethereum (EIP-4361). We use the parser that is generated from the standard's grammar: a lenient parser
// could accept a message that wallets display in another way.

const parsed = (text: string): ParsedMessage | null => {
  try {
    return new ParsedMessage(text)
  } catch {
    // The parser throws only because of the text.
    return null
  }
}

/** Pure. @returns null if the text is not a valid EIP-4361 message; a wrong EIP-55 checksum counts as invalid. */
export const parseSiwe = (text: string): SignInMessage | null => {
  const message = parsed(text)
  if (message === null) return null
  const { scheme, domain, uri, address, chainId, nonce } = message
  return { scheme: scheme ?? null, domain, uri, address, chainId, nonce, ...timesOf(message) }
}

// Sign-in with a Substrate account: EIP-4361's message with an SS58 address. It is read as strictly as EIP-4361, but
// accepts what Talisman's `siws` writes: version 1.0.0, one empty line if there is no statement, and no chain id or a
// free one.

const INSTANT = '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})'
/** RFC 3986 characters. `originOf` checks the URI further. */
const URI = '[!-~]+'

/**
 * All lines, in order. In the chain id, `polkadot` is CAIP-2's namespace of all Substrate chains, not a network. The
 * namespace alone is enough, because keys are the same on all of them.
 */
const MESSAGE = new RegExp(
  [
    '^(?:(?<scheme>[a-z][a-z0-9+.-]*)://)?(?<domain>[!-.0-~]+) wants you to sign in with your ',
    `(?:${['Substrate', ...SUBSTRATE_NETWORKS].join('|')}) account:\n`,
    '(?<address>[1-9A-HJ-NP-Za-km-z]{46,50})\n',
    // The characters that EIP-4361 allows, without ", \, `, {, | and }: a statement cannot look like a line end or a
    // quote.
    "(?:\n(?:[A-Za-z0-9 !#$%&'()*+,./:;=?@[\\]_~-]+\n\n|\n)?)",
    `URI: (?<uri>${URI})\n`,
    'Version: 1(?:\\.0\\.0)?\n',
    '(?:Chain ID: polkadot(?::[0-9a-f]{32})?\n)?',
    'Nonce: (?<nonce>[A-Za-z0-9]{8,})\n',
    `Issued At: (?<issuedAt>${INSTANT})`,
    `(?:\nExpiration Time: (?<expirationTime>${INSTANT}))?`,
    `(?:\nNot Before: (?<notBefore>${INSTANT}))?`,
    '(?:\nRequest ID: [!-~ ]*)?',
    `(?:\nResources:(?:\n- ${URI})*)?$`,
  ].join(''),
)

/** RFC 3339 §5.7: the day must exist in its month. Date would roll over into the next month. */
const isDay = (instant: string | undefined): boolean => {
  const day = instant?.slice(0, 10)
  const read = Date.parse(`${day}T00:00:00Z`)
  return day === undefined || (Number.isFinite(read) && new Date(read).toISOString().startsWith(day))
}

/** Pure. @returns null if the text has another form. It does not check the checksum of the address. */
export const parseSiws = (text: string): SignInMessage | null => {
  const found = MESSAGE.exec(text)?.groups
  if (found === undefined) return null
  const { scheme, domain = '', uri = '', address = '', nonce = '', issuedAt = '', expirationTime, notBefore } = found
  if (![issuedAt, expirationTime, notBefore].every(isDay)) return null
  const times = timesOf({ issuedAt, expirationTime, notBefore })
  return { scheme: scheme ?? null, domain, uri, address, chainId: null, nonce, ...times }
}
