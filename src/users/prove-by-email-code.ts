import { ensureUser } from '../../db/queries/users.ts'
import { proveCode } from './email-code.ts'
import type { Prove } from './verify-login.ts'

/** A mailed code, under the id that its begin step told. An address that no user has yet becomes its user's. */
export const proveByEmailCode: Prove<{ readonly userId: string; readonly code: string }> = async (
  ctx,
  asked,
  proof,
) => {
  const { projectId } = asked
  const { userId, code } = proof
  const proven = await proveCode(ctx, { projectId, userId, purpose: 'login' }, code)
  if (proven === null) return null
  const { email, use } = proven
  return {
    way: 'email_code',
    settle: async (tx) => ((await use(tx)) ? { userId: await ensureUser(tx, { id: userId, projectId, email }) } : null),
  }
}
