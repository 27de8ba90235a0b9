// Metadata inside a token's own URI (RFC 2397). A stranger may write it, so every part is bounded. We read the URI as
// browsers do: the `data:` URL processor of WHATWG Fetch, and JSON MIME types of MIME Sniffing. The npm package
// `data-urls` does the same, but needs 20 ms for the longest URI; the platform's URL parser needs 0.01 ms.

import type { NftMetadata } from './schema.ts'

/** Longer URIs are not read. An SVG drawing has about ten thousand characters. */
export const MAX_URI_CHARACTERS = 65_536
const NAME_CHARACTERS_MAX = 256
const DESCRIPTION_CHARACTERS_MAX = 4_096

/** The end of the media type of a base64 URI. */
const BASE64_MARK = /; *base64$/i
/** MIME Sniffing §4.6, "JSON MIME type". Any parameters may follow, and JSON is UTF-8 whatever its `charset` says. */
const JSON_TYPE = /^(?:(?:application|text)\/json|[!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]*\+json)[ \t\r\n]*(?:;|$)/i

/**
 * null unless it is a `data:` URI of a JSON type. Pure. By the standard, `#` begins a fragment, which is not data. But
 * many contracts write names such as "Door #1" unescaped, so the fragment is read too if the part before it is no JSON.
 */
export const metadataInUri = (uri: string): NftMetadata | null => {
  if (uri.length > MAX_URI_CHARACTERS) return null
  return metadataIn(jsonIn(uri)) ?? (uri.includes('#') ? metadataIn(jsonIn(uri.replaceAll('#', '%23'))) : null)
}

/** undefined if the URI contains no JSON. */
const jsonIn = (uri: string): unknown => {
  const data = dataInUri(uri)
  if (data === null || !JSON_TYPE.test(data.type)) return undefined
  try {
    return JSON.parse(new TextDecoder().decode(data.bytes))
  } catch {
    // A stranger may write these texts: invalid JSON means no metadata.
    return undefined
  }
}

/** Fetch §6; null for any other URL and for invalid base64. The type is as written, with its parameters. Pure. */
export const dataInUri = (uri: string): { readonly type: string; readonly bytes: Uint8Array } | null => {
  if (!URL.canParse(uri)) return null
  const url = new URL(uri)
  if (url.protocol !== 'data:') return null
  url.hash = ''
  // The parser escapes everything but ASCII, as UTF-8.
  const data = url.href.slice('data:'.length)
  const comma = data.indexOf(',')
  if (comma === -1) return null
  const type = data.slice(0, comma).trim()
  const bytes = percentDecoded(data.slice(comma + 1))
  if (!BASE64_MARK.test(type)) return { type, bytes }
  const decoded = decodedBase64(bytes.toString('latin1'))
  return decoded === null ? null : { type: type.replace(BASE64_MARK, ''), bytes: Buffer.from(decoded, 'latin1') }
}

const PERCENT = 0x25
const HEX_BYTES = new Map(Array.from({ length: 256 }, (_, byte) => [byte.toString(16).padStart(2, '0'), byte]))

/** URL §1.3, "percent-decode", for ASCII. An invalid escape stays as it is. */
const percentDecoded = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'latin1')
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const escaped = bytes[at] === PERCENT ? HEX_BYTES.get(text.slice(at + 1, at + 3).toLowerCase()) : undefined
    bytes[length] = escaped ?? bytes[at] ?? 0
    length += 1
    if (escaped !== undefined) at += 2
  }
  return bytes.subarray(0, length)
}

/** `atob` is the Infra standard's "forgiving-base64 decode", which accepts spaces and missing padding. */
const decodedBase64 = (text: string): string | null => {
  try {
    return atob(text)
  } catch {
    return null
  }
}

const metadataIn = (value: unknown): NftMetadata | null => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const fields: Readonly<Record<string, unknown>> = { ...value }
  return {
    name: textOf(fields.name, NAME_CHARACTERS_MAX),
    description: textOf(fields.description, DESCRIPTION_CHARACTERS_MAX),
    image: textOf(fields.image, MAX_URI_CHARACTERS),
  }
}

const textOf = (value: unknown, charactersMax: number): string =>
  typeof value === 'string' ? value.slice(0, charactersMax).toWellFormed() : ''
