import type { Network } from '../../../db/words.ts'
import { provided } from '../../chains/provided.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { type Submitted, submitIntent } from '../../signing/transactions/submit.ts'
import { pendingBefore, resolveSender } from '../../signing/wallets/sender.ts'
import { describeMetadata, digestUriOf, type MetadataDocument } from '../metadata/host.ts'
import { pinMetadata } from '../metadata/pin.ts'
import type { NftMetadata } from '../metadata/schema.ts'
import { piecesIn } from './mint.ts'

type BatchMintInput = Signatory & {
  readonly network?: Network | undefined
  readonly from?: string | undefined
  readonly contractAddress: string
  readonly mints: readonly {
    readonly recipient?: string | undefined
    readonly metadata?: NftMetadata | undefined
    readonly tokenId?: string | undefined
    readonly amount?: string | undefined
  }[]
  readonly remember?: Remember<Submitted> | undefined
}

/** Each document once: equal metadata has one digest. */
const different = (documents: readonly MetadataDocument[]): readonly MetadataDocument[] => [
  ...new Map(documents.map((document) => [document.digest, document])).values(),
]

/** Mints several NFTs in one transaction: all of them, or none. Their metadata is hosted as that of a single mint. */
export const batchMintNfts = async (ctx: SigningCtx, input: BatchMintInput): Promise<Submitted> => {
  const sender = await resolveSender(ctx, input)
  const { chain } = sender
  const contract = chain.parseContract(input.contractAddress, 'contract_address')
  const named = input.mints.map(({ recipient }, index) =>
    recipient === undefined ? null : chain.parseAddress(recipient, `mints.${index}.recipient`),
  )
  const pieces = input.mints.map((mint, index) => piecesIn(mint, `mints.${index}.`))
  const batchMintIntent = provided(chain.batchMintIntent, `${chain.network} mints one NFT in a transaction.`)
  const documents = input.mints.map(({ metadata }) =>
    metadata === undefined ? null : describeMetadata(ctx.config, metadata),
  )
  const hosted = different(documents.filter((document) => document !== null))
  const wallet = await sender.wallet()
  return submitIntent(ctx, {
    ...input,
    kind: 'mint',
    chain,
    wallet,
    intents: async (turn) => {
      const intent = await batchMintIntent({
        contract,
        from: wallet.address,
        mints: documents.map((document, index) => ({
          recipient: named[index] ?? wallet.address,
          uri: document?.uri ?? '',
          digest: document?.digest ?? null,
          pieces: pieces[index],
        })),
        digestUri: digestUriOf(ctx.config),
        pending: pendingBefore(ctx, { chain, wallet, turn }),
      })
      // Pin only what this wallet can mint. A pin that is left over after a later failure does no harm.
      for (const document of hosted) await pinMetadata(ctx.config, document)
      return [intent]
    },
    alongside: { metadata: hosted.map(({ digest, body }) => ({ digest, body })) },
  })
}
