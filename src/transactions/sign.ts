import { readHeld } from '../../db/queries/transactions.ts'
import type { Reach } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Chain, Intent, Unsigned } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import type { Credentials } from '../custody/vault.ts'
import { withKeyFor } from '../policies/delegated.ts'
import { resolveSigner, walletOf } from '../wallets/signer.ts'
import { parseIntent } from './intent.ts'
import { nextNonce } from './nonce.ts'

export type SignInput = Reach & {
  readonly actor: string
  readonly network?: Network | undefined
  readonly signerAddress: string
  readonly unsignedTransaction: Parameters<typeof parseIntent>[1]
  readonly credentials: Credentials
}

/**
 * Signs a transaction and sends nothing. With every field given it asks no node, once that is known to be of the right
 * chain, unless a policy's rules need the standard of the called contract; no nonce is reserved.
 * @returns the raw signed transaction.
 * @throws not_found, network_required, the vault's credential errors, policy_denied, execution_reverted, node_unavailable,
 * wrong_chain.
 */
export const signTransaction = async (ctx: Ctx, input: SignInput): Promise<string> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain } = signer
  const intent = parseIntent(chain, input.unsignedTransaction)
  const complete = chain.complete(intent)
  const wallet = await walletOf(ctx, { ...input, signer })
  const unconfirmed = complete === null ? null : chain.confirmNode()
  if (unconfirmed !== null) await unconfirmed
  const { credentials, actor } = input
  const use = { chain, wallet, credentials, actor, intent: async () => intent }
  return withKeyFor(ctx, use, async (key, { charge }) => {
    const unsigned = complete ?? (await filled(ctx, { chain, intent, from: wallet.address }))
    const { raw, hash } = chain.assemble(unsigned, key.sign(chain.signingBytes(unsigned)))
    const entry = {
      action: 'transaction_signed',
      details: {
        network: chain.network,
        hash,
        to: intent.to ?? '',
        value: intent.value.toString(),
        nonce: String(unsigned.nonce),
      },
    } as const
    if (charge === null) await key.commitUse(entry)
    else {
      await ctx.db.transaction(async (tx) => {
        await charge(tx)
        await key.recordUse(tx, entry)
      })
    }
    return raw
  })
}

const filled = async (
  ctx: Ctx,
  input: { readonly chain: Chain; readonly intent: Intent; readonly from: string },
): Promise<Unsigned> => {
  const { chain, intent, from } = input
  if (intent.nonce !== undefined) return chain.fill(intent, from, intent.nonce)
  const { pendingCount } = await chain.transactionCounts(from)
  const { nonces } = await readHeld(ctx.db, { network: chain.network, address: from }, pendingCount)
  return chain.fill(intent, from, nextNonce({ pendingCount, held: nonces }))
}
