// A parsed sign-in message, and the checks that do not depend on who signed it.

/** How far the signer's clock may be off. */
const CLOCK_TOLERANCE_MS = 60_000

export type SignInMessage = {
  /** Of the origin that it was signed for; null if the message names none. */
  readonly scheme: string | null
  readonly domain: string
  readonly uri: string
  /** As signed: with the EIP-55 checksum, or SS58 with any prefix. */
  readonly address: string
  /** EIP-155; null for a Substrate account, whose address is the same on every chain. */
  readonly chainId: number | null
  readonly nonce: string
  /** NaN for an invalid time, for instance a leap second. `isTimely` is then false. */
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly notBeforeMs: number
}

/** Absent times set no limit. */
export const timesOf = (texts: {
  readonly issuedAt: string
  readonly expirationTime: string | undefined
  readonly notBefore: string | undefined
}): Pick<SignInMessage, 'issuedAtMs' | 'expiresAtMs' | 'notBeforeMs'> => ({
  issuedAtMs: Date.parse(texts.issuedAt),
  expiresAtMs: texts.expirationTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(texts.expirationTime),
  notBeforeMs: texts.notBefore === undefined ? Number.NEGATIVE_INFINITY : Date.parse(texts.notBefore),
})

/** Whether the message was written after its nonce was issued, is not from the future, and is valid now. */
export const isTimely = (
  message: SignInMessage,
  at: { readonly nowMs: number; readonly nonceCreatedAtMs: number },
): boolean =>
  message.issuedAtMs >= at.nonceCreatedAtMs - CLOCK_TOLERANCE_MS &&
  message.issuedAtMs <= at.nowMs + CLOCK_TOLERANCE_MS &&
  message.expiresAtMs > at.nowMs &&
  message.notBeforeMs <= at.nowMs

/**
 * The origin that domain, URI and scheme agree on, or null. Each must be written as browsers write it: without user
 * information, default port or capitals.
 */
export const originOf = ({ scheme, domain, uri }: SignInMessage): string | null => {
  if (!URL.canParse(uri)) return null
  const { origin, protocol } = new URL(uri)
  const isSpelled = uri.startsWith(origin) && /^(?:[/?#]|$)/.test(uri.slice(origin.length))
  const isAgreed = `${protocol}//${domain}` === origin && (scheme === null || `${scheme}:` === protocol)
  return isSpelled && isAgreed ? origin : null
}
