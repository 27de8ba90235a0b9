import type { Task } from 'graphile-worker'
import { addJob } from '../../db/jobs.ts'
import { sendMail } from '../../src/identity/mail/send.ts'
import type { JobsCtx } from '../ctx.ts'
import { taskOf } from './task.ts'

/** Sends a mail, and again after growing delays until the server takes it or the mail has expired. */
export const sendMailTask = (ctx: JobsCtx): Task =>
  taskOf('send_mail', async ({ mailId }) => {
    const result = await sendMail(ctx, mailId)
    if (result.state === 'done') return
    const { delaySeconds } = result
    await addJob(ctx.db, 'send_mail', { mailId }, { key: `mail:${mailId}`, delaySeconds })
  })
