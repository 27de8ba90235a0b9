import type { Network } from '../../../db/words.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { type Submitted, submitIntent } from '../../signing/transactions/submit.ts'
import { pendingBefore, resolveSender } from '../../signing/wallets/sender.ts'
import { parseDisplayAmount } from './amount.ts'
import { tokensOf } from './asset.ts'

type CreateTokenInput = Signatory & {
  readonly network: Network
  readonly from?: string | undefined
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly logoUrl?: string | undefined
  readonly initialSupply?: string | undefined
  readonly remember?: Remember<Submitted> | undefined
}

/**
 * Creates a token owned by the sending wallet, which gets the initial supply: an ERC-20 contract, or the network's equivalent. Its
 * contract appears in the transaction's status.
 */
export const createToken = async (ctx: SigningCtx, input: CreateTokenInput): Promise<Submitted> => {
  const { projectId, name, symbol, decimals, logoUrl = '' } = input
  const sender = await resolveSender(ctx, input)
  const { chain } = sender
  const tokens = tokensOf(chain)
  const initialSupply = parseDisplayAmount(input.initialSupply ?? '0', {
    field: 'initial_supply',
    decimals,
    end: chain.amountEnd,
  })
  const wallet = await sender.wallet()
  return submitIntent(ctx, {
    ...input,
    kind: 'token',
    chain,
    wallet,
    intents: async (turn) => [
      await tokens.creation({
        name,
        symbol,
        decimals,
        initialSupply,
        owner: wallet.address,
        pending: pendingBefore(ctx, { chain, wallet, turn }),
      }),
    ],
    alongside: { token: { projectId, logoUrl } },
  })
}
