import type { Intent } from '../chains/chain.ts'
import { sumOfValues } from '../chains/intent.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import type { Remember } from '../idempotency/once.ts'
import { resolveSigner, walletOf } from '../wallets/signer.ts'
import { parseIntent } from './intent.ts'
import { batchUnsupported } from './sending.ts'
import type { SignInput } from './sign.ts'
import { type Submitted, submitIntent } from './submit.ts'

/** Signs a transaction and hands it to the worker. @throws what resolveSigner, walletOf, parseIntent and submitIntent throw. */
export const signAndSend = async (
  ctx: Ctx,
  input: SignInput & { readonly remember?: Remember<Submitted> },
): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain } = signer
  const intent = parseIntent(chain, input.unsignedTransaction)
  const wallet = await walletOf(ctx, { ...input, signer })
  return submitIntent(ctx, { ...input, chain, wallet, kind: 'send', intents: async () => [intent] })
}

type BatchInput = Omit<SignInput, 'unsignedTransaction'> & {
  readonly unsignedTransactions: readonly SignInput['unsignedTransaction'][]
  readonly remember?: Remember<Submitted>
}

/** Fees, gas and nonce are of the one transaction that all of them become. */
const OF_THE_WHOLE = ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas', 'nonce'] as const satisfies (keyof Intent)[]

const UINT256_END = 1n << 256n

/** @throws invalid_input naming the field. */
const partOf = (intent: Intent, field: string): Intent => {
  const set = OF_THE_WHOLE.find((name) => intent[name] !== undefined)
  if (set !== undefined) {
    throw new AppError('invalid_input', `Field "${field}.${set}" must be absent: a batch is one transaction.`)
  }
  if (intent.to !== null) return intent
  throw new AppError('invalid_input', `Field "${field}.to" is required: a batch creates no contracts.`)
}

/**
 * Has a contract wallet do several things in one transaction: in order, all of them or none.
 * @throws invalid_input, batch_unsupported for an eoa wallet, and what signAndSend throws.
 */
export const batchSignAndSend = async (ctx: Ctx, input: BatchInput): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain } = signer
  const intents = input.unsignedTransactions.map((text, index) => {
    const field = `unsigned_transactions.${index}`
    return partOf(parseIntent(chain, text, field), field)
  })
  if (sumOfValues(intents) >= UINT256_END) {
    throw new AppError('invalid_input', 'The values of "unsigned_transactions" together must be below 2^256.')
  }
  const wallet = await walletOf(ctx, { ...input, signer })
  if (wallet.type !== 'contract') throw batchUnsupported()
  return submitIntent(ctx, { ...input, chain, wallet, kind: 'batch', intents: async () => intents })
}
