import type { HasDb } from '../../../db/client.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { HasChains } from '../../chains/chains.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { nativeToken, tokenDisplays, tokenOf } from '../../signing/token.ts'
import type { Token } from '../../signing/token-schema.ts'
import { tokensOf } from './asset.ts'

/** One token, or the network's coin by its word. @throws not_found if there is no such token on the chain. */
export const getToken = async (
  ctx: HasDb & HasChains & HasIdentity,
  input: Pick<Reach, 'projectId'> & { readonly network: Network; readonly token: string },
): Promise<Token> => {
  const { network, projectId } = input
  const chain = ctx.chains.withNode(network)
  if (input.token === chain.coin.word) return nativeToken(chain)
  const address = tokensOf(chain).parseToken(input.token, 'token')
  const [facts, displays] = await Promise.all([
    chain.facts([address]),
    tokenDisplays(ctx, { chain, addresses: [address], projectId }),
  ])
  const said = facts.get(address)
  if (said?.standard !== 'erc20') throw new AppError('not_found', `${network} has no such token.`)
  return tokenOf({ network, address, facts: said, display: displays.get(address) })
}
