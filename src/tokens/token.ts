// A Token as the wire shows it: from what a contract says of itself, or from the network's own coin.

import type { Network } from '../../db/words.ts'
import type { AddressFacts } from '../chains/chain.ts'
import { NATIVE_COINS } from '../chains/networks.ts'
import { COIN_LOGOS } from './default-list.ts'
import { nameUuid } from './name-uuid.ts'
import type { Token } from './schema.ts'

export { displayAmount } from '../amount.ts'

/** Ours alone, and for ever: with another one every token would get a new uuid. */
const TOKEN_NAMESPACE = '51040d69-82bb-4e73-8277-aca4ae97fcf3'

/** How many decimals are shown of a token for which nobody has said it. */
const DISPLAY_DECIMALS_DEFAULT = 4

const uuidOf = (network: Network, contractAddress: string): string =>
  nameUuid({ namespace: TOKEN_NAMESPACE, name: `${network}:${contractAddress}` })

/** The network's own coin; in place of a contract address it has the word that clients compare with. Pure. */
export const nativeToken = (network: Network): Token => {
  const coin = NATIVE_COINS[network]
  return {
    uuid: uuidOf(network, coin.word),
    network,
    contract_address: coin.word,
    name: coin.name,
    symbol: coin.symbol,
    decimals: coin.decimals,
    display_decimals: coin.displayDecimals,
    logo_url: COIN_LOGOS[network],
  }
}

/** What a list says of how a token is shown. */
export type TokenLook = {
  /** Empty where the list has none. */
  readonly logoUrl: string
  /** null where the list does not say. */
  readonly displayDecimals: number | null
}

/**
 * @param input.address canonical, as `parseAddress` returns it: the uuid depends on its letters
 * @param input.look undefined where no list has the token. It changes nothing of how amounts are read. Pure.
 */
export const tokenOf = (input: {
  readonly network: Network
  readonly address: string
  readonly facts: Pick<AddressFacts, 'name' | 'symbol' | 'decimals'>
  readonly look?: TokenLook | undefined
}): Token => {
  const { network, address, facts, look } = input
  return {
    uuid: uuidOf(network, address),
    network,
    contract_address: address,
    name: facts.name,
    symbol: facts.symbol,
    decimals: facts.decimals,
    display_decimals: Math.min(facts.decimals, look?.displayDecimals ?? DISPLAY_DECIMALS_DEFAULT),
    logo_url: look?.logoUrl ?? '',
  }
}
