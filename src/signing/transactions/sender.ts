import type { HasDb } from '../../../db/client.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain, RecordedIntent } from '../../chains/chain.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { Turn } from '../../platform/queue.ts'
import type { SigningCtx } from '../ctx.ts'
import { projectWallet } from '../wallets/create.ts'
import { getWallet } from '../wallets/get.ts'
import { findSignerWallet, resolveSigner, signerAddressOf } from '../wallets/signer.ts'
import { recordedBefore } from './execution.ts'

type SenderQuery = Signatory & {
  readonly network?: Network | undefined
  readonly from?: string | undefined
}

/** `from`, else the user's own wallet, or for an API key the project's. Call `wallet` after all other checks. */
export const resolveSender = async (ctx: SigningCtx, input: SenderQuery) => {
  const { projectId, ownedBy, actor, network, from } = input
  if (from !== undefined) {
    const signer = await resolveSigner(ctx, { ...input, address: from, field: 'from' })
    return { chain: signer.chain, wallet: () => findSignerWallet(ctx, { ...input, signer }) }
  }
  if (network === undefined) {
    throw new AppError('network_required', 'Field "network" is required unless "from" determines it.')
  }
  if (ownedBy !== null) {
    const own = () => getWallet(ctx, { projectId, ownedBy, network, by: { ownerId: ownedBy } })
    return { chain: ctx.chains.withNode(network), wallet: own }
  }
  const { developerSecret } = input.credentials
  return {
    chain: ctx.chains.withNode(network),
    wallet: () => projectWallet(ctx, { projectId, actor, network, developerSecret }),
  }
}

/** The signer's earlier intents, read at its turn: mints of one project must not take the same token numbers. */
export const pendingBefore =
  (ctx: HasDb, { chain, wallet, turn }: { readonly chain: Chain; readonly wallet: WalletRow; readonly turn: Turn }) =>
  (): Promise<readonly RecordedIntent[]> =>
    recordedBefore(ctx, {
      signer: { network: chain.network, address: signerAddressOf(chain, wallet) },
      projectId: wallet.projectId,
      to: [],
      turn,
    })
