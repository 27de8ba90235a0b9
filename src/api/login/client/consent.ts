// The user reads what an app asks for, and allows it or not. What is sent is the policy that the service has described.

import type { DescribedPolicy, DescribedProposal, Policy } from '../../../signing/policies/schema.ts'
import { type Credential, isMistyped, onCredential } from './credential.ts'
import { callAsUser, leaveSession, type Page, whileLoggedIn } from './page.ts'
import { button, element, onPress, setText, show, showStatus, toggle } from './views.ts'
import { messageFor, Refused } from './wire.ts'
import { showWords, wordsItem } from './words-view.ts'

// Lists the policies that the user has granted, and revokes one.

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
const showAsked = (page: Page, task: () => Promise<void>): Promise<void> =>
  whileLoggedIn(page, async () => {
    try {
      await task()
    } catch (error) {
      if (error instanceof Refused && ['session_ended', 'unauthorized'].includes(error.code)) throw error
      showRefusal(page, error)
    }
  })()

let described: DescribedProposal | null = null
/** Belongs to the shown policy: a second click, or a repeat after a lost answer, creates no second one. */
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

const PAGE_SIZE = 20

const listDescribed = (page: Page, query: Readonly<Record<string, string>>): Promise<readonly DescribedPolicy[]> =>
  callAsUser(page, `/policies/described?${new URLSearchParams(query)}`, { method: 'GET' })

let chosen = ''

const showOne = ({ policy, words }: DescribedPolicy): void => {
  chosen = policy.uuid
  showWords(element('revoke-words', HTMLElement), words)
  show('revoke')
}

const itemOf = (one: DescribedPolicy): HTMLLIElement => {
  const { name, wallet } = one.words
  const what = name.text === '' ? wallet.map(({ text }) => text).join('') : name.text
  const task = () => showOne(one)
  return wordsItem(one.words, button({ text: 'Take back', label: `Take back: ${what}`, task }))
}

let nextPage = 1

const listMore = async (page: Page): Promise<void> => {
  const policies = await listDescribed(page, { page: String(nextPage), page_size: String(PAGE_SIZE) })
  nextPage += 1
  const list = element('granted-list', HTMLUListElement)
  list.append(...policies.map(itemOf))
  toggle('granted-more', policies.length === PAGE_SIZE)
  toggle('granted-none', list.childElementCount === 0)
}

export const showGrants = (page: Page): Promise<void> =>
  whileLoggedIn(page, async () => {
    nextPage = 1
    element('granted-list', HTMLUListElement).replaceChildren()
    await listMore(page)
    toggle('granted-back', page.asks === 'login' || page.returnTo !== null)
    show('granted')
  })()

export const showRevocation = (page: Page): Promise<void> =>
  showAsked(page, async () => {
    const [one] = await listDescribed(page, { uuid: page.policyId ?? '' })
    if (one !== undefined) showOne(one)
  })

export const offerGrants = (page: Page, { leave }: { readonly leave: () => Promise<void> }): void => {
  onPress('granted-show', () => showGrants(page))
  onPress(
    'granted-more',
    whileLoggedIn(page, () => listMore(page)),
  )
  onPress('granted-back', leave)
  onPress('refused-again', () => (page.asks === 'revoke' ? showRevocation(page) : showProposal(page)))
  onCredential(page, 'revoke-form', 'revoke-pin', (credential) =>
    whileLoggedIn(page, async () => {
      await callAsUser(page, '/policies/revoke', { body: { uuid: chosen, ...credential } })
      if (page.asks === 'revoke') return goBackWith(page, { policy_id: chosen }, 'It is taken back')
      await showGrants(page)
      showStatus('It is taken back.')
    })(),
  )
  onPress('revoke-no', () =>
    page.asks === 'revoke' ? goBackWith(page, { error: 'access_denied' }, 'Nothing was changed') : showGrants(page),
  )
}
