// Lists the policies that the user has granted, and revokes one.

import type { DescribedPolicy } from '../../../signing/policies/schema.ts'
import { goBackWith, showAsked, showProposal } from './consent.ts'
import { onCredential } from './credential.ts'
import { callAsUser, type Page, whileLoggedIn } from './page.ts'
import { button, element, onPress, show, showStatus, toggle } from './views.ts'
import { showWords, wordsItem } from './words-view.ts'

const PAGE_SIZE = 20

const described = (page: Page, query: Readonly<Record<string, string>>): Promise<readonly DescribedPolicy[]> =>
  callAsUser(page, `/policies/described?${new URLSearchParams(query)}`, { method: 'GET' })

/** The policy that the user is about to revoke. */
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
  const policies = await described(page, { page: String(nextPage), page_size: String(PAGE_SIZE) })
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

/** Shows the policy that the app asks to revoke. */
export const showRevocation = (page: Page): Promise<void> =>
  showAsked(page, async () => {
    const [one] = await described(page, { uuid: page.policyId ?? '' })
    if (one !== undefined) showOne(one)
  })

/** Sets up the views of what was granted. */
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
