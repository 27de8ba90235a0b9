// A user of the test's project who decides on approvals over HTTP.

import type { Service } from '../support/service.ts'
import { createAuthenticator, type Oddities } from '../users/authenticator.ts'

export const PAGE = 'http://localhost:5173'

type Decision = 'approve' | 'reject'

export type Approver = Awaited<ReturnType<typeof newApprover>>

/** A user, and with a passkey an approver. */
export const newApprover = async (service: Service, { hasPasskey = true } = {}) => {
  const session = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
  const headers = { authorization: `Bearer ${session.access_token}`, origin: PAGE }
  const post = (path: string, body: unknown = {}) => service.post(path, body, headers)
  const authenticator = createAuthenticator({ origin: PAGE })
  if (hasPasskey) {
    const options = (await post('/users/passkey/begin-registration')).json.publicKey
    const added = await post('/users/passkey/finish-registration', authenticator.create(options))
    if (added.status !== 200) throw new Error(added.text)
  }
  const begin = (approval_id: string, decision: Decision) => post('/approvals/begin', { approval_id, decision })
  const answer = (approval_id: string, decision: Decision, assertion: unknown) =>
    post('/approvals/decide', { approval_id, decision, passkey_credential_assertion_response: assertion })
  return {
    id: session.user_id as string,
    headers,
    post,
    authenticator,
    begin,
    answer,
    waiting: async () => (await service.call('/approvals', { headers })).json,
    decide: async (approval_id: string, decision: Decision = 'approve', odd: Oddities = {}) => {
      const begun = await begin(approval_id, decision)
      if (begun.status !== 200) return begun
      return answer(approval_id, decision, authenticator.get(begun.json.publicKey, odd))
    },
  }
}
