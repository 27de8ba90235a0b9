import type { Intent } from '../../chains/chain.ts'
import { sumOfValues } from '../../chains/intent.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { resolveSigner, walletOf } from '../wallets/signer.ts'
import { parseIntent, refuseForm, UINT256_END } from './intent.ts'
import { batchUnsupported } from './sending.ts'
import type { SignInput } from './sign.ts'
import { type Submitted, submitIntent } from './submit.ts'

const SENT_AS = 'what is sent is of type 2 without an access list, and its fees are raised while it waits'

/** Signs and records a transaction; the worker sends it. */
export const signAndSend = async (
  ctx: SigningCtx,
  input: SignInput & { readonly remember?: Remember<Submitted> },
): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain } = signer
  const intent = parseIntent(chain, input.unsignedTransaction)
  refuseForm(intent, { field: 'unsigned_transaction', why: SENT_AS })
  const wallet = await walletOf(ctx, { ...input, signer })
  return submitIntent(ctx, { ...input, chain, wallet, kind: 'send', intents: async () => [intent] })
}

type BatchInput = Omit<SignInput, 'unsignedTransaction'> & {
  readonly unsignedTransactions: readonly SignInput['unsignedTransaction'][]
  readonly remember?: Remember<Submitted>
}

/** A batch is one transaction: its elements cannot have their own fees, gas and nonce. */
const NOT_IN_A_BATCH = ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas', 'nonce'] as const satisfies (keyof Intent)[]

const elementOf = (intent: Intent, field: string): Intent => {
  refuseForm(intent, { field, why: 'a batch is one transaction, which is sent as type 2' })
  const set = NOT_IN_A_BATCH.find((name) => intent[name] !== undefined)
  if (set !== undefined) {
    throw new AppError('invalid_input', `Field "${field}.${set}" must be absent: a batch is one transaction.`)
  }
  if (intent.to !== null) return intent
  throw new AppError('invalid_input', `Field "${field}.to" is required: a batch creates no contracts.`)
}

/** Signs and records one transaction in which a contract wallet makes several calls: in order, all or none. */
export const batchSignAndSend = async (ctx: SigningCtx, input: BatchInput): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain } = signer
  const intents = input.unsignedTransactions.map((text, index) => {
    const field = `unsigned_transactions.${index}`
    return elementOf(parseIntent(chain, text, field), field)
  })
  if (sumOfValues(intents) >= UINT256_END) {
    throw new AppError('invalid_input', 'The values of "unsigned_transactions" together must be below 2^256.')
  }
  const wallet = await walletOf(ctx, { ...input, signer })
  if (wallet.type !== 'contract') throw batchUnsupported()
  return submitIntent(ctx, { ...input, chain, wallet, kind: 'batch', intents: async () => intents })
}
