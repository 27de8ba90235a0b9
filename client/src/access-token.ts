import { StrongroomError } from './errors.ts'
import { isObject } from './provider-error.ts'

/** Who is logged in, as the access token says. */
export type User = {
  /** The `owner_id` of their wallets. */
  readonly id: string
  readonly email: string | null
  /** The wallet with which they log in. */
  readonly walletAddress: string | null
  readonly hasPasskeys: boolean
}

const claimsOf = (token: string): unknown => {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return null
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/**
 * Reads an access token without verifying it: only the service decides by tokens. Its lifetime is a difference of the
 * service's own times, as this device's clock may be wrong.
 */
export const readAccessToken = (token: string): { readonly user: User; readonly lifetimeMs: number } => {
  const claims = claimsOf(token)
  if (!isObject(claims) || typeof claims.sub !== 'string')
    throw new StrongroomError('answer_unreadable', 'The service answered with a token in another form.')
  const user = {
    id: claims.sub,
    email: textOf(claims.email),
    walletAddress: textOf(claims.siwe_wallet_address),
    hasPasskeys: claims.has_passkey_credentials === true,
  }
  return { user, lifetimeMs: (Number(claims.exp) - Number(claims.iat)) * 1_000 }
}
