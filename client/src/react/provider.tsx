import { createContext, type ReactNode, useContext, useEffect, useSyncExternalStore } from 'react'
import type { Client } from '../client.ts'
import { LOADING, type SessionState, type UserSession } from '../session.ts'

const Context = createContext<UserSession | null>(null)

/** Gives a session, made by `createUserSession`, to the hooks and the login below it, and starts it. */
export const StrongroomProvider = (props: { readonly session: UserSession; readonly children?: ReactNode }) => {
  const { session, children } = props
  useEffect(() => session.start(), [session])
  return <Context.Provider value={session}>{children}</Context.Provider>
}

const useSession = (): UserSession => {
  const session = useContext(Context)
  if (session === null) throw new Error('There must be a StrongroomProvider around what uses its hooks.')
  return session
}

/** Who is logged in, and the ways in and out. On a server it is always `loading`. */
export const useUser = (): SessionState & Pick<UserSession, 'logIn' | 'logOut' | 'openCredentials'> => {
  const { subscribe, state, logIn, logOut, openCredentials } = useSession()
  return { ...useSyncExternalStore(subscribe, state, () => LOADING), logIn, logOut, openCredentials }
}

/** The id of the user who is logged in; null if none is. */
export const useUserId = (): string | null => {
  const session = useUser()
  return session.status === 'logged_in' ? session.user.id : null
}

/** The client that acts for the user. It is the same one for the whole life of the session. */
export const useClient = (): Client => useSession().client
