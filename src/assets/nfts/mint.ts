import type { Network } from '../../../db/words.ts'
import type { MintRequest } from '../../chains/chain.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { parseAmount, parseQuantity, UINT256_END } from '../../signing/transactions/intent.ts'
import { type Submitted, submitIntent } from '../../signing/transactions/submit.ts'
import { pendingBefore, resolveSender } from '../../signing/wallets/sender.ts'
import { describeMetadata } from '../metadata/host.ts'
import { pinMetadata } from '../metadata/pin.ts'

type MintInput = Signatory & {
  readonly network?: Network | undefined
  readonly from?: string | undefined
  readonly contractAddress: string
  readonly recipient?: string | undefined
  readonly metadata?: { readonly name: string; readonly description: string; readonly image: string } | undefined
  readonly uri?: string | undefined
  /** An existing ERC-1155 token, of which to mint more pieces. */
  readonly tokenId?: string | undefined
  readonly amount?: string | undefined
  readonly remember?: Remember<Submitted> | undefined
}

type Asked = Pick<MintInput, 'metadata' | 'uri' | 'tokenId' | 'amount'>

/** undefined for one NFT of any standard. @param place of the fields, such as `mints.0.` */
export const piecesIn = ({ tokenId, amount, metadata, uri }: Asked, place = ''): MintRequest['pieces'] => {
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

/**
 * Mints one NFT, or pieces of an ERC-1155 token. Metadata in the request is pinned first, and then hosted in the same database transaction as the intent.
 */
export const mintNft = async (ctx: SigningCtx, input: MintInput): Promise<Submitted> => {
  if (input.metadata !== undefined && input.uri !== undefined) {
    throw new AppError('invalid_input', 'Field "uri" must be absent if "metadata" is given.')
  }
  const pieces = piecesIn(input)
  const sender = await resolveSender(ctx, input)
  const { chain } = sender
  const contract = chain.parseContract(input.contractAddress, 'contract_address')
  const named = input.recipient === undefined ? null : chain.parseAddress(input.recipient, 'recipient')
  const wallet = await sender.wallet()
  const recipient = named ?? wallet.address
  const document = input.metadata === undefined ? null : describeMetadata(ctx.config, input.metadata)
  const uri = document?.uri ?? input.uri ?? ''
  return submitIntent(ctx, {
    ...input,
    kind: 'mint',
    chain,
    wallet,
    intents: async (turn) => {
      const intent = await chain.mintIntent({
        contract,
        from: wallet.address,
        recipient,
        uri,
        metadata: input.metadata,
        pieces,
        pending: pendingBefore(ctx, { chain, wallet, turn }),
      })
      // Pin only what this wallet can mint. A pin that is left over after a later failure does no harm.
      if (document !== null) await pinMetadata(ctx.config, document)
      return [intent]
    },
    alongside: document === null ? {} : { metadata: [{ digest: document.digest, body: document.body }] },
  })
}
