import type { Network } from '../../db/words.ts'
import type { Signatory } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import type { Remember } from '../idempotency/once.ts'
import { describeMetadata } from '../metadata/host.ts'
import { pinMetadata } from '../metadata/pin.ts'
import { type Submitted, submitIntent } from '../transactions/submit.ts'
import { pendingBefore, resolveSender } from '../wallets/sender.ts'

type MintInput = Signatory & {
  readonly network?: Network | undefined
  readonly from?: string | undefined
  readonly contractAddress: string
  readonly recipient?: string | undefined
  readonly metadata?: { readonly name: string; readonly description: string; readonly image: string } | undefined
  readonly uri?: string | undefined
  readonly remember?: Remember<Submitted> | undefined
}

/**
 * Mints one NFT. Metadata in the request is pinned first, and then hosted in the same database transaction as the intent.
 */
export const mintNft = async (ctx: Ctx, input: MintInput): Promise<Submitted> => {
  if (input.metadata !== undefined && input.uri !== undefined) {
    throw new AppError('invalid_input', 'Field "uri" must be absent if "metadata" is given.')
  }
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
        pending: pendingBefore(ctx, { chain, wallet, turn }),
      })
      // Pin only what this wallet can mint. A pin that is left over after a later failure does no harm.
      if (document !== null) await pinMetadata(ctx.config, document)
      return [intent]
    },
    alongside: document === null ? {} : { metadata: [{ digest: document.digest, body: document.body }] },
  })
}
