// Sentences for people, in parts. A page shows each part by its kind, so that a foreign text is never markup, and never
// looks like our own words.

import { type Static, Type } from '@sinclair/typebox'
import { cleanText } from '../../chains/text.ts'
import { closed, OneOf } from '../../platform/http/schema.ts'

/**
 * text: our own words. name: a foreign text, cleaned and cut; it may run from right to left. code: an exact address or
 * value, with every hidden character visible. time: an instant (RFC 3339, UTC), which a page shows in local time.
 */
const PART_KINDS = ['text', 'name', 'code', 'time'] as const

export const PartField = Type.Object(
  {
    kind: OneOf(PART_KINDS, {
      description:
        '`text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.',
      examples: ['text'],
    }),
    text: Type.String({ description: 'To be shown as text, never as markup.', examples: ['At most 100 times.'] }),
  },
  closed,
)

type Part = Static<typeof PartField>

export type Sentence = Part[]

const NAME_MAX = 40
/** Marks stacked on one letter can cover the lines around it; no language needs more than two. */
const STACKED = /(\p{M}{2})\p{M}+/gu
/** Controls, bidirectional marks, unassigned characters, and spaces that are not the plain one. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu

/** A foreign text on one line, cut to 40 characters. */
export const name = (text: string): Part => {
  const cleaned = [...cleanText(text, NAME_MAX * 4).replace(STACKED, '$1')]
  const isCut = cleaned.length > NAME_MAX
  return { kind: 'name', text: isCut ? `${cleaned.slice(0, NAME_MAX - 1).join('')}…` : cleaned.join('') }
}

const escapeCharacter = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`

export const code = (text: string): Part => ({ kind: 'code', text: text.replace(HIDDEN, escapeCharacter) })

/** A place with a space stands in quotation marks, which no name has, so that it ends where it seems to. */
export const place = (path: string): Part => code(path.includes(' ') ? `"${path}"` : path)

export const time = (at: Date): Part => ({ kind: 'time', text: at.toISOString() })

type Value = string | Part | Sentence

const splitParts = (value: Value): Sentence => {
  if (typeof value === 'string') return [{ kind: 'text', text: value }]
  return 'kind' in value ? [value] : value
}

/** A sentence with values. A plain string is our own words; a foreign text must be a `name` or `code`. */
export const say = (words: TemplateStringsArray, ...values: readonly Value[]): Sentence => {
  const parts: Part[] = []
  for (const part of words.flatMap((text, index) => [...splitParts(text), ...splitParts(values[index] ?? '')])) {
    const last = parts.at(-1)
    if (part.text === '') continue
    if (last?.kind === 'text' && part.kind === 'text')
      parts.splice(-1, 1, { kind: 'text', text: last.text + part.text })
    else parts.push(part)
  }
  return parts
}

export const SentenceField = (description: string) =>
  Type.Array(PartField, { description, examples: [[{ kind: 'text', text: 'At most 100 times.' }]] })

export const SentencesField = (description: string) =>
  Type.Array(SentenceField('A sentence, in parts.'), { description })
