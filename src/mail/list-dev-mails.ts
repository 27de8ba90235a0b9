import { listReadableMails } from '../../db/queries/mails.ts'
import type { Ctx } from '../context.ts'
import { MAIL_PURPOSE } from './queue.ts'

const SHOWN_MAX = 100

export type DevMail = {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly text: string
  readonly createdAt: Date
}

/** Whether mails are shown instead of sent: on a developer's machine without a mail server. */
export const hasDevMailbox = (ctx: Pick<Ctx, 'config'>): boolean => ctx.config.devnet && ctx.config.mailUrl === null

/** Everybody's mails of the last while, the newest first. Only where `hasDevMailbox`. */
export const listDevMails = async (ctx: Pick<Ctx, 'config' | 'db' | 'sealer'>): Promise<readonly DevMail[]> => {
  if (!hasDevMailbox(ctx)) throw new Error('mails are shown on a developer’s machine alone')
  const rows = await listReadableMails(ctx.db, { limit: SHOWN_MAX })
  return rows.map(({ id, recipient, subject, sealed, createdAt }) => {
    const text = Buffer.from(ctx.sealer.open({ purpose: MAIL_PURPOSE, rowId: id, sealed })).toString()
    return { id, recipient, subject, text, createdAt }
  })
}
