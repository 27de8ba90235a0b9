import { findProject } from '../../db/queries/projects.ts'
import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { readEmailAddress } from '../mail/address.ts'
import { queueMail, requireMail } from '../mail/queue.ts'
import { hashOf, newLinkSecret } from './challenge-code.ts'
import { lineOf } from './email-code.ts'
import { beginsFrom, mailsTo } from './limits.ts'
import { beginChallenge, CHALLENGE_SECONDS, type ChallengeState } from './session-challenge.ts'
import { userIdOf } from './user-id.ts'

const WAY = 'magic_link'

/** Nothing that the asking device says of itself: whoever asks could make the mail say anything. */
const textOf = (project: string, link: string): string =>
  [
    `Somebody asks to log in to ${project} with this e-mail address.`,
    `To see who asks, and to let them in, good for ${CHALLENGE_SECONDS / 60} minutes and for one use:`,
    link,
    'If it was not you, do nothing: unless you confirm it on that page, nobody gets in. Do not give the link to anybody.',
  ]
    .map((paragraph) => `${paragraph}\n`)
    .join('\n')

/**
 * Mails a link whose page completes the challenge, whether the address is a user's already or not: the answer and the work
 * are the same. The link's secret is in the mail alone.
 * @throws not_implemented, invalid_input, rate_limited.
 */
export const loginWithMagicLink = async (
  ctx: Ctx,
  asked: Asked,
  input: { readonly email: string },
): Promise<ChallengeState> => {
  requireMail(ctx)
  const email = readEmailAddress(input.email)
  await throttle(ctx, [beginsFrom(ctx, asked, WAY), ...mailsTo(ctx, asked, WAY, email)])
  const { projectId } = asked
  const userId = await userIdOf(ctx, { projectId, by: { email } })
  const secret = newLinkSecret()
  return ctx.db.transaction(async (tx) => {
    const project = await findProject(tx, projectId)
    if (project === null) throw new Error('a link is for a project')
    const challenge = await beginChallenge(tx, { ...asked, link: { linkHash: hashOf(secret), email, userId } })
    const name = lineOf(project.name)
    await queueMail(ctx, tx, {
      projectId,
      recipient: email,
      subject: `Log in to ${name}`,
      text: textOf(name, `${ctx.config.publicBaseUrl}/login/link?secret=${secret}`),
      lifetimeSeconds: CHALLENGE_SECONDS,
    })
    return challenge
  })
}
