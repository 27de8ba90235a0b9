// Sign-in with a Substrate account: EIP-4361's message with an SS58 address. It is read as strictly as EIP-4361, but accepts
// what Talisman's `siws` writes: version 1.0.0, one empty line if there is no statement, and no chain id or a free one.

import { SUBSTRATE_NETWORKS } from '../chains/networks.ts'
import { type SignInMessage, timesOf } from './sign-in-message.ts'

const INSTANT = '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})'
/** RFC 3986 characters. `originOf` checks the URI further. */
const URI = '[!-~]+'

/** All lines, in order. The chain id is CAIP-2's for Substrate, or only its namespace, as keys are the same on all chains. */
const MESSAGE = new RegExp(
  [
    '^(?:(?<scheme>[a-z][a-z0-9+.-]*)://)?(?<domain>[!-.0-~]+) wants you to sign in with your ',
    `(?:${['Substrate', ...SUBSTRATE_NETWORKS].join('|')}) account:\n`,
    '(?<address>[1-9A-HJ-NP-Za-km-z]{46,50})\n',
    // The characters that EIP-4361 allows, without ", \, `, {, | and }: a statement cannot look like a line end or a quote.
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

/** Pure. @returns null if the text is no such message. It does not check the checksum of the address. */
export const parseSiws = (text: string): SignInMessage | null => {
  const found = MESSAGE.exec(text)?.groups
  if (found === undefined) return null
  const { scheme, domain = '', uri = '', address = '', nonce = '', issuedAt = '', expirationTime, notBefore } = found
  if (![issuedAt, expirationTime, notBefore].every(isDay)) return null
  const times = timesOf({ issuedAt, expirationTime, notBefore })
  return { scheme: scheme ?? null, domain, uri, address, chainId: null, nonce, ...times }
}
