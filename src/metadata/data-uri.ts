// Metadata that a token carries in its own URI (RFC 2397): written by strangers, so every part is bounded.

import type { NftMetadata } from './schema.ts'

/** Longer ones are not read: a drawing in SVG is some ten thousand characters. */
export const MAX_URI_CHARACTERS = 65_536
const NAME_CHARACTERS_MAX = 256
const DESCRIPTION_CHARACTERS_MAX = 4_096

const PREFIX = /^data:application\/json(?:;charset=(?:utf-8|us-ascii))?(;base64)?,/i
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The metadata in a `data:application/json` URI, or null for any other URI and for what is not a JSON object. Pure. */
export const metadataInUri = (uri: string): NftMetadata | null => {
  if (uri.length > MAX_URI_CHARACTERS) return null
  const prefix = PREFIX.exec(uri)
  if (prefix === null) return null
  try {
    const text = contentOf(uri.slice(prefix[0].length), prefix[1] !== undefined)
    return text === null ? null : metadataIn(JSON.parse(text))
  } catch {
    // Whatever could not be decoded is no metadata.
    return null
  }
}

const contentOf = (data: string, isBase64: boolean): string | null => {
  // Many a contract puts the JSON there as it is: a percent sign that begins no escape is then just that.
  const plain = /%(?![0-9A-Fa-f]{2})/.test(data) ? data : decodeURIComponent(data)
  if (!isBase64) return plain
  if (!BASE64.test(plain)) return null
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(plain, 'base64'))
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
