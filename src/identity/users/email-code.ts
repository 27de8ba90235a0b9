// Codes by e-mail: 6 digits, valid for 10 minutes and 5 tries. A user has at most one valid code for each purpose. We
// store only a MAC of the code. The MAC covers the user, the purpose and the expiry, so that a code works for nothing
// else.

import { randomInt } from 'node:crypto'
import type { Tx } from '../../../db/client.ts'
import { type CodeKey, putEmailCode, takeCodeTry, useEmailCode } from '../../../db/queries/logins.ts'
import { type Project, requireProjectOfRow } from '../../../db/queries/projects.ts'
import { readPresent } from '../../../db/queries/server.ts'
import { lockUser, setUserEmail, type UserFacts } from '../../../db/queries/users.ts'
import { violatedConstraint } from '../../../db/trouble.ts'
import { AppError } from '../../platform/errors.ts'
import type { Client } from '../../platform/http/peer.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import type { Visitor } from '../auth/plugin.ts'
import { isOver, userMac } from '../auth/row-macs.ts'
import { beginLimit, mailLimits, throttle, tryLimit } from '../auth/throttle.ts'
import type { IdentityCtx } from '../ctx.ts'
import { readEmailAddress } from '../mail/address.ts'
import { lineOf, mailText, queueMail, requireMail } from '../mail/queue.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { derivedUserId, ensureUser, readCaller } from './user.ts'
import type { Prove } from './verify-login.ts'

const DIGITS = 6
const CODE_SECONDS = 600
const TRIES_MAX = 5
const NO_MAC = Buffer.alloc(32)
const NO_CODE = { email: '', expiresAt: new Date(0) }

type Said = { readonly email: string; readonly code: string; readonly expiresAt: Date }

const MAC_PURPOSE = 'email code'

const fieldsOf = (key: CodeKey, { email, code, expiresAt }: Said): readonly string[] => [
  key.projectId,
  key.purpose,
  key.userId,
  email,
  code,
  String(Number(expiresAt)),
]

const newCode = (): string => String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0')

/** The subject does not hold the code: locked screens show subjects. */
const WORDS = {
  login: (project: string) => ({
    subject: `Log in to ${project}`,
    request: `Somebody asks to log in to ${project} with this e-mail address.`,
    otherwise: 'If it was not you, do nothing: nobody can log in without the code. Do not give it to anybody.',
  }),
  add_email: (project: string) => ({
    subject: `Confirm your e-mail address for ${project}`,
    request: `A user of ${project} asks to log in with this e-mail address from now on.`,
    otherwise: 'If it was not you, do nothing: nothing changes without the code. Do not give it to anybody.',
  }),
}

const mailCode = async (
  ctx: IdentityCtx,
  tx: Tx,
  input: Omit<CodeKey, 'projectId'> & { readonly project: Project; readonly email: string },
): Promise<void> => {
  const { project, userId, purpose, email } = input
  const projectId = project.id
  const key = { projectId, userId, purpose }
  const code = newCode()
  const expiresAt = new Date((await readPresent(tx)).getTime() + CODE_SECONDS * 1_000)
  const codeMac = ctx.identity.authenticator(MAC_PURPOSE)(fieldsOf(key, { email, code, expiresAt }))
  await putEmailCode(tx, { ...key, email, codeMac, expiresAt })
  const { subject, request, otherwise } = WORDS[purpose](lineOf(project.name))
  const use = `Your code, valid for ${CODE_SECONDS / 60} minutes and for one use:`
  const text = mailText([request, use, `    ${code}`, otherwise])
  await queueMail(ctx, tx, { projectId, recipient: email, subject, text, lifetimeSeconds: CODE_SECONDS })
}

type ProvenCode = {
  readonly email: string
  /** Uses the code up. @returns false if it was used or replaced meanwhile, or has expired. */
  readonly use: (tx: Tx) => Promise<boolean>
}

/** Counts a try. @returns null if the code is wrong, used, expired or another user's, or after too many tries. */
const proveCode = async (ctx: IdentityCtx, key: CodeKey, code: string): Promise<ProvenCode | null> => {
  const live = await takeCodeTry(ctx.db, { ...key, triesMax: TRIES_MAX })
  const { email, expiresAt } = live ?? NO_CODE
  const verifies = ctx.identity.verifier(MAC_PURPOSE)
  const isRight = verifies(fieldsOf(key, { email, code, expiresAt }), live?.codeMac ?? NO_MAC)
  if (live === null || isOver(ctx, live) || !isRight) return null
  return { email, use: (tx) => useEmailCode(tx, { ...key, codeMac: live.codeMac }) }
}

/**
 * Does the same for a known and an unknown address. @returns the `user_id` for verify-login, always derived from the
 * address, so that it does not reveal whether a user has it.
 */
export const loginWithEmail = async (
  ctx: IdentityCtx,
  visitor: Visitor,
  input: { readonly email: string },
): Promise<string> => {
  requireMail(ctx)
  const email = readEmailAddress(input.email)
  await throttle(ctx, [beginLimit(ctx, visitor, 'email'), ...mailLimits(ctx, visitor, 'email', email)])
  const { projectId, project } = visitor
  const userId = derivedUserId(ctx, { projectId, by: { email } })
  await ctx.db.transaction((tx) => mailCode(ctx, tx, { project, userId, purpose: 'login', email }))
  return userId
}

/** Checks a mailed code for the id that login-with-email returned. If no user has the address yet, creates one. */
export const proveByEmailCode: Prove<{ readonly userId: string; readonly code: string }> = async (
  ctx,
  { projectId },
  { userId, code },
) => {
  const proven = await proveCode(ctx, { projectId, userId, purpose: 'login' }, code)
  if (proven === null) return null
  const { email, use } = proven
  return {
    way: 'email_code',
    consume: async (tx) =>
      (await use(tx)) ? { userId: await ensureUser(ctx, tx, { id: userId, projectId, by: { email } }) } : null,
  }
}

type ByUser = { readonly caller: UserCaller; readonly client: Client }

const refuseSecond = ({ email }: UserFacts): void => {
  if (email !== null) throw new AppError('email_exists', 'This user has an e-mail address already.')
}

const taken = (): AppError =>
  new AppError('email_taken', 'Another user of this project has this e-mail address: log in with it instead.')

/** Only a reader of the mail can learn whether another user has the address. @throws email_exists */
export const addEmail = async (ctx: IdentityCtx, input: ByUser & { readonly email: string }): Promise<void> => {
  requireMail(ctx)
  const { caller, client } = input
  const { projectId, userId } = caller
  const email = readEmailAddress(input.email)
  const from = { projectId, client }
  await throttle(ctx, [beginLimit(ctx, from, 'add_email'), ...mailLimits(ctx, from, 'add_email', email)])
  await requireFreshLogin(ctx, ctx.db, caller)
  refuseSecond(await readCaller(ctx, ctx.db, caller))
  const project = await requireProjectOfRow(ctx.db, caller)
  await ctx.db.transaction((tx) => mailCode(ctx, tx, { project, userId, purpose: 'add_email', email }))
}

/** If it fails, the code stays valid. @throws INVALID_SECRET for a wrong, used or expired code. */
export const verifyEmail = async (ctx: IdentityCtx, input: ByUser & { readonly code: string }): Promise<void> => {
  const { caller, client, code } = input
  const { projectId, userId } = caller
  await throttle(ctx, [tryLimit(ctx, { client }, 'proof')])
  const proven = await proveCode(ctx, { projectId, userId, purpose: 'add_email' }, code)
  const refused = (): AppError =>
    new AppError('INVALID_SECRET', 'The verification code is wrong, was used or has expired: ask for a new one.', {
      event: { kind: 'wrong_email_code', projectId, actor: actorOf(caller), subject: userId },
    })
  if (proven === null) throw refused()
  try {
    await ctx.db.transaction(async (tx) => {
      await lockUser(tx, caller)
      await requireFreshLogin(ctx, tx, caller, { begunSeconds: CODE_SECONDS })
      if (!(await proven.use(tx))) throw refused()
      const user = await readCaller(ctx, tx, caller)
      refuseSecond(user)
      const { email } = proven
      const mac = userMac(ctx.identity).of({ ...user, email })
      if (!(await setUserEmail(tx, { projectId, id: userId, email, mac }))) throw taken()
      const actor = actorOf(caller)
      await ctx.audit.record(tx, { projectId, actor, action: 'email_added', subject: userId, details: {} })
    })
  } catch (error) {
    throw violatedConstraint(error) === 'users_email' ? taken() : error
  }
}
