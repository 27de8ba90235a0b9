import { Elysia } from 'elysia'
import { requireUser } from '../auth/caller.ts'
import type { Authentication, ProjectDoor } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { askerOf } from '../http/peer.ts'
import { answers } from '../http/schema.ts'
import { addEmail, verifyEmail } from './add-email.ts'
import { EmailBody, VerifyEmailBody } from './email-schema.ts'
import { loginWithEmail } from './login-with-email.ts'
import { Success, UserId } from './schema.ts'

const detail = (summary: string, description: string) => ({ detail: { tags: ['Users'], summary, description } })

const openRoutes = (ctx: Ctx, door: ProjectDoor) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(door)
    .post('/login-with-email', async ({ body, asked }) => ({ user_id: await loginWithEmail(ctx, asked, body) }), {
      body: EmailBody,
      response: answers(UserId),
      ...detail(
        'Log in with a mailed code',
        'Mails a code of 6 digits, good for 10 minutes and 5 tries. A new code replaces the one before. The answer is the same whether or not the address is known.',
      ),
    })

const ownRoutes = (ctx: Ctx, authentication: Authentication) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(authentication)
    .post(
      '/add-email',
      async ({ body, caller, request }) => {
        await addEmail(ctx, { caller: requireUser(caller), asker: askerOf(ctx.config, request), email: body.email })
        return { success: true as const }
      },
      {
        body: EmailBody,
        response: answers(Success),
        ...detail(
          'Add an e-mail address',
          'Mails a code to the address, for a user who has none yet. Takes a login of the last ten minutes, else 403 `fresh_login_required`.',
        ),
      },
    )
    .post(
      '/verify-email',
      async ({ body, caller, request }) => {
        const asker = askerOf(ctx.config, request)
        await verifyEmail(ctx, { caller: requireUser(caller), asker, code: body.verification_code })
        return { success: true as const }
      },
      {
        body: VerifyEmailBody,
        response: answers(Success),
        ...detail(
          'Prove an added e-mail address',
          'From then on the user logs in with it too. 409 `email_taken` where another user of the project has it.',
        ),
      },
    )

/** Logging in by mail, and adding an e-mail address to a user who came in otherwise. */
export const emailRoutes = (ctx: Ctx, door: ProjectDoor, authentication: Authentication) =>
  new Elysia({ normalize: false }).use(openRoutes(ctx, door)).use(ownRoutes(ctx, authentication))
