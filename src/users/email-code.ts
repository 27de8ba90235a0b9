// Codes by e-mail: 6 digits, 10 minutes, 5 tries, one live code a user and purpose. Of a code only a MAC is kept, over whom
// and what it is for, so that it proves nothing else.

import { randomInt, timingSafeEqual } from 'node:crypto'
import { type Queryable, type Tx, violatedConstraint } from '../../db/client.ts'
import { type CodeKey, putEmailCode, takeCodeTry, useEmailCode } from '../../db/queries/logins.ts'
import { projectOf } from '../../db/queries/projects.ts'
import { ensureUser, lockUser, readUserFacts, setUserEmail } from '../../db/queries/users.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import type { Sealer } from '../custody/sealer.ts'
import { AppError } from '../errors.ts'
import type { Asker } from '../http/peer.ts'
import { readEmailAddress } from '../mail/address.ts'
import { lineOf, queueMail, requireMail } from '../mail/queue.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { beginsFrom, mailsTo, triesFrom } from './limits.ts'
import { firstIdOf } from './user-id.ts'
import type { Prove } from './verify-login.ts'

const DIGITS = 6
const CODE_SECONDS = 600
const TRIES_MAX = 5
const NO_MAC = Buffer.alloc(32)

const macOf = (identity: Sealer, key: CodeKey, said: { readonly email: string; readonly code: string }): Uint8Array =>
  identity.authenticator('email code')([key.projectId, key.purpose, key.userId, said.email, said.code])

const newCode = (): string => String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0')

/** The subject does not hold the code: locked screens show subjects. */
const WORDS = {
  login: {
    subject: (project: string) => `Log in to ${project}`,
    asked: (project: string) => `Somebody asks to log in to ${project} with this e-mail address.`,
    otherwise: 'If it was not you, do nothing: without the code nobody gets in. Do not give it to anybody.',
  },
  add_email: {
    subject: (project: string) => `Confirm your e-mail address for ${project}`,
    asked: (project: string) => `A user of ${project} asks to log in with this e-mail address from now on.`,
    otherwise: 'If it was not you, do nothing: without the code nothing is changed. Do not give it to anybody.',
  },
} as const

/** Makes a code and mails it; both or neither, with the caller's transaction. */
const mailCode = async (
  ctx: Pick<Ctx, 'sealer' | 'identity'>,
  tx: Tx,
  input: CodeKey & { readonly email: string },
): Promise<void> => {
  const { projectId, email, purpose } = input
  const project = await projectOf(tx, input)
  const code = newCode()
  const codeMac = macOf(ctx.identity, input, { email, code })
  await putEmailCode(tx, { ...input, codeMac, lifetimeSeconds: CODE_SECONDS })
  const name = lineOf(project.name)
  const { subject, asked, otherwise } = WORDS[purpose]
  const use = `Your code, good for ${CODE_SECONDS / 60} minutes and for one use:`
  const text = [asked(name), use, `    ${code}`, otherwise].map((paragraph) => `${paragraph}\n`).join('\n')
  await queueMail(ctx, tx, {
    projectId,
    recipient: email,
    subject: subject(name),
    text,
    lifetimeSeconds: CODE_SECONDS,
  })
}

type ProvenCode = {
  readonly email: string
  /** @returns false where the code was used, replaced or outdated meanwhile: of two that prove it at once, one does. */
  readonly use: (tx: Tx) => Promise<boolean>
}

/** Takes a try and checks a code. null: it is wrong, used, over, of somebody else, or was tried too often. */
const proveCode = async (ctx: Pick<Ctx, 'db' | 'identity'>, key: CodeKey, code: string): Promise<ProvenCode | null> => {
  const live = await takeCodeTry(ctx.db, { ...key, triesMax: TRIES_MAX })
  const email = live?.email ?? ''
  const codeMac = macOf(ctx.identity, key, { email, code })
  const isRight = timingSafeEqual(codeMac, live?.codeMac ?? NO_MAC)
  if (live === null || !isRight) return null
  return { email, use: (tx) => useEmailCode(tx, { ...key, codeMac }) }
}

/**
 * Mails a code, whether the address is a user's already or not: the answer and the work are the same.
 * @returns whom verify-login is to name: always the id that the address makes as a first proof, so that nobody learns whose it
 * is now.
 * @throws not_implemented, invalid_input, rate_limited.
 */
export const loginWithEmail = async (ctx: Ctx, asked: Asked, input: { readonly email: string }): Promise<string> => {
  requireMail(ctx)
  const email = readEmailAddress(input.email)
  await throttle(ctx, [beginsFrom(ctx, asked, 'email'), ...mailsTo(ctx, asked, 'email', email)])
  const { projectId } = asked
  const userId = firstIdOf(ctx, { projectId, by: { email } })
  await ctx.db.transaction((tx) => mailCode(ctx, tx, { projectId, userId, purpose: 'login', email }))
  return userId
}

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

type ByUser = { readonly caller: UserCaller; readonly asker: Asker }

const refuseSecond = async (db: Queryable, { projectId, userId: id }: UserCaller): Promise<void> => {
  const { email } = await readUserFacts(db, { projectId, id })
  if (email !== null) throw new AppError('email_exists', 'This user has an e-mail address already.')
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
  await throttle(ctx, [beginsFrom(ctx, asked, 'add_email'), ...mailsTo(ctx, asked, 'add_email', email)])
  await requireFreshLogin(ctx.db, caller)
  await refuseSecond(ctx.db, caller)
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
      await refuseSecond(tx, caller)
      if (!(await setUserEmail(tx, { projectId, id: userId, email: proven.email }))) throw taken()
      const actor = actorOf(caller)
      await ctx.audit.record(tx, { projectId, actor, action: 'email_added', subject: userId, details: {} })
    })
  } catch (error) {
    throw violatedConstraint(error) === 'users_email' ? taken() : error
  }
}
