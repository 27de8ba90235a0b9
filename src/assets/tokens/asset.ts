import type { Chain, TokenCalls } from '../../chains/chain.ts'
import { provided } from '../../chains/provided.ts'
import { AppError } from '../../platform/errors.ts'

/** What a network can do with tokens. @throws not_implemented */
export const tokensOf = ({ network, tokens }: Pick<Chain, 'network' | 'tokens'>): TokenCalls =>
  provided(tokens, `Tokens of ${network} are programs, which this service does not handle; it transfers the coin.`)

/** A token or the network's coin, as amounts of it are read. */
type Asset = {
  /** null for the coin. */
  readonly contract: string | null
  /** 0 if the token does not say them (EIP-20 leaves it free): its amounts are in base units. */
  readonly decimals: number
}

/**
 * The token at a contract. Its decimals decide what an amount means, so only facts count that no other process could have written.
 * @throws invalid_input if it is no token
 */
export const tokenAt = async (
  chain: Pick<Chain, 'network' | 'tokens' | 'sureFacts'>,
  { text, field }: { readonly text: string; readonly field: string },
): Promise<Asset & { readonly contract: string }> => {
  const contract = tokensOf(chain).parseToken(text, field)
  const facts = (await chain.sureFacts([contract])).get(contract)
  if (facts?.standard === 'erc20') return { contract, decimals: facts.decimals ?? 0 }
  throw new AppError('invalid_input', `Field "${field}" must be a token of ${chain.network} that is on the chain.`)
}

/** The token, or the coin by its word. */
export const assetIn = async (
  chain: Pick<Chain, 'network' | 'coin' | 'tokens' | 'sureFacts'>,
  asked: Parameters<typeof tokenAt>[1],
): Promise<Asset> =>
  asked.text === chain.coin.word ? { contract: null, decimals: chain.coin.decimals } : tokenAt(chain, asked)
