import type { Network } from '../../../db/words.ts'
import type { CollectionRequest } from '../../chains/chain.ts'
import { provided } from '../../chains/provided.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { type Submitted, submitIntent } from '../../signing/transactions/submit.ts'
import { pendingBefore, resolveSender } from '../../signing/wallets/sender.ts'
import { describeMetadata } from '../metadata/host.ts'
import { pinMetadata } from '../metadata/pin.ts'

type CreateCollectionInput = Signatory & {
  readonly network: Network
  readonly from?: string | undefined
  readonly standard?: CollectionRequest['standard']
  readonly name: string
  readonly symbol: string
  readonly imageUrl: string
  readonly baseUri?: string | undefined
  readonly royaltyBasisPoints?: number | undefined
  /** By default the owner. */
  readonly royaltyRecipient?: string | undefined
  readonly isSoulbound?: boolean | undefined
  readonly remember?: Remember<Submitted> | undefined
}

/**
 * Creates a collection owned by the sending wallet: an ERC-721 contract, or the network's equivalent. Its address or id
 * appears in the transaction's status.
 */
export const createCollection = async (ctx: SigningCtx, input: CreateCollectionInput): Promise<Submitted> => {
  const { projectId, name, symbol, imageUrl } = input
  const sender = await resolveSender(ctx, input)
  const { chain } = sender
  const { royaltyBasisPoints: basisPoints, royaltyRecipient } = input
  const named = royaltyRecipient === undefined ? null : chain.parseAddress(royaltyRecipient, 'royalty_recipient')
  if (named !== null && basisPoints === undefined) {
    throw new AppError('invalid_input', 'Field "royalty_basis_points" is required with "royalty_recipient".')
  }
  const refusal = `Collections of ${chain.network} are not created here. Use one that exists.`
  const collections = provided(chain.collections, refusal)
  const wallet = await sender.wallet()
  // ERC-7572: the metadata of the collection itself, which marketplaces read.
  const about = describeMetadata(ctx.config, { name, description: '', image: imageUrl })
  return submitIntent(ctx, {
    ...input,
    kind: 'collection',
    chain,
    wallet,
    intents: async (turn) => {
      await pinMetadata(ctx.config, about)
      return [
        await collections.creation({
          ...(input.standard === undefined ? {} : { standard: input.standard }),
          name,
          symbol,
          baseUri: input.baseUri ?? '',
          contractUri: about.uri,
          owner: wallet.address,
          royalty: basisPoints === undefined ? null : { recipient: named ?? wallet.address, basisPoints },
          isSoulbound: input.isSoulbound ?? false,
          pending: pendingBefore(ctx, { chain, wallet, turn }),
        }),
      ]
    },
    alongside: {
      metadata: [{ digest: about.digest, body: about.body }],
      collection: { projectId, network: chain.network, ownerAddress: wallet.address, name, symbol, imageUrl },
    },
  })
}
