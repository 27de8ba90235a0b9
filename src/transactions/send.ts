import type { Ctx } from '../context.ts'
import type { Remember } from '../idempotency/once.ts'
import { resolveSigner, walletOf } from '../wallets/signer.ts'
import { parseIntent } from './intent.ts'
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
  return submitIntent(ctx, { ...input, chain, wallet, kind: 'send', intent: async () => intent })
}
