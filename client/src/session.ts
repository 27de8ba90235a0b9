// One user's session in a browser's page.
//
// The login is the service's own page (`/login`). What proves a login is typed and asked for at that origin, where the
// user's passkeys are valid, and this page gets only a code that can be used once, and only with this page's secret.
// The login page cannot be framed, and its Cross-Origin-Opener-Policy cuts a new window off from the one that opened
// it. So this page itself goes there and comes back.

import type { User } from './access-token.ts'
import { untilAnswered } from './answer.ts'
import { type Client, createClient } from './client.ts'
import { credentialsUrl } from './credentials-page.ts'
import { StrongroomError } from './errors.ts'
import { beginLogin, isCancelled, takeProof } from './login-page.ts'
import { placeInPage } from './tab-storage.ts'
import { createTokens } from './tokens.ts'

export type { User } from './access-token.ts'
export { type CredentialsPage, credentialsUrl } from './credentials-page.ts'

export type SessionOptions = {
  /** The URL of the service, for instance `https://wallets.example.com`. */
  readonly baseUrl: string
  readonly projectId: string
  /**
   * How long a login is kept: until the tab is closed (the default), or only until the page is left or reloaded. Then
   * the browser keeps no token.
   */
  readonly keep?: 'tab' | 'page'
  /**
   * Tells sessions of one project in a tab apart, for instance of two users. Without it a page's second one keeps its
   * login under another name than the first, in the order in which they start.
   */
  readonly name?: string
  /** Where the user comes back to, unless a call says another address. The present page by default. */
  readonly redirectUri?: string
}

export type SessionState =
  /** It is not known yet, or the page is on its way to the login page. */
  | { readonly status: 'loading' }
  /** With what went wrong, if something did. */
  | { readonly status: 'logged_out'; readonly error: StrongroomError | null }
  | { readonly status: 'logged_in'; readonly user: User }

export type LoginOptions = {
  /**
   * Where the user comes back to, without a fragment: one of the project's return addresses, exactly. A project on
   * testnet that has none takes any page of its allowed origins.
   */
  readonly redirectUri?: string
}

export type UserSession = {
  /** Acts for the user. Its calls wait until it is known who is logged in. */
  readonly client: Client
  /** Reads the address and what the tab keeps. Call it once the page is there; later calls do nothing. */
  readonly start: () => void
  readonly state: () => SessionState
  /** @returns a function that ends it */
  readonly subscribe: (listener: () => void) => () => void
  /** Leaves the page for the login page. */
  readonly logIn: (options?: LoginOptions) => Promise<void>
  readonly logOut: () => Promise<void>
  /**
   * Leaves the page for the one on which the user changes what opens their wallets: the PIN, a recovery code, passkeys.
   */
  readonly openCredentials: (options?: LoginOptions) => void
}

/** For so long it is tried to end the session at the service. */
const LOG_OUT_MS = 5_000

export const LOADING: SessionState = { status: 'loading' }

/** There was no session, or it has ended before. */
const isNobody = (error: unknown): boolean =>
  error instanceof StrongroomError && (error.code === 'unauthorized' || error.code === 'session_ended')

const cancelled = () => new StrongroomError('login_cancelled', 'You came back without logging in.')

/** Ends a session at the service, which refuses a session that has ended before. */
const endSession = async (input: {
  readonly baseUrl: string
  readonly projectId: string
  readonly accessToken: string
}): Promise<void> => {
  const { users } = createClient(input)
  await untilAnswered(() => users.logout(), { deadline: Date.now() + LOG_OUT_MS })
}

/** A state that tells its listeners when it changes. */
const createState = () => {
  const listeners = new Set<() => void>()
  let state: SessionState = LOADING
  const become = (next: SessionState) => {
    state = next
    for (const listener of listeners) listener()
  }
  return {
    state: () => state,
    become,
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Logged out, because of an error that a user can be shown; any other is a mistake of a program. */
    fail: (error: unknown) => {
      const isExpected = error instanceof StrongroomError
      become({ status: 'logged_out', error: isExpected ? error : null })
      if (!isExpected) throw error
    },
  }
}

/** The session with which a page begins: of the login that it comes back from, or what the tab has kept. */
const arrive = async (input: {
  readonly name: string
  readonly tokens: ReturnType<typeof createTokens>
  readonly shown: ReturnType<typeof createState>
}): Promise<void> => {
  const { name, tokens, shown } = input
  let problem: unknown = null
  try {
    const proof = takeProof(name)
    if (proof !== null) return await tokens.begin(proof)
    if (isCancelled(name)) problem = cancelled()
  } catch (error) {
    problem = error
  }
  try {
    // A session that has ended has said so.
    if ((await tokens.restore()) || shown.state().status === 'logged_out') return
  } catch (error) {
    return shown.fail(error)
  }
  if (problem === null) shown.become({ status: 'logged_out', error: null })
  else shown.fail(problem)
}

/** The session of the page's user. It reads and requests nothing before `start`, so a server can make one too. */
export const createUserSession = (options: SessionOptions): UserSession => {
  const { baseUrl, projectId, keep = 'tab' } = options
  const visitor = createClient({ baseUrl, projectId })
  const shown = createState()
  const { state, become, subscribe, fail } = shown
  let place: string | null = null
  /** Taken when it is first needed, in a browser: a server keeps nothing. */
  const name = (): string => {
    place ??= placeInPage(options.name === undefined ? projectId : `${projectId} ${options.name}`)
    return place
  }
  const tokens = createTokens({
    baseUrl,
    projectId,
    name,
    keep,
    onUser: (user) => become({ status: 'logged_in', user }),
    onEnd: (error) => become({ status: 'logged_out', error }),
  })
  let started: Promise<void> | null = null

  const start = (): void => {
    if (started !== null) return
    started = arrive({ name: name(), tokens, shown })
    // The browser may keep the page as it was when it left for the login page, and show it again.
    window.addEventListener('pageshow', ({ persisted }) => {
      if (persisted && state().status === 'loading') started = arrive({ name: name(), tokens, shown })
    })
  }
  const accessToken = async (): Promise<string> => {
    await started
    return tokens.token()
  }
  const logIn = async ({ redirectUri = options.redirectUri }: LoginOptions = {}): Promise<void> => {
    await started
    if (state().status !== 'logged_out') return
    become(LOADING)
    try {
      // After a time without the service.
      if (await tokens.restore()) return
      become(LOADING)
      // Otherwise the browser's own page would say that nothing is there.
      await visitor.healthz()
      location.assign(await beginLogin({ baseUrl, projectId, name: name(), redirectUri }))
    } catch (error) {
      fail(error)
    }
  }
  const logOut = async (): Promise<void> => {
    await started
    // Renewed if it has expired: the service would refuse to end the session by it.
    const [last] = await Promise.allSettled([tokens.token()])
    tokens.forget()
    become({ status: 'logged_out', error: null })
    try {
      if (last.status === 'rejected') throw last.reason
      await endSession({ baseUrl, projectId, accessToken: last.value })
    } catch (error) {
      if (!isNobody(error)) fail(error)
    }
  }
  const openCredentials = ({ redirectUri = options.redirectUri }: LoginOptions = {}): void => {
    // The service takes no fragment.
    const [here = ''] = location.href.split('#')
    location.assign(credentialsUrl({ baseUrl, projectId, redirectUri: redirectUri ?? here }))
  }
  const client = createClient({ baseUrl, projectId, accessToken, fetch: tokens.fetchAsUser })
  return { client, start, state, subscribe, logIn, logOut, openCredentials }
}
