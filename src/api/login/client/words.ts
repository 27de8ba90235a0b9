// Error messages for users. The service's own sentences are for developers, so most are replaced here.

import { Refused, Unreachable } from './wire.ts'

/** An error whose message is shown to the user as it is. */
export class UserMessage extends Error {
  /** The field that caused it, if it is another one than that of the credential. */
  readonly fieldId: string | null

  constructor(message: string, fieldId: string | null = null) {
    super(message)
    this.fieldId = fieldId
  }
}

const durationText = (seconds: number): string => {
  if (seconds < 90) return seconds === 1 ? 'a second' : `${seconds} seconds`
  if (seconds < 5_400) return `${Math.ceil(seconds / 60)} minutes`
  return `${Math.ceil(seconds / 3_600)} hours`
}

const SENTENCES: Readonly<Record<string, string>> = {
  login_failed: 'That did not work: it was wrong, already used, or expired. Try again.',
  session_ended: 'You are logged out. Log in again.',
  unauthorized: 'You are logged out. Log in again.',
  fresh_login_required: 'This needs a fresh login: log in again, and then repeat it.',
  passkey_exists: 'This passkey was added before.',
  not_implemented: 'This login method is not offered here.',
  origin_not_allowed: 'This page was opened at a wrong address.',
  INVALID_SECRET: 'That PIN is wrong. After five wrong PINs in a row your wallets are locked for a day.',
  credential_changed:
    'Your PIN, recovery code or passkey was changed in the meantime, and nothing was done. Try again with the new one.',
  pin_obvious: 'That PIN is easy to guess. Choose another one.',
  frozen: 'The operator of this service has frozen this wallet. Nothing was changed.',
  node_unavailable: 'The network does not answer at the moment. Try again later.',
  busy: 'The service is busy. Try again in a moment.',
  unavailable: 'The service is not complete at the moment. Try again later.',
  project_unknown: 'The app that sent you here is not known any more.',
}

export const messageFor = (error: unknown): string => {
  if (error instanceof UserMessage) return error.message
  if (error instanceof Unreachable) return 'The service was not reached. Check your connection and try again.'
  if (!(error instanceof Refused)) return 'Something went wrong on this page. Reload it and try again.'
  if (error.code === 'rate_limited') {
    return `This was tried too often. Wait ${durationText(error.retryAfterSeconds ?? 60)}, then try again.`
  }
  if (error.code === 'TOO_MANY_FAILED_ATTEMPTS') {
    const seconds = error.retryAfterSeconds
    const how = seconds === null ? 'until the operator unlocks them' : `for ${durationText(seconds)}`
    return `Too many wrong PINs were typed: your wallets are locked ${how}. A recovery code still opens them.`
  }
  return SENTENCES[error.code] ?? error.message
}
