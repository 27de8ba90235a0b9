import type { HasDb } from '../../../db/client.ts'
import { listedAddresses } from '../../../db/queries/listed-tokens.ts'
import { contractsReceived } from '../../../db/queries/movements.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { HasChains } from '../../chains/chains.ts'
import { displayAmount } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { Token } from '../../signing/schema.ts'
import { nativeToken, tokenDisplays, tokenOf } from '../../signing/token.ts'
import { type HasWallets, ownWallet } from '../../signing/wallets/get.ts'
import { requireTokens } from './asset.ts'
import type { TokenBalance } from './schema.ts'

/** One token, or the network's coin by its word. @throws not_found if the chain has no such token. */
export const getToken = async (
  ctx: HasDb & HasChains & HasIdentity,
  input: Pick<Reach, 'projectId'> & { readonly network: Network; readonly token: string },
): Promise<Token> => {
  const { network, projectId } = input
  const chain = ctx.chains.withNode(network)
  if (input.token === chain.coin.word) return nativeToken(chain)
  const address = requireTokens(chain).parseToken(input.token, 'token')
  const [facts, displays] = await Promise.all([
    chain.facts([address]),
    tokenDisplays(ctx, { chain, addresses: [address], projectId }),
  ])
  const reported = facts.get(address)
  if (reported?.standard !== 'erc20') throw new AppError('not_found', `${network} has no such token.`)
  return tokenOf({ network, address, facts: reported, display: displays.get(address) })
}

/** How many received tokens (the latest) and how many listed tokens are read. */
const RECEIVED_MAX = 250
const LISTED_MAX = 250

/** At one block: the coin, then received tokens (latest first) and listed tokens with a balance above zero. */
export const tokenBalances = async (
  ctx: HasDb & HasChains & HasWallets & HasIdentity,
  input: Reach & { readonly network: Network; readonly walletAddress: string },
): Promise<TokenBalance[]> => {
  const { network } = input
  const { chain, address } = await ownWallet(ctx, input)
  const [received, listed] = await Promise.all([
    contractsReceived(ctx.db, { network, address, limit: RECEIVED_MAX }),
    listedAddresses(ctx.db, { network, limit: LISTED_MAX }),
  ])
  const { coin, tokens } = await chain.balances({
    address,
    contracts: [...new Set([...received, ...chain.knownTokens.keys(), ...listed])],
  })
  const addresses = [...tokens.keys()]
  const [facts, displays] = await Promise.all([
    chain.facts(addresses),
    tokenDisplays(ctx, { chain, addresses, projectId: input.projectId }),
  ])
  const native = nativeToken(chain)
  return [
    { ...native, raw_balance: coin.toString(), display_balance: displayAmount(coin, native.decimals) },
    ...addresses.flatMap((contract) => {
      const reported = facts.get(contract)
      const balance = tokens.get(contract) ?? 0n
      // A list may name an NFT collection, whose balance is a count of NFTs.
      if (reported === undefined || reported.standard === 'erc721' || reported.standard === 'erc1155') return []
      const token = tokenOf({ network, address: contract, facts: reported, display: displays.get(contract) })
      return [{ ...token, raw_balance: balance.toString(), display_balance: displayAmount(balance, token.decimals) }]
    }),
  ]
}
