import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { readEmailAddress } from '../mail/address.ts'
import { requireMail } from '../mail/queue.ts'
import { mailCode } from './email-code.ts'
import { beginsFrom, mailsTo } from './limits.ts'
import { firstIdOf } from './user-id.ts'

const WAY = 'email'

/**
 * Mails a code, whether the address is a user's already or not: the answer and the work are the same.
 * @returns whom verify-login is to name: always the id that the address makes as a first proof, so that nobody learns whose it
 * is now.
 * @throws not_implemented, invalid_input, rate_limited.
 */
export const loginWithEmail = async (ctx: Ctx, asked: Asked, input: { readonly email: string }): Promise<string> => {
  requireMail(ctx)
  const email = readEmailAddress(input.email)
  await throttle(ctx, [beginsFrom(ctx, asked, WAY), ...mailsTo(ctx, asked, WAY, email)])
  const { projectId } = asked
  const userId = firstIdOf(ctx, { projectId, by: { email } })
  await ctx.db.transaction((tx) => mailCode(ctx, tx, { projectId, userId, purpose: 'login', email }))
  return userId
}
