import { findProject } from '../../db/queries/projects.ts'
import type { Asked } from '../auth/plugin.ts'
import { rpIdFor } from '../auth/relying-party.ts'
import { throttle } from '../auth/throttle.ts'
import type { Config } from '../config.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { readEmailAddress } from '../mail/address.ts'
import { beginsFor, beginsFrom } from './limits.ts'
import { newPasskeyChallenge } from './passkey-challenge.ts'
import { requestOptions } from './passkey-options.ts'
import type { RequestOptions } from './passkey-schema.ts'
import { readSignInWallet } from './sign-in-wallet.ts'
import { userIdOf } from './user-id.ts'

const WAY = 'passkey'

type Named = { readonly email: string | undefined; readonly signInWallet: string | undefined }

/** @throws invalid_input where there is not exactly one, or it is malformed. */
const readNamed = (config: Config, named: Named): { readonly email: string } | { readonly signInWallet: string } => {
  const { email, signInWallet } = named
  if (email !== undefined && signInWallet === undefined) return { email: readEmailAddress(email) }
  if (signInWallet !== undefined && email === undefined) return { signInWallet: readSignInWallet(config, signInWallet) }
  throw new AppError('invalid_input', 'Exactly one of "email" and "sign_in_wallet" must be given.')
}

/**
 * The options for a login with a passkey of the user who is named. No passkey is listed, as that would tell who has some, and
 * of whom they are: all of ours are discoverable, and the authenticator finds them. The challenge is for that user alone, or
 * for the id that nobody has yet: the answer, the work and what comes of it do not tell.
 * @throws invalid_input, address_invalid, passkey_domain_required, rate_limited.
 */
export const loginWithPasskey = async (
  ctx: Pick<Ctx, 'db' | 'config' | 'identity'>,
  asked: Asked,
  named: Named,
): Promise<RequestOptions> => {
  const by = readNamed(ctx.config, named)
  const target = 'email' in by ? by.email : by.signInWallet
  await throttle(ctx, [beginsFrom(ctx, asked, WAY), ...beginsFor(ctx, asked, WAY, target)])
  const { projectId, origin } = asked
  const project = await findProject(ctx.db, projectId)
  if (project === null) throw new Error('a project that was asked for is there')
  const rpId = rpIdFor(project, origin)
  const userId = await userIdOf(ctx, { projectId, by })
  const challenge = await newPasskeyChallenge(ctx, { projectId, kind: 'passkey_login', userId, rpId })
  return requestOptions({ rpId, challenge })
}
