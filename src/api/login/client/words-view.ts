// Shows a policy in the service's words. Each part becomes a text node, never markup.

import type { Approval } from '../../../signing/approvals/schema.ts'
import type { PolicyWords } from '../../../signing/policies/schema.ts'

type Part = PolicyWords['name']
type Sentence = PolicyWords['wallet']

const make = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] => {
  const made = document.createElement(tag)
  made.append(...children)
  return made
}

/** In local time, and in UTC as the policy has it. */
const timeText = (instant: string): string => {
  const local = new Date(instant).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'short' })
  return `${local} (${instant.slice(0, 16).replace('T', ' ')} UTC)`
}

const partOf = ({ kind, text }: Part): Node => {
  if (kind === 'name') return make('bdi', text)
  if (kind === 'code') return make('code', text)
  if (kind === 'text') return document.createTextNode(text)
  const shown = make('time', timeText(text))
  shown.dateTime = text
  return shown
}

const list = (sentences: readonly Sentence[]): HTMLElement =>
  make('ul', ...sentences.map((sentence) => make('li', ...sentence.map(partOf))))

const costOf = ({ cost }: PolicyWords): HTMLElement => {
  const shown = make('p', make('strong', 'What it can cost you: '), ...cost.map(partOf))
  shown.className = 'cost'
  return shown
}

const warningsOf = ({ warnings }: Pick<PolicyWords, 'warnings'>): readonly HTMLElement[] => {
  if (warnings.length === 0) return []
  const box = make('div', make('h2', 'Be careful'), list(warnings))
  box.className = 'warning'
  return [box]
}

const factsOf = ({ name, wallet }: PolicyWords): HTMLElement =>
  make(
    'dl',
    make('dt', 'Wallet'),
    make('dd', ...wallet.map(partOf)),
    ...(name.text === '' ? [] : [make('dt', 'The app calls it'), make('dd', partOf(name))]),
  )

const rulesOf = ({ may, limits }: PolicyWords): readonly HTMLElement[] => [
  make('h2', 'What it may do'),
  list(may),
  make('h2', 'Limits'),
  list(limits),
]

const usedOf = ({ used }: PolicyWords): readonly HTMLElement[] =>
  used.length === 0 ? [] : [make('h2', 'So far'), list(used)]

export const showWords = (place: HTMLElement, words: PolicyWords): void =>
  place.replaceChildren(factsOf(words), ...warningsOf(words), ...rulesOf(words), ...usedOf(words), costOf(words))

/** The policy as an item of a list: its rules can be unfolded. */
export const wordsItem = (words: PolicyWords, action: HTMLButtonElement): HTMLLIElement => {
  const rules = make('details', make('summary', 'Rules and limits'), ...rulesOf(words))
  const item = make('li', factsOf(words), ...warningsOf(words), ...usedOf(words), costOf(words), rules, action)
  item.className = 'words'
  return item
}

const callsOf = ({ words }: Approval): readonly HTMLElement[] =>
  words.calls.flatMap((call, index) => [
    make('h2', words.calls.length === 1 ? 'What it does' : `Call ${index + 1} of ${words.calls.length}`),
    list(call),
  ])

/** A request, with what can be done about it. @param own.isApproved whether the user has approved it. */
export const approvalItem = (
  approval: Approval,
  own: { readonly isApproved: boolean; readonly actions: readonly HTMLButtonElement[] },
): HTMLLIElement => {
  const { words, required, decisions, expires_at, unsigned_transactions, typed_data } = approval
  const ends = make('time', timeText(expires_at))
  ends.dateTime = expires_at
  const soFar = `${decisions.length} of ${required}`
  const facts = make('dl', make('dt', 'Approved so far by'), make('dd', soFar), make('dt', 'Until'), make('dd', ends))
  const bytes = make(
    'details',
    make('summary', 'Exactly'),
    make('code', JSON.stringify(typed_data ?? unsigned_transactions)),
  )
  const wants = make('p', make('strong', ...words.wants.map(partOf)))
  const approved = own.isApproved ? [make('p', 'You have approved it. You can reject it until it is used.')] : []
  const item = make('li', wants, ...warningsOf(words), ...callsOf(approval), facts, bytes, ...approved, ...own.actions)
  item.className = 'words'
  return item
}
