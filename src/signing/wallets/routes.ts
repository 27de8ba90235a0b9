import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import { type Caller, principalOf, reachOf, requireUser, signatoryOf } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { submitRoute } from '../../identity/idempotency/once.ts'
import { ADDRESS, CREDENTIAL, NETWORK, USER } from '../../platform/http/codes.ts'
import { subnetOf } from '../../platform/http/peer.ts'
import { describedAs, pagingOf, Success, successOf } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../ctx.ts'
import { invalidInput } from '../schema.ts'
import { createWallet, importWallet } from './create.ts'
import { getWallet } from './get.ts'
import { createWalletList } from './list.ts'
import * as schema from './schema.ts'
import {
  addPasskeySecret,
  changeUserPin,
  exportWallet,
  listUserSecrets,
  makeRecoveryCode,
  putUnderPolicies,
  removeUserSecret,
} from './secrets.ts'

const CODES = [...CREDENTIAL, ...NETWORK, ...ADDRESS, 'not_found'] as const

type Body = Parameters<typeof signatoryOf>[1] & { readonly network: Network; readonly address: string }

const ofWallet = (caller: Caller, body: Body) => ({
  ...signatoryOf(caller, body),
  network: body.network,
  address: body.address,
})

/** What opens an owner's user-controlled wallets beside the PIN. */
export const secretRoutes = (ctx: SigningCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/wallets', normalize: false })
    .use(authentication)
    .post(
      '/recovery-code',
      async ({ body, caller }) => ({
        recovery_code: await makeRecoveryCode(ctx, ofWallet(caller, body)),
      }),
      {
        body: schema.RecoveryCodeBody,
        response: { 200: schema.RecoveryCode },
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
        body: schema.RecoveryCodeBody,
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
        body: schema.PasskeySecretBody,
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
        body: schema.RemovePasskeySecretBody,
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
          ...query,
        })
        return secrets.map(({ kind, passkeyId, updatedAt }) => ({
          kind,
          passkey_id: kind === 'passkey' ? passkeyId : null,
          created_at: updatedAt.toISOString(),
        }))
      },
      {
        query: schema.UserSecretsQuery,
        response: { 200: Type.Array(schema.UserSecretItem) },
        ...detail(
          'List what opens the wallets',
          "The recovery code and the passkeys that open the owner's user-controlled wallets beside the PIN.",
          [...NETWORK, ...ADDRESS, 'not_found'],
        ),
      },
    )

const shown = (row: WalletRow): schema.Wallet => ({
  id: row.id,
  created_at: row.createdAt.toISOString(),
  network: row.network,
  name: row.name,
  owner_id: row.ownerId,
  address: row.address,
})

const newWalletInput = (body: schema.CreateWalletBody, caller: Caller, { newId }: { readonly newId: string }) => ({
  network: body.network,
  name: body.name,
  // A new owner is named like their wallet, so that a repeated request means the same owner.
  ownerId: caller.kind === 'user' ? caller.userId : (body.owner_id ?? newId),
  controlMode: body.control_mode,
  type: body.type ?? 'eoa',
})

const { detail, idempotent } = describedAs('Wallets')

const readOwnerId = (query: { ownerID?: string; owner_id?: string }): string => {
  const ownerId = query.ownerID ?? query.owner_id
  if (ownerId === undefined || (query.owner_id !== undefined && query.owner_id !== ownerId)) {
    throw invalidInput('Field "ownerID" must be given once (also accepted as "owner_id").')
  }
  return ownerId
}

export const walletRoutes = (ctx: SigningCtx, authentication: Authentication) => {
  const submit = submitRoute(ctx, shown)
  const list = createWalletList(ctx)
  const find = async (caller: Caller, { network, by }: Pick<Parameters<typeof getWallet>[1], 'network' | 'by'>) =>
    shown(await getWallet(ctx, { ...reachOf(caller), network, by }))
  return new Elysia({ prefix: '/wallets', normalize: false })
    .use(authentication)
    .post(
      '',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) =>
          createWallet(ctx, { ...by, ...newWalletInput(body, caller, by) }),
        ),
      {
        body: schema.CreateWalletBody,
        response: { 200: schema.Wallet },
        ...idempotent(
          'Create a wallet',
          'Wallets of one `owner_id` on different networks have the same seed phrase. The first user-controlled wallet sets the PIN of its owner. A PIN that is easy to guess is refused: `pin_obvious`.',
          [...CREDENTIAL, ...NETWORK, 'wallet_exists', 'pin_obvious'],
        ),
      },
    )
    .post(
      '/import',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) =>
          importWallet(ctx, {
            ...by,
            ...newWalletInput(body, caller, by),
            privateKey: body.private_key,
            mnemonicPhrase: body.mnemonic_phrase,
          }),
        ),
      {
        body: schema.ImportWalletBody,
        response: { 200: schema.Wallet },
        ...idempotent('Import a wallet', 'From a private key or a phrase. A project can import an address once.', [
          ...CREDENTIAL,
          ...NETWORK,
          'wallet_exists',
          'pin_obvious',
          'invalid_key',
        ]),
      },
    )
    .post(
      '/change-user-pin',
      ({ body, caller }) =>
        successOf(
          changeUserPin(ctx, {
            ...principalOf(caller),
            network: body.network,
            address: body.address,
            oldPin: body.old_user_pin,
            userSecret: body.user_secret,
            newPin: body.new_user_pin,
            from: subnetOf(caller.address),
            sessionId: caller.kind === 'user' ? caller.sessionId : null,
            issuerToken: caller.kind === 'user' ? caller.issuerToken : undefined,
          }),
        ),
      {
        body: schema.ChangeUserPinBody,
        response: { 200: Success },
        ...detail(
          'Change a user PIN',
          "Changes it for all of the owner's user-controlled wallets, on every network. With `user_secret` in place of the old PIN it also ends a lockout after wrong PINs. If the owner is a user, their other sessions end. A new PIN that is easy to guess is refused: `pin_obvious`.",
          [...CREDENTIAL, ...NETWORK, ...ADDRESS, 'not_found', 'pin_obvious'],
        ),
      },
    )
    .post(
      '/export',
      async ({ body, caller }) => {
        const { mnemonicPhrase, privateKey } = await exportWallet(ctx, ofWallet(caller, body))
        return { mnemonic_phrase: mnemonicPhrase, private_key: privateKey }
      },
      {
        body: schema.ExportWalletBody,
        response: { 200: schema.ExportedWallet },
        ...detail(
          'Export a wallet',
          'The phrase or the imported key. If developer and user share control, both credentials are needed.',
          [...CREDENTIAL, ...NETWORK, ...ADDRESS, 'not_found'],
        ),
      },
    )
    .post('/put-under-policies', ({ body, caller }) => successOf(putUnderPolicies(ctx, ofWallet(caller, body))), {
      body: schema.PutUnderPoliciesBody,
      response: { 200: Success },
      ...detail(
        'Put a wallet under policies',
        "From then on the developer secret opens the owner's developer-controlled wallets only by a policy, on every network, because they have the same keys: it signs no message, exports nothing, and makes no further wallet or policy for them. So make the policies first. Only an operator can take it back.",
        [...CREDENTIAL, ...NETWORK, ...ADDRESS, 'not_found'],
      ),
    })
    .get(
      '',
      async ({ query, caller }) =>
        (await list({ ...reachOf(caller), network: query.network, ...pagingOf(query) })).map(shown),
      {
        query: schema.ListWalletsQuery,
        response: { 200: Type.Array(schema.Wallet) },
        ...detail('List wallets', 'The wallets of the project, or of the user, on a network, oldest first.', NETWORK),
      },
    )
    .get(
      '/get-by-network',
      ({ query, caller }) => find(caller, { ...query, by: { ownerId: requireUser(caller).userId } }),
      {
        query: schema.GetByNetworkQuery,
        response: { 200: schema.Wallet },
        ...detail("Get the user's wallet", 'The wallet, on a network, of the user whose access token is sent.', [
          ...USER,
          ...NETWORK,
          'not_found',
        ]),
      },
    )
    .get('/get-by-id', ({ query, caller }) => find(caller, { ...query, by: { id: query.id.toLowerCase() } }), {
      query: schema.GetByIdQuery,
      response: { 200: schema.Wallet },
      ...detail('Get a wallet by id', 'A wallet by network and id.', [...NETWORK, 'not_found']),
    })
    .get('/get-by-address', ({ query, caller }) => find(caller, { ...query, by: { address: query.address } }), {
      query: schema.GetByAddressQuery,
      response: { 200: schema.Wallet },
      ...detail('Get a wallet by address', 'A wallet by network and address.', [...ADDRESS, ...NETWORK, 'not_found']),
    })
    .get('/get-by-owner-id', ({ query, caller }) => find(caller, { ...query, by: { ownerId: readOwnerId(query) } }), {
      query: schema.GetByOwnerIdQuery,
      response: { 200: schema.Wallet },
      ...detail('Get a wallet by owner', 'A wallet by network and owner id.', [...NETWORK, 'not_found']),
    })
}
