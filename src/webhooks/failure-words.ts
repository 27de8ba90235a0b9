import { ANSWER_TIMEOUT_MS, type PostFailure } from './post.ts'

/** What went wrong, as the end of a sentence. */
export const FAILURE_WORDS: Readonly<Record<PostFailure, (status: number | null) => string>> = {
  address_not_allowed: () => 'its host leads to an address that is not of the public Internet',
  name_not_found: () => 'its host was not found',
  connection_failed: () => 'the connection failed',
  certificate_refused: () => 'its certificate is not valid for the host',
  timed_out: () => `it did not answer within ${ANSWER_TIMEOUT_MS / 1_000} seconds`,
  redirected: (status) => `it redirects (${status}), and redirects are not followed`,
  status: (status) => `it answered with status ${status}`,
}

export const FAILURES: readonly PostFailure[] = [
  'address_not_allowed',
  'name_not_found',
  'connection_failed',
  'certificate_refused',
  'timed_out',
  'redirected',
  'status',
]

/** A row's word, which somebody else may have edited. */
export const knownFailure = (text: string | null): PostFailure | null => FAILURES.find((each) => each === text) ?? null
