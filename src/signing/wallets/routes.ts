import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { type Caller, principalOf, reachOf, requireUser, signatoryOf } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { submitRoute } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import { ADDRESS, CREDENTIAL, NETWORK, USER } from '../../platform/http/codes.ts'
import { subnetOf } from '../../platform/http/peer.ts'
import { describedAs, pagingOf, Success, successOf } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../ctx.ts'
import { createWallet, importWallet } from './create.ts'
import { getWallet } from './get.ts'
import { createWalletList } from './list.ts'
import {
  ChangeUserPinBody,
  CreateWalletBody,
  ExportedWallet,
  ExportWalletBody,
  GetByAddressQuery,
  GetByIdQuery,
  GetByNetworkQuery,
  GetByOwnerIdQuery,
  ImportWalletBody,
  ListWalletsQuery,
  PutUnderPoliciesBody,
  Wallet,
} from './schema.ts'
import { changeUserPin, exportWallet, putUnderPolicies } from './secrets.ts'

type Row = Awaited<ReturnType<typeof createWallet>>

const shown = (row: Row): Wallet => ({
  id: row.id,
  created_at: row.createdAt.toISOString(),
  network: row.network,
  name: row.name,
  owner_id: row.ownerId,
  address: row.address,
})

const newWalletInput = (body: CreateWalletBody, caller: Caller, { newId }: { readonly newId: string }) => ({
  network: body.network,
  name: body.name,
  // A new owner is named like their wallet, so that a repeated request means the same owner.
  ownerId: caller.kind === 'user' ? caller.userId : (body.owner_id ?? newId),
  controlMode: body.control_mode,
  type: body.type ?? 'eoa',
})

const { detail, idempotent } = describedAs('Wallets')

const ownerIdOf = (query: { ownerID?: string; owner_id?: string }): string => {
  const ownerId = query.ownerID ?? query.owner_id
  if (ownerId === undefined || (query.owner_id !== undefined && query.owner_id !== ownerId)) {
    throw new AppError('invalid_input', 'Field "ownerID" must be given once (also accepted as "owner_id").')
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
        body: CreateWalletBody,
        response: { 200: Wallet },
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
        body: ImportWalletBody,
        response: { 200: Wallet },
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
        body: ChangeUserPinBody,
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
        const exported = await exportWallet(ctx, {
          ...signatoryOf(caller, body),
          network: body.network,
          address: body.address,
        })
        return { mnemonic_phrase: exported.mnemonicPhrase, private_key: exported.privateKey }
      },
      {
        body: ExportWalletBody,
        response: { 200: ExportedWallet },
        ...detail(
          'Export a wallet',
          'The phrase or the imported key. If developer and user share control, both credentials are needed.',
          [...CREDENTIAL, ...NETWORK, ...ADDRESS, 'not_found'],
        ),
      },
    )
    .post(
      '/put-under-policies',
      ({ body, caller }) =>
        successOf(
          putUnderPolicies(ctx, { ...signatoryOf(caller, body), network: body.network, address: body.address }),
        ),
      {
        body: PutUnderPoliciesBody,
        response: { 200: Success },
        ...detail(
          'Put a wallet under policies',
          "From then on the developer secret opens the owner's developer-controlled wallets only by a policy, on every network, because they have the same keys: it signs no message, exports nothing, and makes no further wallet or policy for them. So make the policies first. Only an operator can take it back.",
          [...CREDENTIAL, ...NETWORK, ...ADDRESS, 'not_found'],
        ),
      },
    )
    .get(
      '',
      async ({ query, caller }) => {
        const rows = await list({ ...reachOf(caller), network: query.network, ...pagingOf(query) })
        return rows.map(shown)
      },
      {
        query: ListWalletsQuery,
        response: { 200: Type.Array(Wallet) },
        ...detail('List wallets', 'The wallets of the project, or of the user, on a network, oldest first.', NETWORK),
      },
    )
    .get(
      '/get-by-network',
      ({ query, caller }) => find(caller, { ...query, by: { ownerId: requireUser(caller).userId } }),
      {
        query: GetByNetworkQuery,
        response: { 200: Wallet },
        ...detail("Get the user's wallet", 'The wallet, on a network, of the user whose access token is sent.', [
          ...USER,
          ...NETWORK,
          'not_found',
        ]),
      },
    )
    .get('/get-by-id', ({ query, caller }) => find(caller, { ...query, by: { id: query.id.toLowerCase() } }), {
      query: GetByIdQuery,
      response: { 200: Wallet },
      ...detail('Get a wallet by id', 'A wallet by network and id.', [...NETWORK, 'not_found']),
    })
    .get('/get-by-address', ({ query, caller }) => find(caller, { ...query, by: { address: query.address } }), {
      query: GetByAddressQuery,
      response: { 200: Wallet },
      ...detail('Get a wallet by address', 'A wallet by network and address.', [...ADDRESS, ...NETWORK, 'not_found']),
    })
    .get('/get-by-owner-id', ({ query, caller }) => find(caller, { ...query, by: { ownerId: ownerIdOf(query) } }), {
      query: GetByOwnerIdQuery,
      response: { 200: Wallet },
      ...detail('Get a wallet by owner', 'A wallet by network and owner id.', [...NETWORK, 'not_found']),
    })
}
