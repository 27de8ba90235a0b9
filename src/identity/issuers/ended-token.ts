// A user's tokens are ended from a moment on: those that the issuer made before count no more. If the user asked for it with such a
// token, that one token goes on, and no other one, also if it is newer: it may be stolen.

import { createHash } from 'node:crypto'
import type { UserRow } from '../../../db/queries/users.ts'

/** A token of an issuer that was checked. */
export type IssuerToken = {
  /** By the issuer's clock, in whole seconds. */
  readonly issuedAt: Date
  /** Its SHA-256. */
  readonly hash: Uint8Array
}

/** @param token the text as it was sent: another spelling of the same token is another one. */
export const tokenHashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest()

type Ended = Pick<UserRow, 'tokensFrom' | 'keptToken'>

/** Whether a token of the user was ended. Pure. */
export const isEndedToken = ({ tokensFrom, keptToken }: Ended, { issuedAt, hash }: IssuerToken): boolean =>
  tokensFrom !== null && issuedAt < tokensFrom && (keptToken === null || !Buffer.from(keptToken).equals(hash))
