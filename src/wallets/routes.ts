import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { actorOf } from '../auth/caller.ts'
import { authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { answers, credentialsOf, pagingOf } from '../http.ts'
import { createWallet } from './create.ts'
import { getWallet } from './get.ts'
import { listWallets } from './list.ts'
import {
  CreateWalletBody,
  GetByAddressQuery,
  GetByIdQuery,
  GetByOwnerIdQuery,
  ListWalletsQuery,
  Wallet,
} from './schema.ts'

type Row = Awaited<ReturnType<typeof createWallet>>

const shown = (row: Row): Wallet => ({
  id: row.id,
  created_at: row.createdAt.toISOString(),
  network: row.network,
  name: row.name,
  owner_id: row.ownerId,
  address: row.address,
})

const detail = (summary: string, description: string) => ({ detail: { tags: ['Wallets'], summary, description } })

const ownerIdOf = (query: { ownerID?: string; owner_id?: string }): string => {
  const ownerId = query.ownerID ?? query.owner_id
  if (ownerId === undefined || (query.owner_id !== undefined && query.owner_id !== ownerId)) {
    throw new AppError('invalid_input', 'Field "ownerID" must be given once (also accepted as "owner_id").')
  }
  return ownerId
}

export const walletRoutes = (ctx: Ctx) =>
  new Elysia({ prefix: '/wallets', normalize: false })
    .use(authentication(ctx))
    .post(
      '',
      async ({ body, caller }) =>
        shown(
          await createWallet(ctx, {
            projectId: caller.projectId,
            actor: actorOf(caller),
            network: body.network,
            name: body.name,
            ownerId: body.owner_id ?? randomUUID(),
            controlMode: body.control_mode,
            type: body.type ?? 'eoa',
            credentials: credentialsOf(body),
          }),
        ),
      {
        body: CreateWalletBody,
        response: answers(Wallet),
        ...detail('Create a wallet', 'Wallets of one `owner_id` on different networks come from the same seed phrase.'),
      },
    )
    .get(
      '',
      async ({ query, caller }) => {
        const rows = await listWallets(ctx, { projectId: caller.projectId, network: query.network, ...pagingOf(query) })
        return rows.map(shown)
      },
      {
        query: ListWalletsQuery,
        response: answers(Type.Array(Wallet)),
        ...detail('List wallets', "The project's wallets on a network, oldest first."),
      },
    )
    .get(
      '/get-by-id',
      async ({ query, caller }) =>
        shown(
          await getWallet(ctx, {
            projectId: caller.projectId,
            network: query.network,
            by: { id: query.id.toLowerCase() },
          }),
        ),
      {
        query: GetByIdQuery,
        response: answers(Wallet),
        ...detail('Get a wallet by id', 'A wallet by network and id.'),
      },
    )
    .get(
      '/get-by-address',
      async ({ query, caller }) =>
        shown(
          await getWallet(ctx, { projectId: caller.projectId, network: query.network, by: { address: query.address } }),
        ),
      {
        query: GetByAddressQuery,
        response: answers(Wallet),
        ...detail('Get a wallet by address', 'A wallet by network and address.'),
      },
    )
    .get(
      '/get-by-owner-id',
      async ({ query, caller }) =>
        shown(
          await getWallet(ctx, {
            projectId: caller.projectId,
            network: query.network,
            by: { ownerId: ownerIdOf(query) },
          }),
        ),
      {
        query: GetByOwnerIdQuery,
        response: answers(Wallet),
        ...detail('Get a wallet by owner', 'A wallet by network and owner id.'),
      },
    )
