import { Elysia } from 'elysia'
import type { HasDb } from '../../../db/client.ts'
import type { HasConfig } from '../../platform/config.ts'
import { PAGE_HEADERS } from '../../platform/pages/page.ts'
import type { HasSealer } from '../../platform/sealing/sealer.ts'
import { devMailboxPage, hasDevMailbox, listDevMails } from './dev-page.ts'

const hidden = { detail: { hide: true } }

/** /dev/mailbox and /dev/mailbox.json. The paths exist only where mails are shown instead of sent. */
export const devMailboxRoutes = (ctx: HasConfig & HasDb & HasSealer) => {
  const routes = new Elysia({ prefix: '/dev' })
  if (!hasDevMailbox(ctx)) return routes
  return routes
    .get(
      '/mailbox',
      async ({ set }) => {
        Object.assign(set.headers, PAGE_HEADERS)
        return devMailboxPage({ mails: await listDevMails(ctx), publicBaseUrl: ctx.config.publicBaseUrl })
      },
      hidden,
    )
    .get(
      '/mailbox.json',
      async ({ set }) => {
        set.headers['x-content-type-options'] = 'nosniff'
        const mails = await listDevMails(ctx)
        return mails.map(({ createdAt, ...mail }) => ({ ...mail, created_at: createdAt.toISOString() }))
      },
      hidden,
    )
}
