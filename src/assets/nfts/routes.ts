import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { reachOf, requireApiKey } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { submitRoute } from '../../identity/idempotency/once.ts'
import { ADDRESS, NAMED_WALLET, NODE, OWN_WALLET, SENDING } from '../../platform/http/codes.ts'
import {
  describedAs,
  pagingOf,
  shownSubmitted,
  TransactionResult,
  WaitingApproval,
} from '../../platform/http/schema.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { NftCollection } from '../../signing/transactions/preview-schema.ts'
import { hostImage } from '../metadata/host.ts'
import { collectionByAddress, listCollections, listNfts, shownNft } from './list.ts'
import {
  afterOf,
  BatchMintBody,
  CollectionByAddressQuery,
  CreateCollectionBody,
  ListCollectionsQuery,
  ListNftsQuery,
  MintBody,
  Nft,
  nftPaging,
  TransferBody,
  UploadBody,
  UploadedImage,
} from './schema.ts'
import { batchMintNfts, createCollection, mintNft, transferNft } from './submit.ts'

const { detail, idempotent } = describedAs('NFTs')

export const nftRoutes = (ctx: SigningCtx, authentication: Authentication) => {
  const submit = submitRoute(ctx, shownSubmitted)
  return new Elysia({ prefix: '/nfts', normalize: false })
    .use(authentication)
    .get(
      '',
      async ({ query, caller }) => {
        const held = await listNfts(ctx, {
          ...reachOf(caller),
          network: query.network,
          walletAddress: query.wallet_address,
          contractAddress: query.contract_address,
          after: afterOf(query),
          ...nftPaging.of(query),
        })
        return held.map(shownNft)
      },
      {
        query: ListNftsQuery,
        response: { 200: Type.Array(Nft) },
        ...detail(
          'List NFTs',
          'The NFTs of a wallet of the project, or those of one collection in all its wallets. Of a long list, ask with ' +
            '`after`, the last NFT seen, instead of the next page: each page is then equally fast.',
          [...OWN_WALLET, 'page_too_deep'],
        ),
      },
    )
    .get(
      '/collections',
      ({ query, caller }) =>
        listCollections(ctx, {
          ...reachOf(caller),
          network: query.network,
          walletAddress: query.wallet_address,
          ...pagingOf(query),
        }),
      {
        query: ListCollectionsQuery,
        response: { 200: Type.Array(NftCollection) },
        ...detail(
          'List collections',
          'Those that a wallet of the project created through this service, oldest first.',
          OWN_WALLET,
        ),
      },
    )
    .get(
      '/collection-by-address',
      ({ query, caller }) =>
        collectionByAddress(ctx, {
          ...reachOf(caller),
          network: query.network,
          contractAddress: query.contract_address,
        }),
      {
        query: CollectionByAddressQuery,
        response: { 200: NftCollection },
        ...detail(
          'Get a collection',
          'A collection that the project created through this service; with `network` also any other of that network.',
          [...ADDRESS, ...NODE, 'network_required', 'not_found'],
        ),
      },
    )
    .post(
      '/collections',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => createCollection(ctx, { ...by, body })),
      {
        body: CreateCollectionBody,
        response: { 200: TransactionResult, 202: WaitingApproval },
        ...idempotent(
          'Create a collection',
          'On EVM networks an ERC-721 or ERC-1155 contract with ERC-2981; on Substrate networks a collection of the NFT pallet, owned by the sender. Its address or id is in the status of the transaction. Where collections are programs they cannot be created here (501).',
          [...SENDING, ...NAMED_WALLET],
        ),
      },
    )
    .post(
      '/upload',
      async ({ body, caller }) => {
        requireApiKey(caller)
        return { url: await hostImage(ctx, { projectId: caller.projectId, image: body.file }) }
      },
      {
        body: UploadBody,
        response: { 200: UploadedImage },
        ...detail(
          'Upload an image',
          'It is hosted here under the SHA-256 of its bytes, so the same image has the same URL. It is public, and its bytes are not changed: remove places and names that a camera wrote into it. With an API key only.',
        ),
      },
    )
    .post(
      '/mint',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => mintNft(ctx, { ...by, body })),
      {
        body: MintBody,
        response: { 200: TransactionResult, 202: WaitingApproval },
        ...idempotent(
          'Mint an NFT',
          'The service finds by simulation how the collection mints. `metadata` is hosted here; or give a `uri`. ' +
            'Refused with `mint_unauthorized`, `mint_requires_value` or `mint_unsupported`.',
          [...SENDING, ...NAMED_WALLET, 'mint_unsupported', 'mint_unauthorized', 'mint_requires_value'],
        ),
      },
    )
    .post(
      '/batch-mint',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => batchMintNfts(ctx, { ...by, body })),
      {
        body: BatchMintBody,
        response: { 200: TransactionResult, 202: WaitingApproval },
        ...idempotent(
          'Mint several NFTs',
          'In one transaction: all of them, or none. On EVM networks only in a collection that was created here; others are refused with `batch_unsupported`. An NFT without `metadata` follows the `base_uri` of its collection.',
          [
            ...SENDING,
            ...NAMED_WALLET,
            'batch_unsupported',
            'mint_unsupported',
            'mint_unauthorized',
            'mint_requires_value',
          ],
        ),
      },
    )
    .post(
      '/transfer',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => transferNft(ctx, { ...by, body })),
      {
        body: TransferBody,
        response: { 200: TransactionResult, 202: WaitingApproval },
        ...idempotent(
          'Transfer an NFT',
          'From a wallet of the project to any address; for an ERC-1155 token also several pieces.',
          [...SENDING, ...NAMED_WALLET],
        ),
      },
    )
}
