// Mailed links. Mail scanners open links, so a GET only shows which device asks. The button's POST completes the login.
// We cannot tell a scanner that also submits forms from a person.
//
// The secret is in the query, so that the page needs no script. It is valid for five minutes, the page sends no
// referrer, and the session goes to the device that holds the code, not to a reader of a proxy's log.

import { findProject } from '../../../db/queries/projects.ts'
import { findMailedLink, type SessionChallengeRow } from '../../../db/queries/session-challenges.ts'
import { AppError } from '../../platform/errors.ts'
import type { Client } from '../../platform/http/peer.ts'
import type { Visitor } from '../auth/plugin.ts'
import { beginLimit, mailLimits, throttle, tryLimit } from '../auth/throttle.ts'
import type { IdentityCtx } from '../ctx.ts'
import { readEmailAddress } from '../mail/address.ts'
import { lineOf, mailText, queueMail, requireMail } from '../mail/queue.ts'
import {
  beginChallenge,
  CHALLENGE_SECONDS,
  type ChallengeState,
  completeChallenge,
  hasExpired,
  hashOf,
  isOurChallenge,
  newLinkSecret,
  readLinkSecret,
} from './session-challenge.ts'
import { userIdOf } from './user.ts'

const WAY = 'magic_link'

/** Contains nothing that the asking device sent: otherwise a stranger could put their own text into our mail. */
const textOf = (project: string, link: string): string =>
  mailText([
    `Somebody asks to log in to ${project} with this e-mail address.`,
    `Open this link to see which device asks, and to log it in. It is valid for ${CHALLENGE_SECONDS / 60} minutes and for one use:`,
    link,
    'If it was not you, do nothing: nobody is logged in unless you confirm it on that page. Do not give the link to anybody.',
  ])

/** Does the same for a known and an unknown address. Only the mail contains the link's secret. */
export const loginWithMagicLink = async (
  ctx: IdentityCtx,
  visitor: Visitor,
  input: { readonly email: string },
): Promise<ChallengeState> => {
  requireMail(ctx)
  const email = readEmailAddress(input.email)
  await throttle(ctx, [beginLimit(ctx, visitor, WAY), ...mailLimits(ctx, visitor, WAY, email)])
  const { projectId, project } = visitor
  const userId = await userIdOf(ctx, { projectId, by: { email } })
  const secret = newLinkSecret()
  return ctx.db.transaction(async (tx) => {
    const challenge = await beginChallenge(ctx, tx, {
      ...visitor,
      way: WAY,
      link: { linkHash: hashOf(secret), email, userId },
    })
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
      readonly client: Client
      readonly askedAt: Date
      readonly expiresAt: Date
      readonly read: SessionChallengeRow
    }

type LinkInput = { readonly client: Client; readonly secret: string }

const readLink = async (ctx: IdentityCtx, text: string): Promise<MailedLink> => {
  const secret = readLinkSecret(text)
  const row = secret === null ? null : await findMailedLink(ctx.db, hashOf(secret))
  const project = row === null ? null : await findProject(ctx.db, row.projectId)
  if (secret === null || row === null || project === null) return { state: 'unknown' }
  const projectName = project.name
  if (row.completedAt !== null) return { state: 'done', projectName }
  if (hasExpired(ctx, row)) return { state: 'expired', projectName }
  if (!isOurChallenge(ctx, row)) return { state: 'unknown' }
  const { email, createdAt: askedAt, expiresAt, askerAddress: address, askerDevice: device } = row
  const shown = { secret, email: email ?? '', client: { address, device }, askedAt, expiresAt }
  return { state: 'open', projectName, ...shown, read: row }
}

export const openMailedLink = async (ctx: IdentityCtx, input: LinkInput): Promise<MailedLink> => {
  await throttle(ctx, [tryLimit(ctx, input, 'mailed link')])
  return readLink(ctx, input.secret)
}

/** Whether our own page sent the form. Browsers set these headers; a page of another site cannot forge them. */
const isFromOurPage = (ctx: IdentityCtx, headers: Headers): boolean => {
  const site = headers.get('sec-fetch-site')
  // Our referrer policy is no-referrer, so browsers send the origin "null" even to us.
  if (site !== null) return site === 'same-origin'
  return headers.get('origin') === new URL(ctx.config.publicBaseUrl).origin
}

/** @returns `completed` if this call completed it, else its state. @throws origin_not_allowed for a foreign form. */
export const confirmMailedLink = async (
  ctx: IdentityCtx,
  input: LinkInput & { readonly headers: Headers },
): Promise<MailedLink> => {
  if (!isFromOurPage(ctx, input.headers)) {
    throw new AppError('origin_not_allowed', 'This form must be sent from its own page, in a current browser.', {
      event: { kind: 'origin_refused', projectId: null, details: { form: 'mailed link' } },
    })
  }
  await throttle(ctx, [tryLimit(ctx, input, 'mailed link')])
  const link = await readLink(ctx, input.secret)
  if (link.state !== 'open') return link
  // Opening a mail proves the user.
  const { read } = link
  const completed = { read, userId: read.userId, authenticatedAt: read.now }
  const isDone = await completeChallenge(ctx, ctx.db, completed)
  return isDone ? { state: 'completed', projectName: link.projectName } : readLink(ctx, input.secret)
}
