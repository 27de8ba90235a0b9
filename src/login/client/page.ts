// What the page was made with, and who is logged in on it.

import type { Session } from '../../users/schema.ts'
import { type Claims, claimsOf, createWire, type Wire } from './wire.ts'

export type Page = {
  readonly projectId: string
  readonly projectName: string
  /** Where the user goes once they are logged in; null: they stay. */
  readonly returnTo: string | null
  /** Handed back to whoever sent the user, unread. */
  readonly state: string | null
  readonly hasPasskeys: boolean
  /** Of the networks that wallets may name; the first is for those that are elsewhere. */
  readonly chainIds: readonly number[]
  readonly wire: Wire
  readonly enter: (session: Session) => Promise<void>
}

/** @param main whose data attributes the server wrote. */
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
 * The tokens live in this variable and nowhere else: no storage, no cookie. What another tab, an extension with access to
 * storage or a later visitor of this machine could read would be a login; and this page needs one for a few minutes only.
 */
let loggedIn: LoggedIn | null = null

export const hold = (session: Session | null): void => {
  loggedIn = session === null ? null : { token: session.access_token, claims: claimsOf(session.access_token) }
}

export const holder = (): LoggedIn => {
  if (loggedIn === null) throw new Error('nobody is logged in')
  return loggedIn
}

export const isLoggedIn = (): boolean => loggedIn !== null
