// HTML pages in which no value can become markup, and the headers of all pages.

import type { Config } from '../config.ts'
import { showHidden } from '../http/text.ts'

export class Html {
  readonly markup: string
  constructor(markup: string) {
    this.markup = markup
  }
}

export type Value = string | number | Html | readonly Html[] | null

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const markupOf = (value: Value): string => {
  if (value === null) return ''
  if (value instanceof Html) return value.markup
  if (typeof value === 'object') return value.map(({ markup }) => markup).join('')
  return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}

/** Markup with values. Text values are escaped, for elements and quoted attributes; null is left out. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(parts.map((part, index) => part + (index < values.length ? markupOf(values[index] ?? null) : '')).join(''))

/** Only our own scripts and styles, no framing, no caching and no Referer. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** The path under which clients reach this service, without a slash at its end; '' if it is the host's root. */
export const rootOf = ({ publicBaseUrl }: Pick<Config, 'publicBaseUrl'>): string =>
  new URL(publicBaseUrl).pathname.replace(/\/$/, '')

/** What stands between tags: values have no `>` of their own there, and none in an attribute. */
const BETWEEN_TAGS = /(?<=>)[^<>]+/g

/**
 * A complete HTML page, in English. Its texts show each hidden character by its number, so that a name from elsewhere
 * can neither reorder what stands around it nor look like another one. Attributes stay exact, as forms send them back.
 * @param input.root path to the service's root without a slash at its end, absolute or relative (`..`).
 */
export const page = (input: {
  readonly root?: string
  readonly title: string
  readonly head?: Html
  readonly body: Html
}): string =>
  html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${input.title}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${input.root ?? ''}/pages/style.css">${input.head ?? null}
  </head>
  <body>
    ${input.body}
  </body>
</html>
`.markup.replace(BETWEEN_TAGS, showHidden)
