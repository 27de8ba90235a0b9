import { currentLogin, isLoggedIn, type Page, setSession } from './page.ts'
import { show } from './views.ts'
import { Refused } from './wire.ts'

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
      if (!isLoggedIn()) return
      // The next login begins a new session. If this logout fails, the old session stays in the user's list.
      if (isStale) await page.wire('/users/logout', { token: currentLogin().token }).catch(() => {})
      setSession(null)
      show('ways')
      throw error
    }
  }
