// Sentences for people, in parts. A page shows each part by its kind, so that a text of others is never markup, and never looks
// like our own words.

import { cleanText } from '../../chains/text.ts'

/**
 * text: our own words. name: a text of others, cleaned and cut; it may run from right to left. code: an exact address or value, with
 * every hidden character visible. time: an instant (RFC 3339, UTC), which a page shows in local time.
 */
export const PART_KINDS = ['text', 'name', 'code', 'time'] as const

export type Part = { readonly kind: (typeof PART_KINDS)[number]; readonly text: string }

export type Sentence = readonly Part[]

const NAME_MAX = 40
/** Marks stacked on one letter can cover the lines around it; no language needs more than two. */
const STACKED = /(\p{M}{2})\p{M}+/gu
/** Controls, bidirectional marks, unassigned characters, and spaces that are not the plain one. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu

/** A text of others on one line, cut to 40 characters. */
export const name = (text: string): Part => {
  const cleaned = [...cleanText(text, NAME_MAX * 4).replace(STACKED, '$1')]
  const isCut = cleaned.length > NAME_MAX
  return { kind: 'name', text: isCut ? `${cleaned.slice(0, NAME_MAX - 1).join('')}…` : cleaned.join('') }
}

const escapeOf = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`

/** An exact value. */
export const code = (text: string): Part => ({ kind: 'code', text: text.replace(HIDDEN, escapeOf) })

/** The place of a value. With a space it stands in quotation marks, which no name has, so that it ends where it seems to. */
export const place = (path: string): Part => code(path.includes(' ') ? `"${path}"` : path)

export const time = (at: Date): Part => ({ kind: 'time', text: at.toISOString() })

type Value = string | Part | Sentence

const partsOf = (value: Value): Sentence => {
  if (typeof value === 'string') return [{ kind: 'text', text: value }]
  return 'kind' in value ? [value] : value
}

/** A sentence with values. A plain string is our own words; a text of others must be a `name` or `code`. */
export const say = (words: TemplateStringsArray, ...values: readonly Value[]): Sentence => {
  const parts: Part[] = []
  for (const part of words.flatMap((text, index) => [...partsOf(text), ...partsOf(values[index] ?? '')])) {
    const last = parts.at(-1)
    if (part.text === '') continue
    if (last?.kind === 'text' && part.kind === 'text')
      parts.splice(-1, 1, { kind: 'text', text: last.text + part.text })
    else parts.push(part)
  }
  return parts
}
