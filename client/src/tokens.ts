// The tokens of one session. The access token is only in memory. The refresh token can be used once; with `keep: 'tab'`
// it is also kept in the tab, so that a reload does not end the login.

import { readAccessToken, type User } from './access-token.ts'
import { refusesToken, untilAnswered } from './answer.ts'
import type { Fetch } from './call.ts'
import { type Client, createClient } from './client.ts'
import { StrongroomError } from './errors.ts'
import type { LoginProof } from './login-page.ts'
import { isOnlyTabWith, readTab, writeTab } from './tab-storage.ts'

type Held = { readonly session_id: string; readonly refresh_token: string }

type Opened = { readonly accessToken: string; readonly renewAt: number }

type Session = Awaited<ReturnType<Client['users']['refreshToken']>>

type Keep = 'tab' | 'page'

type Parts = {
  readonly baseUrl: string
  readonly projectId: string
  /** Of the session, in this tab. It is asked only in a browser. */
  readonly name: () => string
  readonly keep: Keep
  /** For so long a call is sent again whose answer is lost. */
  readonly repeatMs?: number
  readonly onUser: (user: User) => void
  /** The service has ended the session. */
  readonly onEnd: (error: StrongroomError) => void
}

const RENEW_BEFORE_MS = 60_000
/**
 * For ten seconds the service gives a lost answer again; later the same token would end the session. So both together
 * are less.
 */
const REFRESH_TIMEOUT_MS = 4_500
const REPEAT_MS = 5_000

const readHeld = (name: string): Held | null => {
  const { session_id, refresh_token } = readTab(name) ?? {}
  return typeof session_id === 'string' && typeof refresh_token === 'string' ? { session_id, refresh_token } : null
}

/** The refresh token, by the name under which the tab keeps it. */
const createHeld = (parts: { readonly name: () => string; readonly keep: Keep }) => {
  const { keep } = parts
  const name = () => `strongroom session ${parts.name()}`
  let held: Held | null = null
  const set = (next: Held | null): void => {
    held = next
    if (keep === 'tab') writeTab(name(), next)
  }
  const claim = ({ session_id }: Held): Promise<boolean> => isOnlyTabWith(`${name()} ${session_id}`)
  return {
    get: () => held,
    set,
    /** Keeps it from copies of this tab. */
    claim,
    /** Takes what the tab has kept. @returns whether there is something */
    restore: async (): Promise<boolean> => {
      if (held !== null) return true
      const stored = keep === 'tab' ? readHeld(name()) : null
      if (stored === null) return false
      const isOurs = await claim(stored)
      set(isOurs ? stored : null)
      return isOurs
    },
  }
}

const nobody = () => new StrongroomError('unauthorized', 'Nobody is logged in.')

const isCode = (error: unknown, code: string): error is StrongroomError =>
  error instanceof StrongroomError && error.code === code

/** Repeats a call whose token was refused before its time, with a new one: then nothing was done yet. */
const fetchRenewing =
  (renew: (refused: string) => Promise<string>): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    if (!(await refusesToken(response))) return response
    const headers = new Headers(init.headers)
    const refused = (headers.get('authorization') ?? '').replace('Bearer ', '')
    headers.set('authorization', `Bearer ${await renew(refused)}`)
    return fetch(input, { ...init, headers })
  }

export const createTokens = ({ baseUrl, projectId, name, keep, repeatMs = REPEAT_MS, onUser, onEnd }: Parts) => {
  const { users } = createClient({ baseUrl, projectId })
  // It is asked again here alone: a client waits after 429 for longer than the service knows the token.
  const refreshes = createClient({ baseUrl, projectId, timeoutMs: REFRESH_TIMEOUT_MS, retries: 0 })
  const held = createHeld({ name, keep })
  let opened: Opened | null = null
  let refreshing: Promise<string> | null = null

  /** Asks again while answers are lost, as long as the service knows that it was asked before. */
  const repeated = <Answer>(ask: () => Promise<Answer>): Promise<Answer> =>
    untilAnswered(ask, { deadline: Date.now() + repeatMs })
  const accept = ({ access_token, id, refresh_token }: Session): Held => {
    const { user, lifetimeMs } = readAccessToken(access_token)
    const next = { session_id: id, refresh_token }
    held.set(next)
    opened = { accessToken: access_token, renewAt: Date.now() + lifetimeMs - RENEW_BEFORE_MS }
    onUser(user)
    return next
  }
  const forget = (): void => {
    opened = null
    held.set(null)
  }
  const exchange = async (): Promise<string> => {
    const used = held.get()
    if (used === null) throw nobody()
    try {
      const session = await repeated(() => refreshes.users.refreshToken(used))
      // The user may have logged out meanwhile.
      if (held.get() !== used) throw nobody()
      accept(session)
      return session.access_token
    } catch (error) {
      if (held.get() === used && isCode(error, 'session_ended')) {
        forget()
        onEnd(error)
      }
      throw error
    }
  }
  const refresh = (): Promise<string> => {
    refreshing ??= exchange().finally(() => {
      refreshing = null
    })
    return refreshing
  }
  const token = async (): Promise<string> =>
    opened !== null && Date.now() < opened.renewAt ? opened.accessToken : refresh()
  const fetchAsUser = fetchRenewing((refused) => (refused === opened?.accessToken ? refresh() : token()))
  /** Begins with the code of a login and the secret of this tab. */
  const begin = async (proof: LoginProof): Promise<void> => {
    await held.claim(accept(await repeated(() => users.verifyLogin(proof))))
  }
  /** Continues a session from before a reload, or from before the service was away. @returns whether there is one */
  const restore = async (): Promise<boolean> => {
    try {
      if (!(await held.restore())) return false
      await refresh()
      return true
    } catch (error) {
      if (isCode(error, 'session_ended')) return false
      throw error
    }
  }
  return { token, fetchAsUser, begin, restore, forget }
}
