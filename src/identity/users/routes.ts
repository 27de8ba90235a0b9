import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { invalidInput } from '../../platform/errors.ts'
import { ADDRESS, FRESH_USER, NODE, USER } from '../../platform/http/codes.ts'
import { clientOf } from '../../platform/http/peer.ts'
import { describedAs, SUCCESS, Success, successOf } from '../../platform/http/schema.ts'
import { type Caller, requireUser } from '../auth/caller.ts'
import { bearerOf, projectNamedBy } from '../auth/caller-headers.ts'
import type { Authentication, VisitorAdmission } from '../auth/plugin.ts'
import type { IdentityCtx } from '../ctx.ts'
import { addEmail, loginWithEmail, verifyEmail } from './email-code.ts'
import { endOwnSessions } from './end-sessions.ts'
import { listOwnSessions } from './list.ts'
import { loginWithMagicLink } from './magic-link.ts'
import { passkeyRoutes } from './passkey-routes.ts'
import {
  ChallengeAsker,
  ChallengeCodeBody,
  ChallengeCodeQuery,
  CodeChallengeBody,
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
import { loginAnonymously, logout, type OpenSession, refreshToken } from './session.ts'
import {
  completeSessionChallenge,
  createSessionChallenge,
  readChallengeAsker,
  readSessionChallenge,
} from './session-challenge.ts'
import { verifyLogin } from './verify-login.ts'
import { loginWithWallet } from './wallet-login.ts'

const { detail, withHeaders } = describedAs('Users')

const byUser = (ctx: IdentityCtx, caller: Caller, request: Request) => ({
  caller: requireUser(caller),
  client: clientOf(ctx.config, request),
})

const sessionBody = (session: OpenSession): Session => ({
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
  codeVerifier: body.code_verifier,
  passkeyAssertion: body.passkey_credential_assertion_response,
})

const codeChallengeOf = (body: CodeChallengeBody): string | undefined => {
  const { code_challenge: codeChallenge, code_challenge_method: method } = body
  if ((codeChallenge === undefined) === (method === undefined)) return codeChallenge
  throw invalidInput('Fields "code_challenge" and "code_challenge_method" must be given together.')
}

/** Clients of hosted services may hold these cookies. We never read them. */
const COOKIES = ['wk-session-id', 'wk-access-token', 'wk-refresh-token']
const expiredCookies = COOKIES.map((name) => `${name}=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax`)

const loginRoutes = (ctx: IdentityCtx, visitors: VisitorAdmission) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(visitors)
    .post('/verify-login', async ({ body, caller }) => sessionBody(await verifyLogin(ctx, caller, proofsOf(body))), {
      body: VerifyLogin,
      response: { 200: Session },
      ...detail(
        'Prove a login',
        'Takes exactly one proof: a mailed code, a signed message, a completed challenge or a passkey.',
        [...NODE, 'login_failed'],
      ),
    })
    .post('/login-anonymously', async ({ caller }) => sessionBody(await loginAnonymously(ctx, caller)), {
      response: { 200: Session },
      ...detail(
        'Log in without a proof',
        'Creates a user, who can add an e-mail address or a passkey later. 403 `anonymous_login_off` if the project does not allow it.',
        ['anonymous_login_off'],
      ),
    })
    .post(
      '/refresh-token',
      async ({ body, caller: { projectId } }) =>
        sessionBody(
          await refreshToken(ctx, {
            projectId,
            sessionId: body.session_id.toLowerCase(),
            refreshToken: body.refresh_token,
          }),
        ),
      {
        body: RefreshTokenBody,
        response: { 200: Session },
        ...detail(
          'Refresh a session',
          'Exchanges the refresh token for its successor. A token that was exchanged more than 10 s ago ends the session.',
          ['session_ended'],
        ),
      },
    )
    .post(
      '/logout',
      async ({ caller: { projectId }, request, set }) => {
        await logout(ctx, { projectId, bearer: bearerOf(request.headers) })
        set.headers['set-cookie'] = expiredCookies
        return SUCCESS
      },
      {
        response: { 200: Success },
        ...withHeaders(
          'expired cookies',
          detail(
            'Log out',
            'Ends the session of the access token at once, and expires the session cookies. Also takes an expired access token.',
            USER,
          ),
        ),
      },
    )
    .post(
      '/login-with-wallet',
      async ({ body, caller }) => {
        const { userId, nonce } = await loginWithWallet(ctx, caller, { signInWallet: body.sign_in_wallet })
        return { user_id: userId, nonce }
      },
      {
        body: SignInWalletBody,
        response: { 200: WalletChallenge },
        ...detail(
          'Log in with a wallet',
          'Returns a nonce for an EIP-4361 message, or for the same message by a Substrate account. The domain and the URI must be of an allowed origin. Pass the signed message to verify-login. The answer does not reveal whether the wallet is known.',
          [...ADDRESS, 'origin_not_allowed'],
        ),
      },
    )

const challengeRoutes = (ctx: IdentityCtx, visitors: VisitorAdmission) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(visitors)
    .post('/login-with-email', async ({ body, caller }) => ({ user_id: await loginWithEmail(ctx, caller, body) }), {
      body: EmailBody,
      response: { 200: UserId },
      ...detail(
        'Log in with a mailed code',
        'Mails a code of 6 digits, valid for 10 minutes and 5 tries. A new code replaces the previous one. The answer does not reveal whether the address is known.',
        ['not_implemented'],
      ),
    })
    .post(
      '/create-session-challenge',
      ({ caller, body }) => createSessionChallenge(ctx, caller, { codeChallenge: codeChallengeOf(body ?? {}) }),
      {
        body: Type.Optional(CodeChallengeBody),
        response: { 200: SessionChallenge },
        ...detail(
          'Ask to be logged in by another device',
          'Show the code. The user enters it on a device where they are logged in. Poll session-challenge until the challenge is completed, then pass the code to verify-login, with the `code_verifier`. Without a `code_challenge` the code is accepted only from the address that asked. Valid for five minutes and one session.',
        ),
      },
    )
    .post('/login-with-magic-link', ({ body, caller }) => loginWithMagicLink(ctx, caller, body), {
      body: EmailBody,
      response: { 200: SessionChallenge },
      ...detail(
        'Log in with a mailed link',
        'Mails a link to a page on which the user confirms the login. Only the link completes this challenge. The answer does not reveal whether the address is known.',
        ['not_implemented'],
      ),
    })

const ownEmailRoutes = (ctx: IdentityCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(authentication)
    .post(
      '/add-email',
      ({ body, caller, request }) => successOf(addEmail(ctx, { ...byUser(ctx, caller, request), email: body.email })),
      {
        body: EmailBody,
        response: { 200: Success },
        ...detail(
          'Add an e-mail address',
          'Mails a code to the address. For a user who has no address yet. Requires a login within the last ten minutes, else 403 `fresh_login_required`.',
          [...FRESH_USER, 'email_exists', 'not_implemented'],
        ),
      },
    )
    .post(
      '/verify-email',
      ({ body, caller, request }) =>
        successOf(verifyEmail(ctx, { ...byUser(ctx, caller, request), code: body.verification_code })),
      {
        body: VerifyEmailBody,
        response: { 200: Success },
        ...detail(
          'Prove an added e-mail address',
          'From then on the user can also log in with the address. 409 `email_taken` if another user of the project has it.',
          [...FRESH_USER, 'INVALID_SECRET', 'email_exists', 'email_taken'],
        ),
      },
    )

const pollRoute = (ctx: IdentityCtx) =>
  new Elysia({ prefix: '/users', normalize: false }).get(
    '/session-challenge',
    async ({ query, request }) => {
      const { headers } = request
      return readSessionChallenge(ctx, {
        client: clientOf(ctx.config, request),
        origin: headers.get('origin'),
        projectId: projectNamedBy(headers),
        code: query.code,
      })
    },
    {
      query: ChallengeCodeQuery,
      response: { 200: SessionChallenge },
      ...detail(
        'Read a session challenge',
        'Says whether it is completed or has expired. Poll at most once a second. The answer contains no token.',
        ['project_required', 'not_found', 'origin_not_allowed', 'rate_limited'],
      ),
    },
  )

const CHALLENGE = ['not_found', 'challenge_expired', 'challenge_completed'] as const

const ownSessionRoutes = (ctx: IdentityCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(authentication)
    .get(
      '/session-challenge/asker',
      async ({ query: { code }, caller, request }) => {
        const asker = await readChallengeAsker(ctx, { ...byUser(ctx, caller, request), code })
        return {
          address: asker.address,
          device: asker.device,
          created_at: asker.createdAt.toISOString(),
          expires_at: asker.expiresAt.toISOString(),
        }
      },
      {
        query: ChallengeCodeQuery,
        response: { 200: ChallengeAsker },
        ...detail('See which device asks to be logged in', 'Show it to the user before they complete the challenge.', [
          ...USER,
          ...CHALLENGE,
        ]),
      },
    )
    .post(
      '/complete-session-challenge',
      ({ body: { code }, caller, request }) =>
        successOf(completeSessionChallenge(ctx, { ...byUser(ctx, caller, request), code })),
      {
        body: ChallengeCodeBody,
        response: { 200: Success },
        ...detail(
          'Let another device in',
          'Logs in the device that shows the code, as the calling user. First show the user which device asks. Requires a login within the last ten minutes, else 403 `fresh_login_required`.',
          [...FRESH_USER, ...CHALLENGE],
        ),
      },
    )
    .get('/sessions', ({ caller }) => listOwnSessions(ctx, requireUser(caller)), {
      response: { 200: OwnSessions },
      ...detail("List a user's own sessions", 'Live sessions, newest first. The list contains no token.', USER),
    })
    .post(
      '/sessions/end',
      async ({ body, caller }) => {
        const sessionId = body.session_id?.toLowerCase() ?? null
        return { ended: await endOwnSessions(ctx, requireUser(caller), { sessionId }) }
      },
      {
        body: EndSessionsBody,
        response: { 200: EndedSessions },
        ...detail(
          'End own sessions',
          'Ends one session, or without a session_id all except the calling one. Their tokens are refused at once.',
          [...USER, 'not_found'],
        ),
      },
    )

export const userRoutes = (ctx: IdentityCtx, visitors: VisitorAdmission, authentication: Authentication) =>
  new Elysia({ normalize: false })
    .use(loginRoutes(ctx, visitors))
    .use(passkeyRoutes(ctx, visitors, authentication))
    .use(ownEmailRoutes(ctx, authentication))
    .use(challengeRoutes(ctx, visitors))
    .use(pollRoute(ctx))
    .use(ownSessionRoutes(ctx, authentication))
