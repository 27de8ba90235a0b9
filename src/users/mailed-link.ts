// Mailed links. A GET shows who asks and changes nothing, as mail scanners open links; only the button's POST completes.
// The secret is in the query, so that the page needs no script: it is good for five minutes, it gives whoever reads it in
// a proxy's log no session (that goes to the device that holds the code), and the page tells no other server where it is.
// A scanner that also sends forms cannot be told from a person.

import { findProject } from '../../db/queries/projects.ts'
import { completeMailedLink, findMailedLink } from '../../db/queries/session-challenges.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import type { Asker } from '../http/peer.ts'
import { hashOf, readLinkSecret } from './challenge-code.ts'
import { triesFrom } from './limits.ts'

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
