import { listPasskeys } from '../../db/queries/passkeys.ts'
import { findProject } from '../../db/queries/projects.ts'
import { findUser, type UserRow } from '../../db/queries/users.ts'
import type { UserCaller } from '../auth/caller.ts'
import type { Asked } from '../auth/plugin.ts'
import { rpIdFor } from '../auth/relying-party.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { beginsFor, beginsFrom } from './limits.ts'
import { newPasskeyChallenge } from './passkey-challenge.ts'
import { handleOf } from './passkey-handle.ts'
import { creationOptions } from './passkey-options.ts'
import type { CreationOptions } from './passkey-schema.ts'

const WAY = 'passkey registration'

export const PASSKEYS_MAX = 20

export const tooManyPasskeys = (): AppError =>
  new AppError('invalid_input', `A user has at most ${PASSKEYS_MAX} passkeys: remove one first.`)

/** What the user sees in the list of their authenticator. */
const nameOf = (user: UserRow): string => user.email ?? user.signInWallet ?? `user ${user.id.slice(0, 8)}`

/**
 * The options for a new passkey of a user who is logged in.
 * @throws fresh_login_required, passkey_domain_required, invalid_input where the user has enough of them, rate_limited.
 */
export const beginPasskeyRegistration = async (
  ctx: Ctx,
  caller: UserCaller,
  asked: Asked,
): Promise<CreationOptions> => {
  const { projectId, userId } = caller
  await throttle(ctx, [beginsFrom(ctx, asked, WAY), ...beginsFor(ctx, asked, WAY, userId)])
  await requireFreshLogin(ctx.db, caller)
  const [project, user, passkeys] = await Promise.all([
    findProject(ctx.db, projectId),
    findUser(ctx.db, { projectId, by: { id: userId } }),
    listPasskeys(ctx.db, { projectId, userId }),
  ])
  if (project === null || user === null) throw new Error('a session is of a user of a project')
  if (passkeys.length >= PASSKEYS_MAX) throw tooManyPasskeys()
  const rpId = rpIdFor(project, asked.origin)
  const challenge = await newPasskeyChallenge(ctx, { projectId, kind: 'passkey_registration', userId, rpId })
  return creationOptions({
    rp: { id: rpId, name: project.name },
    user: { id: handleOf(userId), name: nameOf(user) },
    challenge,
    exclude: passkeys,
  })
}
