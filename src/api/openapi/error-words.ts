// The error codes in words: for the table in docs/errors.md, and for the examples of the OpenAPI document.

import { ERROR_STATUS, type ErrorCode } from '../../platform/errors.ts'
import words from './error-words.json' with { type: 'json' }

type Words = {
  /** A sentence that could be the answer's `error`. */
  readonly means: string
  readonly remedy: string
  /**
   * When to send the same request again; without it the request fails again until something has changed.
   * - `later`: after the header Retry-After, or after some seconds.
   * - `same key`: later, with the same `Idempotency-Key`: the first request may have had its effect.
   */
  readonly retry?: 'later' | 'same key'
}

export const ERROR_WORDS = words as Readonly<Record<ErrorCode, Words>>

export const RETRY_TEXT = { later: 'later', 'same key': 'later, with the same key' } as const

export const errorTable = (): string =>
  [
    '| code | status | meaning | what to do | again? |',
    '|---|---|---|---|---|',
    ...(Object.keys(ERROR_STATUS) as ErrorCode[]).map((code) => {
      const { means, remedy, retry } = ERROR_WORDS[code]
      return `| \`${code}\` | ${ERROR_STATUS[code]} | ${means} | ${remedy} | ${retry === undefined ? 'no' : RETRY_TEXT[retry]} |`
    }),
  ].join('\n')
