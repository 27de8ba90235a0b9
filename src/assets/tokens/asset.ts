import type { Chain, TokenCalls } from '../../chains/chain.ts'
import { provided } from '../../chains/provided.ts'
import { AppError } from '../../platform/errors.ts'

/** Plain decimal digits, perhaps with places. The length bounds the work. */
export const DISPLAY_AMOUNT = '^[0-9]{1,78}(?:\\.[0-9]{1,255})?$'

const FORM = new RegExp(DISPLAY_AMOUNT)

/**
 * Base units of an amount in whole coins. Nothing is rounded. Pure.
 * @param input.end the first amount in base units that is too large
 * @throws invalid_input for more places than the token has, and for an amount that is too large
 */
export const parseDisplayAmount = (
  text: string,
  { field, decimals, end }: { readonly field: string; readonly decimals: number; readonly end: bigint },
): bigint => {
  const invalid = (rule: string): AppError => new AppError('invalid_input', `Field "${field}" must ${rule}.`)
  if (!FORM.test(text)) throw invalid('be an amount in plain decimal digits, such as "1.5"')
  const [whole = '', places = ''] = text.split('.')
  if (places.length > decimals) throw invalid(`have at most ${decimals} decimal places, as the token has`)
  const amount = BigInt(whole + places.padEnd(decimals, '0'))
  if (amount < end) return amount
  throw invalid(`be below 2^${end.toString(2).length - 1} in base units, of which a whole token has 10^${decimals}`)
}

/** As `parseDisplayAmount`, for an amount that moves: not zero. */
export const parseMovedAmount = (...asked: Parameters<typeof parseDisplayAmount>): bigint => {
  const amount = parseDisplayAmount(...asked)
  if (amount > 0n) return amount
  throw new AppError('invalid_input', `Field "${asked[1].field}" must be above zero.`)
}

/** What a network can do with tokens. @throws not_implemented */
export const requireTokens = ({ network, tokens }: Pick<Chain, 'network' | 'tokens'>): TokenCalls =>
  provided(tokens, `Tokens of ${network} are programs, which this service does not handle; it transfers the coin.`)

type Asset = {
  /** null for the coin. */
  readonly contract: string | null
  /** 0 if the token does not say them (EIP-20 leaves it free): its amounts are in base units. */
  readonly decimals: number
}

/**
 * The decimals decide what an amount means, so only facts count that no other process could have written.
 * @throws invalid_input if it is not a token
 */
export const readToken = async (
  chain: Pick<Chain, 'network' | 'tokens' | 'sureFacts'>,
  { text, field }: { readonly text: string; readonly field: string },
): Promise<Asset & { readonly contract: string }> => {
  const contract = requireTokens(chain).parseToken(text, field)
  const facts = (await chain.sureFacts([contract])).get(contract)
  if (facts?.standard === 'erc20') return { contract, decimals: facts.decimals ?? 0 }
  throw new AppError('invalid_input', `Field "${field}" must be a token of ${chain.network} that is on the chain.`)
}

export const readAsset = async (
  chain: Pick<Chain, 'network' | 'coin' | 'tokens' | 'sureFacts'>,
  asked: Parameters<typeof readToken>[1],
): Promise<Asset> =>
  asked.text === chain.coin.word ? { contract: null, decimals: chain.coin.decimals } : readToken(chain, asked)
