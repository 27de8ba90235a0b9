// What a sign-in message says once it is parsed, and what must hold of it whoever signed it.

/** How far the clock of whoever wrote a message may be off. */
const CLOCK_TOLERANCE_MS = 60_000

export type SignInMessage = {
  /** Of the one origin for which it was signed; null where the message names none. */
  readonly scheme: string | null
  readonly domain: string
  readonly uri: string
  /** As signed: with EIP-55's checksum, or SS58 with any prefix. */
  readonly address: string
  /** EIP-155; null for a Substrate account, which is the same on every chain. */
  readonly chainId: number | null
  readonly nonce: string
  /** NaN for a time that is none, as a leap second: it is never the right one. */
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly notBeforeMs: number
}

/** Absent times hold always. */
export const timesOf = (texts: {
  readonly issuedAt: string
  readonly expirationTime: string | undefined
  readonly notBefore: string | undefined
}): Pick<SignInMessage, 'issuedAtMs' | 'expiresAtMs' | 'notBeforeMs'> => ({
  issuedAtMs: Date.parse(texts.issuedAt),
  expiresAtMs: texts.expirationTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(texts.expirationTime),
  notBeforeMs: texts.notBefore === undefined ? Number.NEGATIVE_INFINITY : Date.parse(texts.notBefore),
})

/** Whether it was written after its nonce was given out and not in the future, and is valid now. */
export const isTimely = (
  message: SignInMessage,
  at: { readonly nowMs: number; readonly nonceCreatedAtMs: number },
): boolean =>
  message.issuedAtMs >= at.nonceCreatedAtMs - CLOCK_TOLERANCE_MS &&
  message.issuedAtMs <= at.nowMs + CLOCK_TOLERANCE_MS &&
  message.expiresAtMs > at.nowMs &&
  message.notBeforeMs <= at.nowMs

/**
 * The origin that domain, URI and scheme agree on; null where they do not. Each must be spelled as a browser spells it:
 * no user information, no default port, no capitals.
 */
export const originOf = ({ scheme, domain, uri }: SignInMessage): string | null => {
  if (!URL.canParse(uri)) return null
  const { origin, protocol } = new URL(uri)
  const isSpelled = uri.startsWith(origin) && /^(?:[/?#]|$)/.test(uri.slice(origin.length))
  const isAgreed = `${protocol}//${domain}` === origin && (scheme === null || `${scheme}:` === protocol)
  return isSpelled && isAgreed ? origin : null
}
