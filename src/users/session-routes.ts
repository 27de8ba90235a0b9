import { Elysia } from 'elysia'
import { requireUser } from '../auth/caller.ts'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { answers } from '../http/schema.ts'
import { endOwnSessions } from './end-own-sessions.ts'
import { listOwnSessions } from './list-own-sessions.ts'
import { EndedSessions, EndSessionsBody, OwnSessions } from './session-schema.ts'

const detail = (summary: string, description: string) => ({ detail: { tags: ['Users'], summary, description } })

/** A user's own sessions. */
export const sessionRoutes = (ctx: Ctx, authentication: Authentication) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(authentication)
    .get('/sessions', ({ caller }) => listOwnSessions(ctx, requireUser(caller)), {
      response: answers(OwnSessions),
      ...detail("List a user's own sessions", 'Those that go on, newest first. No token is told.'),
    })
    .post(
      '/sessions/end',
      async ({ body, caller }) => {
        const sessionId = body.session_id?.toLowerCase() ?? null
        return { ended: await endOwnSessions(ctx, requireUser(caller), { sessionId }) }
      },
      {
        body: EndSessionsBody,
        response: answers(EndedSessions),
        ...detail(
          'End own sessions',
          'One of them, or without a session_id all others than the one that asks: their tokens are refused at once.',
        ),
      },
    )
