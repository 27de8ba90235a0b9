import { violatedConstraint } from '../../db/client.ts'
import { findUser, lockUser, setUserEmail, type UserRow } from '../../db/queries/users.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import type { Asker } from '../http/peer.ts'
import { readEmailAddress } from '../mail/address.ts'
import { requireMail } from '../mail/queue.ts'
import { CODE_SECONDS, mailCode, proveCode } from './email-code.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { beginsFrom, mailsTo, triesFrom } from './limits.ts'

const WAY = 'add_email'

type ByUser = { readonly caller: UserCaller; readonly asker: Asker }

const ownRow = async (db: Parameters<typeof findUser>[0], { projectId, userId }: UserCaller): Promise<UserRow> => {
  const user = await findUser(db, { projectId, by: { id: userId } })
  if (user === null) throw new Error('a session is of a user')
  return user
}

const refuseSecond = (user: UserRow): void => {
  if (user.email !== null) throw new AppError('email_exists', 'This user has an e-mail address already.')
}

const taken = (): AppError =>
  new AppError('email_taken', 'Another user of this project has this e-mail address: log in with it instead.')

/**
 * Mails a code to an address that a user without one wants to log in with. Whether another user has it is told to nobody
 * who has not read the mail.
 * @throws not_implemented, invalid_input, rate_limited, fresh_login_required, email_exists.
 */
export const addEmail = async (ctx: Ctx, input: ByUser & { readonly email: string }): Promise<void> => {
  requireMail(ctx)
  const { caller, asker } = input
  const { projectId, userId } = caller
  const email = readEmailAddress(input.email)
  const asked = { projectId, asker, origin: null }
  await throttle(ctx, [beginsFrom(ctx, asked, WAY), ...mailsTo(ctx, asked, WAY, email)])
  await requireFreshLogin(ctx.db, caller)
  refuseSecond(await ownRow(ctx.db, caller))
  await ctx.db.transaction((tx) => mailCode(ctx, tx, { projectId, userId, purpose: 'add_email', email }))
}

/**
 * Gives the user the address that their code was mailed to. Where that fails the code stays good.
 * @throws INVALID_SECRET for a code that is wrong, used or over; fresh_login_required, email_taken, email_exists,
 * rate_limited.
 */
export const verifyEmail = async (ctx: Ctx, input: ByUser & { readonly code: string }): Promise<void> => {
  const { caller, asker, code } = input
  const { projectId, userId } = caller
  await throttle(ctx, [triesFrom(ctx, { asker }, 'proof')])
  const proven = await proveCode(ctx, { projectId, userId, purpose: 'add_email' }, code)
  const refused = (): AppError =>
    new AppError('INVALID_SECRET', 'The verification code is wrong, used or over: ask for another one.', {
      event: { kind: 'wrong_email_code', projectId, actor: actorOf(caller), subject: userId },
    })
  if (proven === null) throw refused()
  try {
    await ctx.db.transaction(async (tx) => {
      await lockUser(tx, caller)
      await requireFreshLogin(tx, caller, { begunSeconds: CODE_SECONDS })
      if (!(await proven.use(tx))) throw refused()
      refuseSecond(await ownRow(tx, caller))
      if (!(await setUserEmail(tx, { projectId, id: userId, email: proven.email }))) throw taken()
      const actor = actorOf(caller)
      await ctx.audit.record(tx, { projectId, actor, action: 'email_added', subject: userId, details: {} })
    })
  } catch (error) {
    throw violatedConstraint(error) === 'users_email' ? taken() : error
  }
}
