import { type Reach, listWallets as selectWallets, type WalletRow } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Ctx } from '../context.ts'

/** The wallets within reach on a network, oldest first. @throws not_implemented. */
export const listWallets = async (
  ctx: Pick<Ctx, 'db' | 'chains'>,
  input: Reach & { readonly network: Network; readonly limit: number; readonly offset: number },
): Promise<readonly WalletRow[]> => {
  ctx.chains.get(input.network)
  return selectWallets(ctx.db, input)
}
