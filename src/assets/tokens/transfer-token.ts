import type { Network } from '../../../db/words.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { type Submitted, submitIntent } from '../../signing/transactions/submit.ts'
import { resolveSigner, walletOf } from '../../signing/wallets/signer.ts'
import { parseMovedAmount } from './amount.ts'
import { assetIn, tokensOf } from './asset.ts'

/** `amount` is in whole tokens. The fields' names are those of the request. */
type AskedTransfer = {
  readonly recipient: string
  readonly amount: string
  readonly fields: { readonly recipient: string; readonly amount: string }
}

type TransferInput = Signatory & {
  readonly network?: Network | undefined
  readonly from: string
  /** A token, or the word of the network's coin. */
  readonly token: string
  readonly transfers: readonly AskedTransfer[]
  readonly remember?: Remember<Submitted> | undefined
}

/** Transfers amounts of a token or of the coin from a wallet of the project, in one transaction: all or nothing. */
export const transferToken = async (ctx: SigningCtx, input: TransferInput): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.from, field: 'from' })
  const { chain, address: from } = signer
  const recipients = input.transfers.map(({ recipient, fields }) => chain.parseAddress(recipient, fields.recipient))
  const { contract, decimals } = await assetIn(chain, { text: input.token, field: 'token' })
  const { amountEnd: end } = chain
  const lost = recipients.indexOf(contract ?? '')
  if (lost !== -1) {
    const field = input.transfers[lost]?.fields.recipient
    throw new AppError('invalid_input', `Field "${field}" must not be the contract of the token: what it gets is lost.`)
  }
  const transfers = input.transfers.map(({ amount, fields }, index) => ({
    recipient: recipients[index] ?? '',
    amount: parseMovedAmount(amount, { field: fields.amount, decimals, end }),
  }))
  if (transfers.reduce((sum, { amount }) => sum + amount, 0n) >= end) {
    throw new AppError('invalid_input', 'The amounts of "transfers" together are more than a wallet can have.')
  }
  const wallet = await walletOf(ctx, { ...input, signer })
  const request = { from, transfers, canBatch: wallet.type === 'contract' }
  return submitIntent(ctx, {
    ...input,
    kind: 'token_transfer',
    chain,
    wallet,
    intents: () =>
      contract === null ? chain.coinTransfers(request) : tokensOf(chain).transfers({ ...request, contract }),
  })
}
