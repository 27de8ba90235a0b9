import type { CollectionRequest, Intent, MintRequest } from '../../chains/chain.ts'
import { provided } from '../../chains/provided.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { parseAmount, parseQuantity, UINT256_END } from '../../signing/schema.ts'
import type { Submitted } from '../../signing/transactions/plan.ts'
import { pendingBefore, resolveSender } from '../../signing/transactions/sender.ts'
import { submitIntent } from '../../signing/transactions/submit.ts'
import { findSignerWallet, resolveSigner } from '../../signing/wallets/signer.ts'
import { describeDigestUri, describeMetadata, type MetadataDocument } from '../metadata/host.ts'
import { pinMetadata } from '../metadata/pin.ts'
import type { BatchMintBody, CreateCollectionBody, MintBody, TransferBody } from './schema.ts'

type SubmitInput<Body> = Signatory & { readonly body: Body; readonly remember?: Remember<Submitted> }

/** Its address or id appears in the transaction's status. */
export const createCollection = async (
  ctx: SigningCtx,
  { body, ...by }: SubmitInput<CreateCollectionBody>,
): Promise<Submitted> => {
  const { name, symbol, image_url: imageUrl, royalty_basis_points: basisPoints } = body
  const sender = await resolveSender(ctx, { ...by, network: body.network, from: body.from })
  const { chain } = sender
  const named =
    body.royalty_recipient === undefined ? null : chain.parseAddress(body.royalty_recipient, 'royalty_recipient')
  if (named !== null && basisPoints === undefined) {
    throw new AppError('invalid_input', 'Field "royalty_basis_points" is required with "royalty_recipient".')
  }
  const refusal = `Collections of ${chain.network} are not created here. Use one that exists.`
  const collections = provided(chain.collections, refusal)
  const wallet = await sender.wallet()
  const owner = wallet.address
  // ERC-7572: the metadata of the collection itself, which marketplaces read.
  const about = describeMetadata(ctx.config, { name, description: '', image: imageUrl })
  const request: Omit<CollectionRequest, 'pending'> = {
    ...(body.standard === undefined ? {} : { standard: body.standard }),
    name,
    symbol,
    baseUri: body.base_uri ?? '',
    contractUri: about.uri,
    owner,
    royalty: basisPoints === undefined ? null : { recipient: named ?? owner, basisPoints },
    isSoulbound: body.soulbound ?? false,
  }
  return submitIntent(ctx, {
    ...by,
    kind: 'collection',
    chain,
    wallet,
    intents: async (turn) => {
      await pinMetadata(ctx.config, about)
      return [await collections.creation({ ...request, pending: pendingBefore(ctx, { chain, wallet, turn }) })]
    },
    alongside: {
      metadata: [{ digest: about.digest, body: about.body }],
      collection: { projectId: by.projectId, network: chain.network, ownerAddress: owner, name, symbol, imageUrl },
    },
  })
}

/** undefined for one NFT of any standard. @param place of the fields, such as `mints.0.` */
const parsePieces = (
  { token_id: tokenId, amount, metadata, uri }: Pick<MintBody, 'metadata' | 'uri' | 'token_id' | 'amount'>,
  place = '',
): MintRequest['pieces'] => {
  if (tokenId === undefined && amount === undefined) return undefined
  const extra = metadata === undefined ? (uri === undefined ? null : 'uri') : 'metadata'
  if (tokenId !== undefined && extra !== null) {
    const sentence = `Field "${place}${extra}" must be absent with "token_id": that token has its metadata.`
    throw new AppError('invalid_input', sentence)
  }
  return {
    tokenId: tokenId === undefined ? null : parseQuantity(tokenId, `${place}token_id`, UINT256_END),
    amount: parseAmount(amount ?? '1', `${place}amount`),
  }
}

type Mint = Omit<Parameters<typeof submitIntent>[1], 'kind' | 'intents' | 'alongside'> & {
  /** Pinned first, and then hosted in the same database transaction as the intent. */
  readonly documents: readonly MetadataDocument[]
  readonly intent: (pending: ReturnType<typeof pendingBefore>) => Promise<Intent>
}

const submitMint = (ctx: SigningCtx, { documents, intent, ...input }: Mint): Promise<Submitted> =>
  submitIntent(ctx, {
    ...input,
    kind: 'mint',
    intents: async (turn) => {
      const minting = await intent(pendingBefore(ctx, { ...input, turn }))
      // Pin only what this wallet can mint. A pin that is left over after a later failure does no harm.
      for (const document of documents) await pinMetadata(ctx.config, document)
      return [minting]
    },
    alongside: { metadata: documents.map(({ digest, body }) => ({ digest, body })) },
  })

/** Mints one NFT, or pieces of an ERC-1155 token. */
export const mintNft = async (ctx: SigningCtx, { body, ...by }: SubmitInput<MintBody>): Promise<Submitted> => {
  const { metadata } = body
  if (metadata !== undefined && body.uri !== undefined) {
    throw new AppError('invalid_input', 'Field "uri" must be absent if "metadata" is given.')
  }
  const pieces = parsePieces(body)
  const sender = await resolveSender(ctx, { ...by, network: body.network, from: body.from })
  const { chain } = sender
  const contract = chain.parseContract(body.contract_address, 'contract_address')
  const named = body.recipient === undefined ? null : chain.parseAddress(body.recipient, 'recipient')
  const wallet = await sender.wallet()
  const recipient = named ?? wallet.address
  const document = metadata === undefined ? null : describeMetadata(ctx.config, metadata)
  const uri = document?.uri ?? body.uri ?? ''
  return submitMint(ctx, {
    ...by,
    chain,
    wallet,
    documents: document === null ? [] : [document],
    intent: (pending) =>
      chain.mintIntent({ contract, from: wallet.address, recipient, uri, metadata, pieces, pending }),
  })
}

/** Mints several NFTs in one transaction: all of them, or none. */
export const batchMintNfts = async (
  ctx: SigningCtx,
  { body, ...by }: SubmitInput<BatchMintBody>,
): Promise<Submitted> => {
  const { mints } = body
  const sender = await resolveSender(ctx, { ...by, network: body.network, from: body.from })
  const { chain } = sender
  const contract = chain.parseContract(body.contract_address, 'contract_address')
  const named = mints.map(({ recipient }, index) =>
    recipient === undefined ? null : chain.parseAddress(recipient, `mints.${index}.recipient`),
  )
  const pieces = mints.map((mint, index) => parsePieces(mint, `mints.${index}.`))
  const batchMintIntent = provided(chain.batchMintIntent, `${chain.network} mints one NFT in a transaction.`)
  const documents = mints.map(({ metadata }) =>
    metadata === undefined ? null : describeMetadata(ctx.config, metadata),
  )
  // Equal metadata has one digest, and is pinned once.
  const byDigest = new Map(documents.flatMap((document) => (document === null ? [] : [[document.digest, document]])))
  const wallet = await sender.wallet()
  return submitMint(ctx, {
    ...by,
    chain,
    wallet,
    documents: [...byDigest.values()],
    intent: (pending) =>
      batchMintIntent({
        contract,
        from: wallet.address,
        mints: documents.map((document, index) => ({
          recipient: named[index] ?? wallet.address,
          uri: document?.uri ?? '',
          digest: document?.digest ?? null,
          pieces: pieces[index],
        })),
        digestUri: describeDigestUri(ctx.config),
        pending,
      }),
  })
}

/** Transfers one NFT, or pieces of an ERC-1155 token, from a wallet of the project. */
export const transferNft = async (ctx: SigningCtx, { body, ...by }: SubmitInput<TransferBody>): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, { ...by, network: body.network, address: body.from, field: 'from' })
  const { chain, address } = signer
  const contract = chain.parseContract(body.contract_address, 'contract_address')
  const recipient = chain.parseAddress(body.recipient, 'recipient')
  const tokenId = parseQuantity(body.token_id, 'token_id', UINT256_END)
  const amount = parseAmount(body.amount ?? '1', 'amount')
  const wallet = await findSignerWallet(ctx, { ...by, signer })
  return submitIntent(ctx, {
    ...by,
    kind: 'transfer',
    chain,
    wallet,
    intents: async () => [await chain.transferNftIntent({ contract, from: address, recipient, tokenId, amount })],
  })
}
