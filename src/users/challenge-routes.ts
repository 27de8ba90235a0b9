import { Elysia } from 'elysia'
import { requireUser } from '../auth/caller.ts'
import type { Authentication, ProjectDoor } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { askerOf } from '../http/peer.ts'
import { answers } from '../http/schema.ts'
import { ChallengeAsker, ChallengeCodeBody, ChallengeCodeQuery } from './challenge-schema.ts'
import { EmailBody } from './email-schema.ts'
import { loginWithMagicLink } from './login-with-magic-link.ts'
import { SessionChallenge, Success } from './schema.ts'
import {
  completeSessionChallenge,
  createSessionChallenge,
  readChallengeAsker,
  readSessionChallenge,
} from './session-challenge.ts'

const detail = (summary: string, description: string) => ({ detail: { tags: ['Users'], summary, description } })

const beginRoutes = (ctx: Ctx, door: ProjectDoor) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(door)
    .post('/create-session-challenge', ({ asked }) => createSessionChallenge(ctx, asked), {
      response: answers(SessionChallenge),
      ...detail(
        'Ask to be logged in by another device',
        'Show the code; the user enters it on a device where they are logged in. Look at it with session-challenge, and when it is completed, give it to verify-login. Good for five minutes and one session.',
      ),
    })
    .post('/login-with-magic-link', ({ body, asked }) => loginWithMagicLink(ctx, asked, body), {
      body: EmailBody,
      response: answers(SessionChallenge),
      ...detail(
        'Log in with a mailed link',
        'Mails a link to a page on which the user confirms the login. That, and not the code, completes the challenge. The answer is the same whether or not the address is known.',
      ),
    })

const lookRoutes = (ctx: Ctx) =>
  new Elysia({ prefix: '/users', normalize: false }).get(
    '/session-challenge',
    async ({ query, request, set }) => {
      set.headers['cache-control'] = 'no-store'
      const { headers } = request
      return readSessionChallenge(ctx, {
        asker: askerOf(ctx.config, request),
        origin: headers.get('origin'),
        projectId: (headers.get('x-walletkit-project-id') ?? headers.get('x-project-id'))?.trim().toLowerCase() ?? null,
        code: query.code,
      })
    },
    {
      query: ChallengeCodeQuery,
      response: answers(SessionChallenge),
      ...detail(
        'Look at a session challenge',
        'Whether it is completed or over, once a second at most. No token is told.',
      ),
    },
  )

const ownRoutes = (ctx: Ctx, authentication: Authentication) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(authentication)
    .get(
      '/session-challenge/asker',
      async ({ query: { code }, caller, request }) => {
        const asker = askerOf(ctx.config, request)
        const asks = await readChallengeAsker(ctx, { caller: requireUser(caller), asker, code })
        return {
          address: asks.address,
          device: asks.device,
          created_at: asks.createdAt.toISOString(),
          expires_at: asks.expiresAt.toISOString(),
        }
      },
      {
        query: ChallengeCodeQuery,
        response: answers(ChallengeAsker),
        ...detail('See who asks to be logged in', 'To be shown to the user before they complete the challenge.'),
      },
    )
    .post(
      '/complete-session-challenge',
      async ({ body: { code }, caller, request }) => {
        const asker = askerOf(ctx.config, request)
        await completeSessionChallenge(ctx, { caller: requireUser(caller), asker, code })
        return { success: true as const }
      },
      {
        body: ChallengeCodeBody,
        response: answers(Success),
        ...detail(
          'Let another device in',
          'Logs in, as the calling user, the device that shows the code. Show the user first who asks. Takes a login of the last ten minutes, else 403 `fresh_login_required`.',
        ),
      },
    )

/** Logins that are completed elsewhere than where they began. */
export const challengeRoutes = (ctx: Ctx, door: ProjectDoor, authentication: Authentication) =>
  new Elysia({ normalize: false }).use(beginRoutes(ctx, door)).use(lookRoutes(ctx)).use(ownRoutes(ctx, authentication))
