import type { Network } from '../../../db/words.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { type Submitted, submitIntent } from '../../signing/transactions/submit.ts'
import { resolveSender } from '../../signing/wallets/sender.ts'
import { parseMovedAmount } from './amount.ts'
import { tokenAt, tokensOf } from './asset.ts'

type MintTokenInput = Signatory & {
  readonly network?: Network | undefined
  readonly from?: string | undefined
  readonly contractAddress: string
  readonly recipient?: string | undefined
  /** In whole tokens. */
  readonly amount: string
  readonly remember?: Remember<Submitted> | undefined
}

/** Mints an amount of a token. */
export const mintToken = async (ctx: SigningCtx, input: MintTokenInput): Promise<Submitted> => {
  const sender = await resolveSender(ctx, input)
  const { chain } = sender
  const named = input.recipient === undefined ? null : chain.parseAddress(input.recipient, 'recipient')
  const tokens = tokensOf(chain)
  const { contract, decimals } = await tokenAt(chain, { text: input.contractAddress, field: 'contract_address' })
  const amount = parseMovedAmount(input.amount, { field: 'amount', decimals, end: chain.amountEnd })
  const wallet = await sender.wallet()
  const recipient = named ?? wallet.address
  return submitIntent(ctx, {
    ...input,
    kind: 'token_mint',
    chain,
    wallet,
    intents: async () => [await tokens.mint({ contract, from: wallet.address, recipient, amount })],
  })
}
