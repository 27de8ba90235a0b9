// The user reads what an app asks for, and allows it or not. What is sent is the policy that the service has described.

import type { DescribedProposal, Policy } from '../../../signing/policies/schema.ts'
import { type Credential, isMistyped, onCredential } from './credential.ts'
import { callAsUser, leaveSession, type Page, whileLoggedIn } from './page.ts'
import { element, onPress, setText, show, toggle } from './views.ts'
import { Refused } from './wire.ts'
import { messageFor } from './words.ts'
import { showWords } from './words-view.ts'

/** Ends the session, and goes back to the app or shows that the user is finished here. */
export const goBackWith = async (page: Page, answer: Readonly<Record<string, string>>, title = ''): Promise<void> => {
  await leaveSession(page)
  setText('done-title', title)
  toggle('done-going', page.returnTo !== null)
  toggle('done-close', page.returnTo === null)
  show('done')
  if (page.returnTo === null) return
  const query = new URLSearchParams(answer)
  if (page.state !== null) query.set('state', page.state)
  // The service has checked that the address has no fragment and no such parameters.
  const begin = page.returnTo.includes('?') ? '&' : '?'
  location.replace(query.size === 0 ? page.returnTo : `${page.returnTo}${begin}${query}`)
}

const MISTAKES = ['invalid_input', 'address_invalid', 'not_implemented']

/** The mistake in the app's request, which the user cannot correct; null if trying again may help. */
const mistakeIn = (error: unknown): string | null =>
  error instanceof Refused && MISTAKES.includes(error.code)
    ? `This request is not possible. For the app’s developers: ${error.message}`
    : null

const showRefusal = (page: Page, error: unknown): void => {
  const mistake = mistakeIn(error)
  const isOthers = error instanceof Refused && error.code === 'not_found'
  setText('refused-reason', isOthers ? 'The app asks for something that is not yours.' : (mistake ?? messageFor(error)))
  toggle('refused-again', mistake === null && !isOthers)
  toggle('refused-other', isOthers)
  toggle('refused-back', page.returnTo !== null)
  show('refused')
}

/** Runs a task that shows what the app asks for, or shows why it failed. */
export const showAsked = (page: Page, task: () => Promise<void>): Promise<void> =>
  whileLoggedIn(page, async () => {
    try {
      await task()
    } catch (error) {
      if (error instanceof Refused && ['session_ended', 'unauthorized'].includes(error.code)) throw error
      showRefusal(page, error)
    }
  })()

let described: DescribedProposal | null = null
/** Belongs to the policy that is shown. So a second click, or a repeat after a lost answer, does not create a second one. */
let idempotencyKey = ''

const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

export const showProposal = (page: Page): Promise<void> =>
  showAsked(page, async () => {
    described = await callAsUser<DescribedProposal>(page, '/policies/describe', { body: page.proposal ?? {} })
    idempotencyKey = newKey()
    showWords(element('consent-words', HTMLElement), described.words)
    show('consent')
  })

/** The app waits for an answer about a policy. */
const isAskedFor = ({ asks }: Page): boolean => asks === 'consent' || asks === 'revoke'

const refuse = (page: Page): Promise<void> => {
  const title = page.asks === 'consent' ? 'Nothing was allowed' : 'Nothing was changed'
  return goBackWith(page, isAskedFor(page) ? { error: 'access_denied' } : {}, title)
}

const allow = async (page: Page, credential: Credential): Promise<void> => {
  if (described === null) return
  try {
    const body = { ...described.policy, ...credential }
    const { uuid } = await callAsUser<Policy>(page, '/policies', { body, idempotencyKey })
    await goBackWith(page, { policy_id: uuid }, 'It is allowed')
  } catch (error) {
    // It has expired since it was described, for instance, or a function has another meaning.
    if (mistakeIn(error) === null || isMistyped(error)) throw error
    showRefusal(page, error)
  }
}

/** Sets up the views for consent. */
export const offerConsent = (page: Page): void => {
  if (page.asks === 'login') return
  onCredential(page, 'consent-form', 'consent-pin', (credential) =>
    whileLoggedIn(page, () => allow(page, credential))(),
  )
  toggle('ways-no', page.returnTo !== null)
  for (const id of ['ways-no', 'consent-no', 'refused-back']) onPress(id, () => refuse(page))
  onPress('refused-other', async () => {
    await leaveSession(page)
    show('ways')
  })
}
