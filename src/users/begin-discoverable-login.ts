import { findProject } from '../../db/queries/projects.ts'
import type { Asked } from '../auth/plugin.ts'
import { rpIdFor } from '../auth/relying-party.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { beginsFrom } from './limits.ts'
import { newPasskeyChallenge } from './passkey-challenge.ts'
import { requestOptions } from './passkey-options.ts'
import type { RequestOptions } from './passkey-schema.ts'

/**
 * The options for a login with whichever passkey the user chooses.
 * @throws passkey_domain_required where the page can have none, rate_limited.
 */
export const beginDiscoverableLogin = async (
  ctx: Pick<Ctx, 'db' | 'config' | 'identity'>,
  asked: Asked,
): Promise<RequestOptions> => {
  await throttle(ctx, [beginsFrom(ctx, asked, 'passkey')])
  const { projectId, origin } = asked
  const project = await findProject(ctx.db, projectId)
  if (project === null) throw new Error('a project that was asked for is there')
  const rpId = rpIdFor(project, origin)
  const challenge = await newPasskeyChallenge(ctx, { projectId, kind: 'passkey_login', userId: null, rpId })
  return requestOptions({ rpId, challenge })
}
