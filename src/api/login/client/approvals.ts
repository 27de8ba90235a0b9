// The requests that wait for the user's approval, or that the user has approved: these they can still reject, until
// they are used. The user reads them in the service's words, and decides with a passkey.

import type { Approval, DecisionOptions } from '../../../signing/approvals/schema.ts'
import { callAsUser, currentLogin, type Page, whileLoggedIn } from './page.ts'
import { assertWith } from './passkeys.ts'
import { button, element, onPress, show, showStatus, toggle } from './views.ts'
import { approvalItem } from './words-view.ts'

type Decision = 'approve' | 'reject'

const DONE: Readonly<Record<Decision, string>> = { approve: 'You have approved it.', reject: 'You have rejected it.' }

const decide = async (page: Page, approval: Approval, decision: Decision): Promise<void> => {
  const body = { approval_id: approval.approval_id, decision }
  const options = await callAsUser<DecisionOptions>(page, '/approvals/begin', { body })
  const assertion = await assertWith(options.publicKey)
  await callAsUser(page, '/approvals/decide', { body: { ...body, passkey_credential_assertion_response: assertion } })
  await list(page)
  showStatus(DONE[decision])
}

const itemOf = (page: Page, approval: Approval): HTMLLIElement => {
  const { network, wallet_address: wallet } = approval
  const press = (text: string, decision: Decision) =>
    button({
      text,
      label: `${text}: ${approval.action}, ${wallet} on ${network}`,
      task: whileLoggedIn(page, () => decide(page, approval, decision)),
    })
  const userId = currentLogin().claims.sub
  const isApproved = approval.decisions.some((each) => each.user_id === userId && each.decision === 'approve')
  const reject = press('Reject', 'reject')
  return approvalItem(approval, { isApproved, actions: isApproved ? [reject] : [press('Approve', 'approve'), reject] })
}

const list = async (page: Page): Promise<void> => {
  const waiting = await callAsUser<readonly Approval[]>(page, '/approvals', { method: 'GET' })
  element('approvals-list', HTMLUListElement).replaceChildren(...waiting.map((each) => itemOf(page, each)))
  toggle('approvals-none', waiting.length === 0)
  show('approvals')
}

export const showApprovals = (page: Page): Promise<void> => whileLoggedIn(page, () => list(page))()

export const offerApprovals = (page: Page): void => onPress('approvals-again', () => showApprovals(page))
