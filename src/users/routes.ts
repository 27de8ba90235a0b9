import { Elysia } from 'elysia'
import { bearerOf } from '../auth/authenticate.ts'
import type { ProjectDoor } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { answers } from '../http/schema.ts'
import { loginAnonymously } from './login-anonymously.ts'
import { logout } from './logout.ts'
import { refreshToken } from './refresh-token.ts'
import { RefreshTokenBody, Session, Success, VerifyLoginBody as VerifyLogin, type VerifyLoginBody } from './schema.ts'
import type { OpenSession } from './session.ts'
import { verifyLogin } from './verify-login.ts'

const shown = (session: OpenSession): Session => ({
  id: session.row.id,
  created_at: session.row.createdAt.toISOString(),
  project_id: session.row.projectId,
  user_id: session.row.userId,
  access_token: session.accessToken,
  access_token_expires_at: session.accessTokenExpiresAt.toISOString(),
  refresh_token: session.refreshToken,
  refresh_token_expires_at: session.row.expiresAt.toISOString(),
})

const proofsOf = (body: VerifyLoginBody) => ({
  userId: body.user_id?.toLowerCase(),
  verificationCode: body.verification_code,
  siweMessage: body.siwe_message,
  signature: body.signature,
  sessionChallengeCode: body.session_challenge_code,
  passkeyAssertion: body.passkey_credential_assertion_response,
})

/** Clients of hosted services may hold these; ours are never read. */
const COOKIES = ['wk-session-id', 'wk-access-token', 'wk-refresh-token']
const expiredCookies = COOKIES.map((name) => `${name}=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax`)

const detail = (summary: string, description: string) => ({ detail: { tags: ['Users'], summary, description } })

/** Sessions: how they begin, go on and end. */
export const userRoutes = (ctx: Ctx, door: ProjectDoor) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(door)
    .post('/verify-login', async ({ body, asked }) => shown(await verifyLogin(ctx, asked, proofsOf(body))), {
      body: VerifyLogin,
      response: answers(Session),
      ...detail(
        'Prove a login',
        'With exactly one proof: a mailed code, a signed message, a completed challenge or a passkey.',
      ),
    })
    .post('/login-anonymously', async ({ asked }) => shown(await loginAnonymously(ctx, asked)), {
      response: answers(Session),
      ...detail(
        'Log in without a proof',
        'Makes a new user, who may add an e-mail address or a passkey later. 403 `anonymous_login_off` where the project takes none.',
      ),
    })
    .post(
      '/refresh-token',
      async ({ body, asked: { projectId } }) =>
        shown(
          await refreshToken(ctx, {
            projectId,
            sessionId: body.session_id.toLowerCase(),
            refreshToken: body.refresh_token,
          }),
        ),
      {
        body: RefreshTokenBody,
        response: answers(Session),
        ...detail(
          'Refresh a session',
          'Exchanges the refresh token for its successor. One that was used more than 10 s ago ends the session.',
        ),
      },
    )
    .post(
      '/logout',
      async ({ asked: { projectId }, request, set }) => {
        await logout(ctx, { projectId, bearer: bearerOf(request.headers) })
        set.headers['set-cookie'] = expiredCookies
        return { success: true as const }
      },
      {
        response: answers(Success),
        ...detail(
          'Log out',
          "Ends the access token's session at once, expired or not, and expires the session cookies.",
        ),
      },
    )
