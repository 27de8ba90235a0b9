import { findSessionChallenge, takeSessionChallenge } from '../../db/queries/session-challenges.ts'
import { ensureUser } from '../../db/queries/users.ts'
import { hashOf, readCode } from './challenge-code.ts'
import type { Prove } from './verify-login.ts'

/** The code of a completed challenge, once. An address that no user has yet becomes its user's by a mailed link. */
export const proveByChallenge: Prove<{ readonly code: string }> = async (ctx, { projectId }, proof) => {
  const code = readCode(proof.code)
  const row = code === null ? null : await findSessionChallenge(ctx.db, hashOf(code))
  if (row === null || row.projectId !== projectId) return null
  return {
    way: row.linkHash === null ? 'session_challenge' : 'magic_link',
    settle: async (tx) => {
      const taken = await takeSessionChallenge(tx, { projectId, codeHash: row.codeHash })
      if (taken === null) return null
      const { userId: id, email, authenticatedAt } = taken
      const userId = email === null ? id : await ensureUser(tx, { id, projectId, email })
      return { userId, authenticatedAt }
    },
  }
}
