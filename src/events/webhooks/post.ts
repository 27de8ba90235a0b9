// Posts one request to a receiver. Allowed addresses and bounds are those of all outgoing requests.

import type { PostFailure } from '../../../db/words.ts'
import { type Outgoing, OutgoingError, sendOutgoing } from '../../platform/process/outgoing.ts'
import { retryAfterSeconds } from './retry-after.ts'

export const ANSWER_TIMEOUT_MS = 15_000
const ANSWER_BYTES_MAX = 4_096
const EXCERPT_LENGTH_MAX = 200

/** `status` and `excerpt` are null if there was no answer. The excerpt is for the operator of the receiver. */
export type Posted = {
  readonly failure: PostFailure | null
  readonly status: number | null
  readonly excerpt: string | null
  /** How long the receiver asked to wait (`Retry-After`), if it refused and did so. */
  readonly retryAfterSeconds?: number
}

const cleanExcerpt = (text: string): string =>
  text
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, EXCERPT_LENGTH_MAX)

/** Posts a body to a URL that a caller wrote. Never throws for what the receiver does. */
export const post = async (
  outgoing: Outgoing,
  input: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
  timeoutMs: number = ANSWER_TIMEOUT_MS,
): Promise<Posted> => {
  try {
    const limits = { maxBytes: ANSWER_BYTES_MAX, timeoutMs }
    const { status, text, headers } = await sendOutgoing(outgoing, { ...input, ...limits, method: 'POST' })
    if (status >= 200 && status < 300) return { failure: null, status, excerpt: null }
    const isRedirect = status >= 300 && status < 400
    const retryAfter = headers['retry-after']
    return {
      failure: isRedirect ? 'redirected' : 'status',
      status,
      excerpt: cleanExcerpt(text),
      ...(retryAfter !== undefined && { retryAfterSeconds: retryAfterSeconds(retryAfter, new Date()) }),
    }
  } catch (error) {
    if (!(error instanceof OutgoingError) || error.failure === null) throw error
    return { failure: error.failure, status: null, excerpt: null }
  }
}
