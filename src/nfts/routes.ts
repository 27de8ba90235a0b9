import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { actorOf, type Caller } from '../auth/caller.ts'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { answers, credentialsOf, pagingOf, TransactionResult } from '../http.ts'
import { shownSubmitted } from '../transactions/shown.ts'
import { createCollection } from './create-collection.ts'
import { listNfts } from './list.ts'
import { ListNftsQuery, Nft } from './list-schema.ts'
import { shownNft } from './listing.ts'
import { mintNft } from './mint.ts'
import { CreateCollectionBody, MintBody, TransferBody } from './schema.ts'
import { transferNft } from './transfer.ts'

const detail = (summary: string, description: string) => ({ detail: { tags: ['NFTs'], summary, description } })

const principal = (caller: Caller) => ({ projectId: caller.projectId, actor: actorOf(caller) })

export const nftRoutes = (ctx: Ctx, authentication: Authentication) =>
  new Elysia({ prefix: '/nfts', normalize: false })
    .use(authentication)
    .get(
      '',
      async ({ query, caller }) => {
        const held = await listNfts(ctx, {
          projectId: caller.projectId,
          network: query.network,
          walletAddress: query.wallet_address,
          contractAddress: query.contract_address,
          ...pagingOf(query),
        })
        return held.map(shownNft)
      },
      {
        query: ListNftsQuery,
        response: answers(Type.Array(Nft)),
        ...detail('List NFTs', 'Held by a wallet of the project, or of one collection by all wallets of the project.'),
      },
    )
    .post(
      '/collections',
      async ({ body, caller }) =>
        shownSubmitted(
          await createCollection(ctx, {
            ...principal(caller),
            network: body.network,
            from: body.from,
            name: body.name,
            symbol: body.symbol,
            imageUrl: body.image_url,
            baseUri: body.base_uri,
            credentials: credentialsOf(body),
          }),
        ),
      {
        body: CreateCollectionBody,
        response: answers(TransactionResult),
        ...detail(
          'Create a collection',
          'An ERC-721 contract with ERC-2981, owned by the sender. Its address is in the status of the transaction.',
        ),
      },
    )
    .post(
      '/mint',
      async ({ body, caller }) =>
        shownSubmitted(
          await mintNft(ctx, {
            ...principal(caller),
            network: body.network,
            from: body.from,
            contractAddress: body.contract_address,
            recipient: body.recipient,
            metadata: body.metadata,
            uri: body.uri,
            credentials: credentialsOf(body),
          }),
        ),
      {
        body: MintBody,
        response: answers(TransactionResult),
        ...detail(
          'Mint an NFT',
          'How the collection mints is found by simulation. `metadata` is hosted here; or give `uri`.',
        ),
      },
    )
    .post(
      '/transfer',
      async ({ body, caller }) =>
        shownSubmitted(
          await transferNft(ctx, {
            ...principal(caller),
            network: body.network,
            from: body.from,
            contractAddress: body.contract_address,
            recipient: body.recipient,
            tokenId: body.token_id,
            credentials: credentialsOf(body),
          }),
        ),
      {
        body: TransferBody,
        response: answers(TransactionResult),
        ...detail('Transfer an NFT', 'From a wallet of the project to any address.'),
      },
    )
