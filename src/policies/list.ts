import { type Policy, listPolicies as selectPolicies } from '../../db/queries/policies.ts'
import type { Reach } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Ctx } from '../context.ts'
import { getWallet } from '../wallets/get.ts'

/**
 * The policies within reach on a network that are not revoked, oldest first; those of one wallet where it is named.
 * @throws not_found, address_invalid, not_implemented.
 */
export const listPolicies = async (
  ctx: Pick<Ctx, 'db' | 'chains'>,
  input: Reach & {
    readonly network: Network
    readonly walletAddress: string | undefined
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly Policy[]> => {
  const { network, walletAddress } = input
  const chain = ctx.chains.get(network)
  const address = walletAddress === undefined ? null : chain.parseAddress(walletAddress, 'wallet_address')
  const wallet = address === null ? null : await getWallet(ctx, { ...input, by: { address } })
  return selectPolicies(ctx.db, { ...input, walletId: wallet?.id ?? null })
}
