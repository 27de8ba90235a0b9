// Users, each with a MAC over their e-mail address and wallet. A user whose row is not as we wrote it cannot log in,
// and has no session.

import type { Queryable, Tx } from '../../../db/client.ts'
import {
  ensureUser as ensure,
  findUser,
  readUserFacts,
  type UserFacts,
  type UserRow,
} from '../../../db/queries/users.ts'
import { AppError } from '../../platform/errors.ts'
import { uuidText } from '../../platform/name-uuid.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { UserCaller } from '../auth/caller.ts'
import { isOurs, userMac } from '../auth/row-macs.ts'
import type { IdentityCtx } from '../ctx.ts'

type Proof =
  | { readonly email: string }
  | { readonly signInWallet: string }
  | { readonly issuer: string; readonly subject: string }

type KnownProof = Exclude<Proof, { readonly subject: string }>

type Proven = { readonly projectId: string; readonly by: Proof }
type Named = { readonly projectId: string; readonly by: KnownProof }

/** The id of a new user with this proof. A key derives it, so that it does not reveal whether such a user exists. */
export const derivedUserId = (ctx: HasIdentity, { projectId, by }: Proven): string => {
  const mac = ctx.identity.authenticator('user id')([projectId, ...wordsOf(by)])
  return uuidText({ hex: Buffer.from(mac).toString('hex'), version: 8 })
}

const wordsOf = (by: Proof): readonly string[] => {
  if ('email' in by) return ['email', by.email]
  return 'subject' in by ? ['subject', by.issuer, by.subject] : ['wallet', by.signInWallet]
}

/** Never return it to a caller for an e-mail address: if a user added the address later, it would reveal them. */
export const userIdOf = async (ctx: IdentityCtx, named: Named): Promise<string> =>
  (await findUser(ctx.db, named))?.id ?? derivedUserId(ctx, named)

/** What decides about a user, before any proof. */
export const NO_PROOF = {
  email: null,
  signInWallet: null,
  issuer: null,
  subject: null,
  tokensFrom: null,
  keptToken: null,
} as const

/** @param input.by null for a user without a proof. @returns the id of the new or existing user, unchecked. */
export const ensureUser = (
  { identity }: IdentityCtx,
  tx: Tx,
  input: { readonly id: string; readonly projectId: string; readonly by: KnownProof | null },
): Promise<string> => {
  const { id, projectId, by } = input
  const user = { ...NO_PROOF, id, projectId, ...by }
  return ensure(tx, { ...user, mac: userMac(identity).of(user) })
}

export const isOurUser = (ctx: IdentityCtx, user: UserRow): boolean => isOurs(ctx, userMac(ctx.identity), user)

/** The user of a session. @throws session_ended if their row is not as we wrote it. */
export const readCaller = async (
  ctx: IdentityCtx,
  db: Queryable,
  { projectId, userId }: UserCaller,
): Promise<UserFacts> => {
  const user = await readUserFacts(db, { projectId, id: userId })
  if (isOurUser(ctx, user)) return user
  throw new AppError('session_ended', 'The session has ended; log in again.')
}
