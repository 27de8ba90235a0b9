import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { Network } from '../../../db/words.ts'
import { type Caller, principalOf, signatoryOf } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { ADDRESS, CREDENTIAL, NETWORK } from '../../platform/http/codes.ts'
import { describedAs, Success, successOf } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../ctx.ts'
import {
  PasskeySecretBody,
  RecoveryCode,
  RecoveryCodeBody,
  RemovePasskeySecretBody,
  UserSecretItem,
  UserSecretsQuery,
} from './secret-schema.ts'
import { addPasskeySecret, listUserSecrets, makeRecoveryCode, removeUserSecret } from './user-secrets.ts'

const { detail } = describedAs('Wallets')

const CODES = [...CREDENTIAL, ...NETWORK, ...ADDRESS, 'not_found'] as const

type Body = Parameters<typeof signatoryOf>[1] & { readonly network: Network; readonly address: string }

const ofWallet = (caller: Caller, body: Body) => ({
  ...signatoryOf(caller, body),
  network: body.network,
  address: body.address,
})

/** /wallets: what opens an owner's user-controlled wallets beside the PIN. */
export const secretRoutes = (ctx: SigningCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/wallets', normalize: false })
    .use(authentication)
    .post(
      '/recovery-code',
      async ({ body, caller }) => ({
        recovery_code: await makeRecoveryCode(ctx, { ...ofWallet(caller, body) }),
      }),
      {
        body: RecoveryCodeBody,
        response: { 200: RecoveryCode },
        ...detail(
          'Make a recovery code',
          "It opens all of the owner's user-controlled wallets, as the PIN does, in the field `user_secret`, and sets a new PIN after a lost one. It replaces an earlier code. It is shown only in this answer.",
          CODES,
        ),
      },
    )
    .post(
      '/recovery-code/remove',
      ({ body, caller }) =>
        successOf(removeUserSecret(ctx, { ...ofWallet(caller, body), kind: 'recovery_code', passkeyId: '' })),
      {
        body: RecoveryCodeBody,
        response: { 200: Success },
        ...detail(
          'Remove the recovery code',
          'It takes the PIN or the secret of a passkey, not the code itself.',
          CODES,
        ),
      },
    )
    .post(
      '/passkey-secret',
      ({ body, caller }) =>
        successOf(
          addPasskeySecret(ctx, {
            ...ofWallet(caller, body),
            passkeyId: body.passkey_id,
            passkeySecret: body.passkey_secret,
          }),
        ),
      {
        body: PasskeySecretBody,
        response: { 200: Success },
        ...detail(
          'Let a passkey open the wallets',
          "What the passkey computes then opens all of the owner's user-controlled wallets, as the PIN does, in the field `user_secret`. It replaces an earlier secret of the same passkey. An owner can have ten.",
          CODES,
        ),
      },
    )
    .post(
      '/passkey-secret/remove',
      ({ body, caller }) =>
        successOf(removeUserSecret(ctx, { ...ofWallet(caller, body), kind: 'passkey', passkeyId: body.passkey_id })),
      {
        body: RemovePasskeySecretBody,
        response: { 200: Success },
        ...detail(
          'Remove the secret of a passkey',
          'It takes the PIN or another secret of the owner, not that of the same passkey.',
          CODES,
        ),
      },
    )
    .get(
      '/user-secrets',
      async ({ query, caller }) => {
        const secrets = await listUserSecrets(ctx, {
          ...principalOf(caller),
          network: query.network,
          address: query.address,
        })
        return secrets.map(({ kind, passkeyId, updatedAt }) => ({
          kind,
          passkey_id: kind === 'passkey' ? passkeyId : null,
          created_at: updatedAt.toISOString(),
        }))
      },
      {
        query: UserSecretsQuery,
        response: { 200: Type.Array(UserSecretItem) },
        ...detail(
          'List what opens the wallets',
          "The recovery code and the passkeys that open the owner's user-controlled wallets beside the PIN.",
          [...NETWORK, ...ADDRESS, 'not_found'],
        ),
      },
    )
