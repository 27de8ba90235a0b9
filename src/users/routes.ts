import { Elysia } from 'elysia'
import { bearerOf } from '../auth/authenticate.ts'
import { type Caller, requireUser } from '../auth/caller.ts'
import type { Authentication, ProjectDoor } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { askerOf } from '../http/peer.ts'
import { answers, describedAs, SUCCESS, Success } from '../http/schema.ts'
import { addEmail, loginWithEmail, verifyEmail } from './email-code.ts'
import { endOwnSessions } from './end-sessions.ts'
import { listOwnSessions } from './list.ts'
import { loginAnonymously } from './login-anonymously.ts'
import { loginWithMagicLink } from './magic-link.ts'
import { passkeyRoutes } from './passkey-routes.ts'
import {
  ChallengeAsker,
  ChallengeCodeBody,
  ChallengeCodeQuery,
  EmailBody,
  EndedSessions,
  EndSessionsBody,
  OwnSessions,
  RefreshTokenBody,
  Session,
  SessionChallenge,
  SignInWalletBody,
  UserId,
  VerifyEmailBody,
  VerifyLoginBody as VerifyLogin,
  type VerifyLoginBody,
  WalletChallenge,
} from './schema.ts'
import { logout, type OpenSession, refreshToken } from './session.ts'
import {
  completeSessionChallenge,
  createSessionChallenge,
  readChallengeAsker,
  readSessionChallenge,
} from './session-challenge.ts'
import { verifyLogin } from './verify-login.ts'
import { loginWithWallet } from './wallet-login.ts'

const { detail } = describedAs('Users')

/** @throws user_session_required */
const byUser = (ctx: Ctx, caller: Caller, request: Request) => ({
  caller: requireUser(caller),
  asker: askerOf(ctx.config, request),
})

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

/** Sessions: how they begin, go on and end; and logging in by a signed message. */
const loginRoutes = (ctx: Ctx, door: ProjectDoor) =>
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
        return SUCCESS
      },
      {
        response: answers(Success),
        ...detail(
          'Log out',
          "Ends the access token's session at once, expired or not, and expires the session cookies.",
        ),
      },
    )
    .post(
      '/login-with-wallet',
      async ({ body, asked }) => {
        const { userId, nonce } = await loginWithWallet(ctx, asked, { signInWallet: body.sign_in_wallet })
        return { user_id: userId, nonce }
      },
      {
        body: SignInWalletBody,
        response: answers(WalletChallenge),
        ...detail(
          'Log in with a wallet',
          'Gives out a nonce for an EIP-4361 message, or its likeness for a Substrate account. Domain and URI must be of an allowed origin; the signed message goes to verify-login. The answer is the same whether or not the wallet is known.',
        ),
      },
    )

const emailLoginRoutes = (ctx: Ctx, door: ProjectDoor) =>
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

const ownEmailRoutes = (ctx: Ctx, authentication: Authentication) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(authentication)
    .post(
      '/add-email',
      async ({ body, caller, request }) => {
        await addEmail(ctx, { ...byUser(ctx, caller, request), email: body.email })
        return SUCCESS
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
        await verifyEmail(ctx, { ...byUser(ctx, caller, request), code: body.verification_code })
        return SUCCESS
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

const challengeRoutes = (ctx: Ctx, door: ProjectDoor) =>
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

const challengeLookRoutes = (ctx: Ctx) =>
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

/** What a user does with logins of other devices, and with their own sessions. */
const ownSessionRoutes = (ctx: Ctx, authentication: Authentication) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(authentication)
    .get(
      '/session-challenge/asker',
      async ({ query: { code }, caller, request }) => {
        const asks = await readChallengeAsker(ctx, { ...byUser(ctx, caller, request), code })
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
        await completeSessionChallenge(ctx, { ...byUser(ctx, caller, request), code })
        return SUCCESS
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

/** How users log in, and what they do with their own. */
export const userRoutes = (ctx: Ctx, door: ProjectDoor, authentication: Authentication) =>
  new Elysia({ normalize: false })
    .use(loginRoutes(ctx, door))
    .use(passkeyRoutes(ctx, door, authentication))
    .use(emailLoginRoutes(ctx, door))
    .use(ownEmailRoutes(ctx, authentication))
    .use(challengeRoutes(ctx, door))
    .use(challengeLookRoutes(ctx))
    .use(ownSessionRoutes(ctx, authentication))
