// The page's parameters, and the session of the user who is logged in on it.

import type { Session } from '../../../identity/users/schema.ts'
import { show } from './views.ts'
import { type Call, type Claims, claimsOf, createWire, Refused, type Wire } from './wire.ts'

const ASKS = ['login', 'consent', 'granted', 'revoke', 'approvals', 'credentials'] as const

export type Page = {
  readonly projectId: string
  readonly projectName: string
  /** Where the user goes after login; null: they stay. */
  readonly returnTo: string | null
  /** Returned to the app unchanged. */
  readonly state: string | null
  /** The hash of the app's secret; null if the user stays. */
  readonly codeChallenge: string | null
  readonly asks: (typeof ASKS)[number]
  /** The policy that the app asks for, as it is sent; null if the page does not ask for one. */
  readonly proposal: object | null
  /** The policy to take back; null if the page does not ask for that. */
  readonly policyId: string | null
  /** The domain of the project's passkeys; null if they do not work on this page. */
  readonly rpId: string | null
  /** The chain ids that wallets may name. The first is used if the wallet is on another chain. */
  readonly chainIds: readonly number[]
  readonly wire: Wire
  readonly enter: (session: Session) => Promise<void>
}

/** @param main the element whose data attributes hold the parameters. */
export const readPage = (main: HTMLElement, enter: Page['enter']): Page => {
  const { root = '', projectId = '', projectName = '', chainIds = '', returnTo, state, rpId } = main.dataset
  const { codeChallenge, asks, proposal, policyId } = main.dataset
  return {
    projectId,
    projectName,
    returnTo: returnTo ?? null,
    state: state ?? null,
    codeChallenge: codeChallenge ?? null,
    asks: ASKS.find((each) => each === asks) ?? 'login',
    proposal: proposal === undefined ? null : JSON.parse(proposal),
    policyId: policyId ?? null,
    rpId: rpId ?? null,
    chainIds: chainIds.split(' ').map(Number),
    wire: createWire({ root, projectId }),
    enter,
  }
}

type LoggedIn = {
  readonly token: string
  readonly claims: Claims
  /** When the login was, by this device's clock (ms). */
  readonly since: number
}

/** Kept in no storage and no cookie, where other tabs, extensions and later visitors could read it. */
let loggedIn: LoggedIn | null = null

export const setSession = (session: Session | null): void => {
  if (session === null) loggedIn = null
  else loggedIn = { token: session.access_token, claims: claimsOf(session.access_token), since: Date.now() }
}

export const currentLogin = (): LoggedIn => {
  if (loggedIn === null) throw new Error('nobody is logged in')
  return loggedIn
}

export const callAsUser = <Answer>({ wire }: Pick<Page, 'wire'>, path: string, call: Call = {}): Promise<Answer> =>
  wire<Answer>(path, { ...call, token: currentLogin().token })

/** Ends the session if there is one. If this logout fails, the session stays in the user's list. */
export const leaveSession = async (page: Pick<Page, 'wire'>): Promise<void> => {
  if (loggedIn === null) return
  await callAsUser(page, '/users/logout').catch(() => {})
  setSession(null)
}

/** As long as for the service. */
const FRESH_MS = 600_000

/** For what the user must have logged in for a short while ago. @throws Refused as the service does. */
export const requireFreshLogin = (): void => {
  if (Date.now() - currentLogin().since <= FRESH_MS) return
  throw new Refused('fresh_login_required', 'The login on this page is too long ago.', null)
}

const SESSION_IS_OVER = ['session_ended', 'unauthorized']

/** Wraps a task: if the session has ended or is too old for it, the page returns to the login view and says why. */
export const whileLoggedIn =
  (page: Page, task: () => Promise<void>): (() => Promise<void>) =>
  async () => {
    try {
      await task()
    } catch (error) {
      const isStale = error instanceof Refused && error.code === 'fresh_login_required'
      if (!isStale && !(error instanceof Refused && SESSION_IS_OVER.includes(error.code))) throw error
      // The user has logged out on this page in the meantime.
      if (loggedIn === null) return
      // The next login begins a new session.
      if (isStale) await leaveSession(page)
      setSession(null)
      show('ways')
      throw error
    }
  }

// Two flags that the browser keeps between visits. They hold no token and no personal data.

type Flag = 'has a passkey here' | 'wants no passkey'

const keyOf = (projectId: string, flag: Flag): string => `strongroom: ${flag}: ${projectId}`

/** Without storage the flag is lost, and the page works without it. */
export const setFlag = (projectId: string, flag: Flag): void => {
  try {
    localStorage.setItem(keyOf(projectId, flag), 'yes')
  } catch {
    // Some browsers refuse storage in private windows.
  }
}

export const hasFlag = (projectId: string, flag: Flag): boolean => {
  try {
    return localStorage.getItem(keyOf(projectId, flag)) !== null
  } catch {
    return false
  }
}
