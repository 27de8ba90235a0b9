import type { HasChains } from '../../chains/chains.ts'
import type { UserCaller } from '../../identity/auth/caller.ts'
import { notFound } from '../../platform/errors.ts'
import type { HasWallets } from '../../signing/wallets/get.ts'

/** If some of them were forged, another one is found. */
const LOOKED_AT_MAX = 10

/** One of the user's wallets that their own PIN opens. What opens it opens all others of the user. */
export const ownWallet = async (
  ctx: HasWallets & HasChains,
  { projectId, userId: ownerId }: Pick<UserCaller, 'projectId' | 'userId'>,
) => {
  const networks = ctx.chains.known.map(({ network }) => network)
  const [wallet] = await ctx.wallets.userControlled({ projectId, ownerId, networks, limit: LOOKED_AT_MAX })
  if (wallet === undefined) throw notFound('wallet')
  return { network: wallet.network, address: wallet.address }
}
