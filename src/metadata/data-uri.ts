// Metadata that a token carries in its own URI (RFC 2397): written by strangers, so every part is bounded. Such a URI is
// read as a browser reads it: the `data:` URL processor of the WHATWG Fetch standard, and of its MIME Sniffing standard
// what a JSON MIME type is. The npm package `data-urls` does the same, but needs 20 ms for the longest URI that is read
// here, where the platform's own URL parser needs 0.01 ms.

import type { NftMetadata } from './schema.ts'

/** Longer ones are not read: a drawing in SVG is some ten thousand characters. */
export const MAX_URI_CHARACTERS = 65_536
const NAME_CHARACTERS_MAX = 256
const DESCRIPTION_CHARACTERS_MAX = 4_096

/** What ends the type of a URI in base64. */
const BASE64_MARK = /; *base64$/i
/**
 * MIME Sniffing §4.6, "JSON MIME type", with any parameters behind it: parameters, known or not, never make a type
 * invalid, and JSON is UTF-8 whatever its `charset` says.
 */
const JSON_TYPE = /^(?:(?:application|text)\/json|[!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]*\+json)[ \t\r\n]*(?:;|$)/i

/**
 * The metadata in a `data:` URI of a JSON type; null for any other URI and for what is not a JSON object. Pure.
 * By the standard `#` begins a fragment, which is no part of the data. Many contracts write names such as "Door #1" into
 * their JSON as they are: where the data in front of the fragment is no JSON, the fragment is read as part of it.
 */
export const metadataInUri = (uri: string): NftMetadata | null => {
  if (uri.length > MAX_URI_CHARACTERS) return null
  return metadataIn(jsonIn(uri)) ?? (uri.includes('#') ? metadataIn(jsonIn(uri.replaceAll('#', '%23'))) : null)
}

/** undefined where the URI carries no JSON. */
const jsonIn = (uri: string): unknown => {
  const data = dataInUri(uri)
  if (data === null || !JSON_TYPE.test(data.type)) return undefined
  try {
    return JSON.parse(new TextDecoder().decode(data.bytes))
  } catch {
    // Strangers write what they like: what is no JSON is no metadata.
    return undefined
  }
}

/**
 * What a `data:` URL carries, by the processor of Fetch §6; null for any other URL and for what is not in base64 though it
 * says so. The type is as it is written, parameters included. Pure.
 */
export const dataInUri = (uri: string): { readonly type: string; readonly bytes: Uint8Array } | null => {
  if (!URL.canParse(uri)) return null
  const url = new URL(uri)
  if (url.protocol !== 'data:') return null
  url.hash = ''
  // The parser leaves only ASCII: all else it escapes, in UTF-8.
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

/** URL §1.3, "percent-decode", of ASCII. A percent sign that begins no escape stays. */
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

/** `atob` decodes as the Infra standard's "forgiving-base64 decode": spaces and missing padding are taken. */
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
