import { hold, holder, isLoggedIn, type Page } from './page.ts'
import { show } from './views.ts'
import { Refused } from './wire.ts'

const SESSION_IS_OVER = ['session_ended', 'unauthorized']

/** A session may end elsewhere, or its login may be too long ago for a task: then the page begins anew, and says why. */
export const whileLoggedIn =
  (page: Page, task: () => Promise<void>): (() => Promise<void>) =>
  async () => {
    try {
      await task()
    } catch (error) {
      const isStale = error instanceof Refused && error.code === 'fresh_login_required'
      if (!isStale && !(error instanceof Refused && SESSION_IS_OVER.includes(error.code))) throw error
      // Logged out here meanwhile.
      if (!isLoggedIn()) return
      // The session that the next login begins takes its place. Where this fails it is listed, and can be ended there.
      if (isStale) await page.wire('/users/logout', { token: holder().token }).catch(() => {})
      hold(null)
      show('ways')
      throw error
    }
  }
