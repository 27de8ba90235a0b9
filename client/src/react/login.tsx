import type { StrongroomError } from '../errors.ts'
import type { LoginOptions, User } from '../session.ts'
import { useUser } from './provider.tsx'

export type LoginTexts = {
  readonly logIn: string
  readonly logOut: string
  readonly loading: string
  readonly loggedInAs: (user: User) => string
  readonly error: (error: StrongroomError) => string
}

export type LoginProps = LoginOptions & {
  /** In place of the English ones. */
  readonly texts?: Partial<LoginTexts>
  readonly className?: string
}

/** For users; the messages of errors are for developers. */
const SENTENCES: Readonly<Record<string, string>> = {
  login_cancelled: 'You came back without logging in.',
  login_unexpected: 'This login did not begin here. Log in again.',
  login_failed: 'This login has expired, or was used already. Log in again.',
  session_ended: 'You were logged out. Log in again.',
  connection_failed: 'The service was not reached. Check your connection, and try again.',
  storage_unavailable: 'Your browser keeps nothing for this page, which a login needs. Allow it, and try again.',
  rate_limited: 'This was tried too often. Wait a moment, and try again.',
}

const ENGLISH: LoginTexts = {
  logIn: 'Log in',
  logOut: 'Log out',
  loading: 'One moment…',
  loggedInAs: ({ email, walletAddress }) => {
    const name = email ?? walletAddress
    return name === null ? 'You are logged in.' : `You are logged in as ${name}.`
  },
  error: ({ code }) => SENTENCES[code] ?? 'The service does not work at the moment. Try again later.',
}

/**
 * The login, wherever the app puts it: a button that leads to the service's login page and back, what went wrong, and
 * the way out. It is one button for all of this, so that the keyboard's place on the page is not lost.
 */
export const Login = ({ redirectUri, texts, className }: LoginProps) => {
  const user = useUser()
  const words = { ...ENGLISH, ...texts }
  const isBusy = user.status === 'loading'
  const isIn = user.status === 'logged_in'
  const press = () => {
    if (isBusy) return
    void (isIn ? user.logOut() : user.logIn(redirectUri === undefined ? {} : { redirectUri }))
  }
  return (
    <div className={className} aria-busy={isBusy}>
      <p role="status">{isBusy ? words.loading : isIn ? words.loggedInAs(user.user) : ''}</p>
      <p role="alert">{user.status === 'logged_out' && user.error !== null ? words.error(user.error) : ''}</p>
      <button type="button" aria-disabled={isBusy} onClick={press}>
        {isIn ? words.logOut : words.logIn}
      </button>
    </div>
  )
}
