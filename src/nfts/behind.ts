import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Chain, RecordedIntent } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { recordedBefore } from '../transactions/recorded-before.ts'
import { signerAddressOf } from '../wallets/contract-wallet.ts'

/** What the signer's new intent will be behind, asked when it is its turn: mints of one project take numbers that others must not. */
export const recordedBehind =
  (ctx: Pick<Ctx, 'db'>, { chain, wallet }: { readonly chain: Chain; readonly wallet: WalletRow }) =>
  (): Promise<readonly RecordedIntent[]> =>
    recordedBefore(ctx, {
      signer: { network: chain.network, address: signerAddressOf(chain, wallet) },
      projectId: wallet.projectId,
      to: [],
    })
