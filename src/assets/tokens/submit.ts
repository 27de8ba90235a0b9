import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import type { Submitted } from '../../signing/transactions/plan.ts'
import { pendingBefore, resolveSender } from '../../signing/transactions/sender.ts'
import { submitIntent } from '../../signing/transactions/submit.ts'
import { findSignerWallet, resolveSigner } from '../../signing/wallets/signer.ts'
import { parseDisplayAmount, parseMovedAmount, readAsset, readToken, requireTokens } from './asset.ts'
import type { BatchTransferTokenBody, CreateTokenBody, MintTokenBody, TransferTokenBody } from './schema.ts'

type SubmitInput<Body> = Signatory & { readonly body: Body; readonly remember?: Remember<Submitted> }

/** The sender owns the token. Its contract appears in the transaction's status. */
export const createToken = async (
  ctx: SigningCtx,
  { body, ...by }: SubmitInput<CreateTokenBody>,
): Promise<Submitted> => {
  const { name, symbol, logo_url: logoUrl = '', initial_supply: supply = '0' } = body
  const decimals = Number(body.decimals)
  const sender = await resolveSender(ctx, { ...by, network: body.network, from: body.from })
  const { chain } = sender
  const tokens = requireTokens(chain)
  const initialSupply = parseDisplayAmount(supply, { field: 'initial_supply', decimals, end: chain.amountEnd })
  const wallet = await sender.wallet()
  const request = { name, symbol, decimals, initialSupply, owner: wallet.address }
  return submitIntent(ctx, {
    ...by,
    kind: 'token',
    chain,
    wallet,
    intents: async (turn) => [
      await tokens.creation({ ...request, pending: pendingBefore(ctx, { chain, wallet, turn }) }),
    ],
    alongside: { token: { projectId: by.projectId, logoUrl } },
  })
}

export const mintToken = async (ctx: SigningCtx, { body, ...by }: SubmitInput<MintTokenBody>): Promise<Submitted> => {
  const sender = await resolveSender(ctx, { ...by, network: body.network, from: body.from })
  const { chain } = sender
  const named = body.recipient === undefined ? null : chain.parseAddress(body.recipient, 'recipient')
  const tokens = requireTokens(chain)
  const { contract, decimals } = await readToken(chain, { text: body.contract_address, field: 'contract_address' })
  const amount = parseMovedAmount(body.amount, { field: 'amount', decimals, end: chain.amountEnd })
  const wallet = await sender.wallet()
  const recipient = named ?? wallet.address
  return submitIntent(ctx, {
    ...by,
    kind: 'token_mint',
    chain,
    wallet,
    intents: async () => [await tokens.mint({ contract, from: wallet.address, recipient, amount })],
  })
}

/** The names of a transfer's fields in the request, for errors. */
type FieldNames = { readonly recipient: string; readonly amount: string }

type TransfersInput = SubmitInput<Pick<BatchTransferTokenBody, 'network' | 'from' | 'token' | 'transfers'>> & {
  readonly fieldsAt: (index: number) => FieldNames
}

const submitTransfers = async (ctx: SigningCtx, { body, fieldsAt, ...by }: TransfersInput): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, { ...by, network: body.network, address: body.from, field: 'from' })
  const { chain, address: from } = signer
  const recipients = body.transfers.map(({ recipient }, index) =>
    chain.parseAddress(recipient, fieldsAt(index).recipient),
  )
  const { contract, decimals } = await readAsset(chain, { text: body.token, field: 'token' })
  const { amountEnd: end } = chain
  const lost = recipients.indexOf(contract ?? '')
  if (lost !== -1) {
    const field = fieldsAt(lost).recipient
    throw new AppError('invalid_input', `Field "${field}" must not be the contract of the token: what it gets is lost.`)
  }
  const transfers = body.transfers.map(({ amount }, index) => ({
    recipient: recipients[index] ?? '',
    amount: parseMovedAmount(amount, { field: fieldsAt(index).amount, decimals, end }),
  }))
  if (transfers.reduce((sum, { amount }) => sum + amount, 0n) >= end) {
    throw new AppError('invalid_input', 'The amounts of "transfers" together are more than a wallet can have.')
  }
  const wallet = await findSignerWallet(ctx, { ...by, signer })
  const request = { from, transfers, canBatch: wallet.type === 'contract' }
  return submitIntent(ctx, {
    ...by,
    kind: 'token_transfer',
    chain,
    wallet,
    intents: () =>
      contract === null ? chain.coinTransfers(request) : requireTokens(chain).transfers({ ...request, contract }),
  })
}

export const transferToken = (ctx: SigningCtx, { body, ...by }: SubmitInput<TransferTokenBody>): Promise<Submitted> => {
  const fieldsAt = () => ({ recipient: 'recipient', amount: 'amount' })
  return submitTransfers(ctx, { ...by, body: { ...body, transfers: [body] }, fieldsAt })
}

/** Transfers amounts to several recipients in one transaction: all or nothing. */
export const batchTransferTokens = (
  ctx: SigningCtx,
  input: SubmitInput<BatchTransferTokenBody>,
): Promise<Submitted> => {
  const fieldsAt = (index: number) => {
    const place = `transfers.${index}`
    return { recipient: `${place}.recipient`, amount: `${place}.amount` }
  }
  return submitTransfers(ctx, { ...input, fieldsAt })
}
