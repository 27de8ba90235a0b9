// What a shown refresh token does, decided from the session's row and the present time, which is the database's.

import type { SessionFacts } from '../../../db/queries/sessions.ts'

export type SessionLifetimes = {
  /** How long a refresh token is valid. */
  readonly refreshSeconds: number
  /** How long after the user's proof the session ends, even if it is refreshed. */
  readonly sessionSeconds: number
}

const after = (instant: Date, seconds: number): Date => new Date(instant.getTime() + seconds * 1_000)

/** When a session that is begun or refreshed now expires. */
export const expiryOf = (
  { authenticatedAt, now }: { readonly authenticatedAt: Date; readonly now: Date },
  { refreshSeconds, sessionSeconds }: SessionLifetimes,
): Date => {
  const ends = [after(now, refreshSeconds), after(authenticatedAt, sessionSeconds)].map((end) => end.getTime())
  return new Date(Math.min(...ends))
}

/** A client that lost the answer may retry for this long, and gets the same successor. */
const GRACE_SECONDS = 10

type Refresh =
  /** The current token: the session goes on as `next`. */
  | { readonly kind: 'advance'; readonly next: SessionFacts }
  /** The one before the current, just replaced: the current one is the answer. */
  | { readonly kind: 'repeat' }
  /** An older one: a thief holds it or has used it. */
  | { readonly kind: 'reuse' }
  | { readonly kind: 'refuse' }

export const refreshOf = (
  session: SessionFacts,
  input: { readonly generation: number; readonly now: Date; readonly lifetimes: SessionLifetimes },
): Refresh => {
  const { generation, now } = input
  if (generation === session.generation) {
    const expiresAt = expiryOf({ ...session, now }, input.lifetimes)
    // The operator may have shortened the lifetime: then the new end may be over before the old one.
    if (session.expiresAt <= now || expiresAt <= now) return { kind: 'refuse' }
    return { kind: 'advance', next: { ...session, generation: generation + 1, refreshedAt: now, expiresAt } }
  }
  if (generation > session.generation) return { kind: 'refuse' }
  const isLast = generation + 1 === session.generation
  return { kind: isLast && now < after(session.refreshedAt, GRACE_SECONDS) ? 'repeat' : 'reuse' }
}
