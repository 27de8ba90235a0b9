// Mailed links. A GET shows who asks and changes nothing, as mail scanners open links; only the button's POST completes.
// The secret is in the query, so that the page needs no script: it is good for five minutes, it gives whoever reads it in
// a proxy's log no session (that goes to the device that holds the code), and the page tells no other server where it is.
// A scanner that also sends forms cannot be told from a person.

import { findProject, projectOf } from '../../db/queries/projects.ts'
import { completeMailedLink, findMailedLink } from '../../db/queries/session-challenges.ts'
import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import type { Asker } from '../http/peer.ts'
import { readEmailAddress } from '../mail/address.ts'
import { lineOf, queueMail, requireMail } from '../mail/queue.ts'
import { beginsFrom, mailsTo, triesFrom } from './limits.ts'
import {
  beginChallenge,
  CHALLENGE_SECONDS,
  type ChallengeState,
  hashOf,
  newLinkSecret,
  readLinkSecret,
} from './session-challenge.ts'
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
    const project = await projectOf(tx, asked)
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

export type MailedLink =
  | { readonly state: 'unknown' }
  | { readonly state: 'expired' | 'done' | 'completed'; readonly projectName: string }
  | {
      readonly state: 'open'
      readonly projectName: string
      readonly secret: string
      readonly email: string
      readonly asker: Asker
      readonly askedAt: Date
      readonly expiresAt: Date
    }

type LinkInput = { readonly asker: Asker; readonly secret: string }

const lookAt = async (ctx: Ctx, text: string): Promise<MailedLink> => {
  const secret = readLinkSecret(text)
  const row = secret === null ? null : await findMailedLink(ctx.db, hashOf(secret))
  const project = row === null ? null : await findProject(ctx.db, row.projectId)
  if (secret === null || row === null || project === null) return { state: 'unknown' }
  const projectName = project.name
  if (row.completedAt !== null) return { state: 'done', projectName }
  if (row.expired) return { state: 'expired', projectName }
  const { email, createdAt: askedAt, expiresAt, askerAddress: address, askerDevice: device } = row
  return { state: 'open', projectName, secret, email: email ?? '', asker: { address, device }, askedAt, expiresAt }
}

/** What a link is for; changes nothing. @throws rate_limited */
export const openMailedLink = async (ctx: Ctx, input: LinkInput): Promise<MailedLink> => {
  await throttle(ctx, [triesFrom(ctx, input, 'mailed link')])
  return lookAt(ctx, input.secret)
}

/** Whoever pressed the button was on our page: a browser says so, and no page of another site can make it. */
const isFromOurPage = (ctx: Ctx, headers: Headers): boolean => {
  const site = headers.get('sec-fetch-site')
  // Where the policy is no-referrer, browsers send the origin "null", also to ourselves.
  if (site !== null) return site === 'same-origin'
  return headers.get('origin') === new URL(ctx.config.publicBaseUrl).origin
}

/**
 * Lets in the device that asks, once.
 * @returns `completed` where it was this, else what the link is by now.
 * @throws origin_not_allowed where the form was not sent by our page; rate_limited.
 */
export const confirmMailedLink = async (
  ctx: Ctx,
  input: LinkInput & { readonly headers: Headers },
): Promise<MailedLink> => {
  if (!isFromOurPage(ctx, input.headers)) {
    throw new AppError('origin_not_allowed', 'This form must be sent from its own page, in a current browser.', {
      event: { kind: 'origin_refused', projectId: null, details: { form: 'mailed link' } },
    })
  }
  await throttle(ctx, [triesFrom(ctx, input, 'mailed link')])
  const link = await lookAt(ctx, input.secret)
  if (link.state !== 'open') return link
  const isDone = await completeMailedLink(ctx.db, hashOf(link.secret))
  return isDone ? { state: 'completed', projectName: link.projectName } : lookAt(ctx, input.secret)
}
