// What went wrong, in words for whoever logs in; the service's own sentences are for those who program.

import { Refused, Unreachable } from './wire.ts'

/** A sentence that is to be shown as it is. */
export class Told extends Error {}

const waitOf = (seconds: number): string => {
  if (seconds < 90) return seconds === 1 ? 'a second' : `${seconds} seconds`
  if (seconds < 5_400) return `${Math.ceil(seconds / 60)} minutes`
  return `${Math.ceil(seconds / 3_600)} hours`
}

const SENTENCES: Readonly<Record<string, string>> = {
  login_failed: 'That did not work: it was wrong, used before, or too old. Try again.',
  session_ended: 'You are logged out. Log in again.',
  unauthorized: 'You are logged out. Log in again.',
  fresh_login_required: 'This takes a fresh login: log in again, and then repeat it.',
  passkey_exists: 'This passkey was added before.',
  not_implemented: 'This way to log in is not offered here.',
  origin_not_allowed: 'This page was opened at an address that it does not belong to.',
  project_unknown: 'The app that sent you here is not known any more.',
}

export const wordsFor = (error: unknown): string => {
  if (error instanceof Told) return error.message
  if (error instanceof Unreachable) return 'The service was not reached. Check your connection and try again.'
  if (!(error instanceof Refused)) return 'Something went wrong on this page. Reload it and try again.'
  if (error.code === 'rate_limited') {
    return `This was tried too often. Wait ${waitOf(error.retryAfterSeconds ?? 60)}, then try again.`
  }
  return SENTENCES[error.code] ?? error.message
}
