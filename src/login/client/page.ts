// The page's parameters, and the session of the user who is logged in on it.

import type { Session } from '../../users/schema.ts'
import { type Claims, claimsOf, createWire, type Wire } from './wire.ts'

export type Page = {
  readonly projectId: string
  readonly projectName: string
  /** Where the user goes after login; null: they stay. */
  readonly returnTo: string | null
  /** Returned to the app unchanged. */
  readonly state: string | null
  readonly hasPasskeys: boolean
  /** The chain ids that wallets may name. The first is used if the wallet is on another chain. */
  readonly chainIds: readonly number[]
  readonly wire: Wire
  readonly enter: (session: Session) => Promise<void>
}

/** @param main the element whose data attributes setSession the parameters. */
export const readPage = (main: HTMLElement, enter: Page['enter']): Page => {
  const { root = '', projectId = '', projectName = '', chainIds = '', returnTo, state, passkeys } = main.dataset
  return {
    projectId,
    projectName,
    returnTo: returnTo ?? null,
    state: state ?? null,
    hasPasskeys: passkeys === 'yes',
    chainIds: chainIds.split(' ').map(Number),
    wire: createWire({ root, projectId }),
    enter,
  }
}

type LoggedIn = { readonly token: string; readonly claims: Claims }

/**
 * The token is kept only in this variable, not in storage or a cookie: other tabs, extensions and later visitors could read
 * it there, and this page needs it only for a few minutes.
 */
let loggedIn: LoggedIn | null = null

export const setSession = (session: Session | null): void => {
  loggedIn = session === null ? null : { token: session.access_token, claims: claimsOf(session.access_token) }
}

export const currentLogin = (): LoggedIn => {
  if (loggedIn === null) throw new Error('nobody is logged in')
  return loggedIn
}

export const isLoggedIn = (): boolean => loggedIn !== null
