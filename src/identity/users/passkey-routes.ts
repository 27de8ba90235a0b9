import { Elysia } from 'elysia'
import { ADDRESS, FRESH_USER, USER } from '../../platform/http/codes.ts'
import { clientOf } from '../../platform/http/peer.ts'
import { describedAs, Success, successOf } from '../../platform/http/schema.ts'
import { requireUser } from '../auth/caller.ts'
import type { Authentication, VisitorAdmission } from '../auth/plugin.ts'
import type { IdentityCtx } from '../ctx.ts'
import { beginDiscoverableLogin, loginWithPasskey } from './passkey-login.ts'
import { beginPasskeyRegistration, finishPasskeyRegistration } from './passkey-registration.ts'
import {
  CreationOptions,
  PasskeyAdded,
  PasskeyId,
  PasskeyRegistration,
  Passkeys,
  RequestOptions,
} from './passkey-schema.ts'
import { listOwnPasskeys, removePasskey } from './passkeys.ts'
import { LoginWithPasskeyBody } from './schema.ts'

const { detail } = describedAs('Users')

const openRoutes = (ctx: IdentityCtx, visitors: VisitorAdmission) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(visitors)
    .post('/login-with-discoverable-passkey', ({ caller }) => beginDiscoverableLogin(ctx, caller), {
      response: { 200: RequestOptions },
      ...detail(
        'Log in with a passkey that the user chooses',
        'Pass the answer to navigator.credentials.get, and its result to verify-login as `passkey_credential_assertion_response`.',
        ['passkey_domain_required'],
      ),
    })
    .post(
      '/login-with-passkey',
      ({ caller, body }) => loginWithPasskey(ctx, caller, { email: body.email, signInWallet: body.sign_in_wallet }),
      {
        body: LoginWithPasskeyBody,
        response: { 200: RequestOptions },
        ...detail(
          'Log in with a passkey of a user',
          'Takes exactly one of the two fields. Only a passkey of that user completes the login. The answer does not reveal whether the user exists.',
          [...ADDRESS, 'passkey_domain_required'],
        ),
      },
    )

const ownRoutes = (ctx: IdentityCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/users', normalize: false })
    .use(authentication)
    .get('/passkeys', ({ caller }) => listOwnPasskeys(ctx, requireUser(caller)), {
      response: { 200: Passkeys },
      ...detail("List a user's passkeys", 'Oldest first.', USER),
    })
    .post(
      '/passkey/begin-registration',
      ({ caller, request }) =>
        beginPasskeyRegistration(ctx, requireUser(caller), {
          client: clientOf(ctx.config, request),
          origin: request.headers.get('origin'),
        }),
      {
        response: { 200: CreationOptions },
        ...detail(
          'Begin to add a passkey',
          'Pass the answer to navigator.credentials.create, and its result to finish-registration. Requires a login within the last ten minutes, else 403 `fresh_login_required`.',
          [...FRESH_USER, 'passkey_domain_required'],
        ),
      },
    )
    .post(
      '/passkey/finish-registration',
      ({ caller, body }) => {
        const { transports = [] } = body.response
        return finishPasskeyRegistration(ctx, requireUser(caller), { credential: body, transports })
      },
      {
        body: PasskeyRegistration,
        response: { 200: PasskeyAdded },
        ...detail(
          'Add a passkey',
          "Takes the browser's answer as JSON. 409 `passkey_exists` if the passkey is registered already.",
          [...FRESH_USER, 'login_failed', 'passkey_exists'],
        ),
      },
    )
    .post(
      '/passkey/remove',
      ({ caller, body }) => successOf(removePasskey(ctx, requireUser(caller), { id: body.id.toLowerCase() })),
      {
        body: PasskeyId,
        response: { 200: Success },
        ...detail(
          'Remove a passkey',
          'A user without an e-mail address and a wallet cannot remove their last passkey. Requires a login within the last ten minutes, else 403 `fresh_login_required`.',
          [...FRESH_USER, 'not_found'],
        ),
      },
    )

export const passkeyRoutes = (ctx: IdentityCtx, visitors: VisitorAdmission, authentication: Authentication) =>
  new Elysia({ normalize: false }).use(openRoutes(ctx, visitors)).use(ownRoutes(ctx, authentication))
