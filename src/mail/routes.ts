import { Elysia } from 'elysia'
import type { Ctx } from '../context.ts'
import { CONTENT_SECURITY_POLICY, devMailboxPage, hasDevMailbox, listDevMails } from './dev-page.ts'

const hidden = { detail: { hide: true } }

/** /dev/mailbox and /dev/mailbox.json. The paths exist only where mails are shown instead of sent. */
export const devMailboxRoutes = (ctx: Pick<Ctx, 'config' | 'db' | 'sealer'>) => {
  const routes = new Elysia({ prefix: '/dev' })
  if (!hasDevMailbox(ctx)) return routes
  return routes
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
      set.headers['referrer-policy'] = 'no-referrer'
      set.headers['x-content-type-options'] = 'nosniff'
    })
    .get(
      '/mailbox',
      async ({ set }) => {
        set.headers['content-type'] = 'text/html; charset=utf-8'
        set.headers['content-security-policy'] = CONTENT_SECURITY_POLICY
        return devMailboxPage({ mails: await listDevMails(ctx), publicBaseUrl: ctx.config.publicBaseUrl })
      },
      hidden,
    )
    .get(
      '/mailbox.json',
      async () =>
        (await listDevMails(ctx)).map(({ id, recipient, subject, text, createdAt }) => ({
          id,
          recipient,
          subject,
          text,
          created_at: createdAt.toISOString(),
        })),
      hidden,
    )
}
