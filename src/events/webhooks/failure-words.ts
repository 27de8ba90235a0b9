import { POST_FAILURES, type PostFailure } from '../../../db/words.ts'
import { ANSWER_TIMEOUT_MS } from './post.ts'

/** What went wrong, as the end of a sentence. */
export const FAILURE_WORDS: Readonly<Record<PostFailure, (status: number | null) => string>> = {
  address_not_allowed: () => 'its host leads to an address that is neither of the public Internet nor allowed',
  name_not_found: () => 'its host was not found',
  connection_failed: () => 'the connection failed',
  certificate_refused: () => 'its certificate is not valid for the host',
  timed_out: () => `it did not answer within ${ANSWER_TIMEOUT_MS / 1_000} seconds`,
  redirected: (status) => `it redirects${status === null ? '' : ` (${status})`}, and redirects are not followed`,
  status: (status) => (status === null ? 'it answered with an error' : `it answered with status ${status}`),
}

/** null for a word of a row that an intruder edited. */
export const knownFailure = (text: string | null): PostFailure | null =>
  POST_FAILURES.find((each) => each === text) ?? null

export const failureInWords = ({
  failure,
  status,
}: {
  readonly failure: string | null
  readonly status: number | null
}): string | null => {
  const known = knownFailure(failure)
  return known === null ? failure : FAILURE_WORDS[known](status)
}
