// Tokens as API answers show them: facts from the contract (or the network's coin), with logo and display decimals from
// the operator's lists or the network's known tokens.

import type { Queryable } from '../../db/client.ts'
import { readTokenDisplays } from '../../db/queries/listed-tokens.ts'
import type { Network } from '../../db/words.ts'
import type { AddressFacts, Chain, NodelessChain } from '../chains/chain.ts'
import { listedTokenMac } from '../identity/auth/row-macs.ts'
import { displayAmount } from '../platform/amount.ts'
import { nameUuid } from '../platform/name-uuid.ts'
import type { TokenDisplay } from '../platform/networks.ts'
import type { Sealer } from '../platform/sealing/sealer.ts'
import type { Token } from './schema.ts'
import type { PreviewContract } from './transactions/preview-schema.ts'

/** Never change this constant: the uuid of every token depends on it. */
const TOKEN_NAMESPACE = '51040d69-82bb-4e73-8277-aca4ae97fcf3'

const DISPLAY_DECIMALS_DEFAULT = 4

export const UNREAD = { name: '', symbol: '', decimals: null } as const

const uuidOf = (network: Network, contractAddress: string): string =>
  nameUuid({ namespace: TOKEN_NAMESPACE, name: `${network}:${contractAddress}` })

const decimalsFields = (decimals: number | null): Pick<Token, 'decimals' | 'decimals_unknown'> =>
  decimals === null ? { decimals: 0, decimals_unknown: true } : { decimals }

export type CoinOfNetwork = Pick<NodelessChain, 'network'> & {
  /** Without decimals if the network is no longer configured. */
  readonly coin: Omit<NodelessChain['coin'], 'decimals'> & { readonly decimals: number | null }
}

/** The network's own coin. Instead of a contract address it has the word that clients compare with. Pure. */
export const nativeToken = ({ network, coin }: CoinOfNetwork): Token => {
  return {
    uuid: uuidOf(network, coin.word),
    network,
    contract_address: coin.word,
    name: coin.name,
    symbol: coin.symbol,
    ...decimalsFields(coin.decimals),
    display_decimals: coin.displayDecimals,
    logo_url: coin.logoUrl,
  }
}

/** An amount of the network's own coin, for people: `1.5 ETH`. Pure. */
export const coinAmount = ({ coin }: Pick<NodelessChain, 'coin'>, raw: bigint): string =>
  `${displayAmount(raw, coin.decimals)} ${coin.symbol}`

/**
 * A token as API answers show it. Pure.
 * @param input.address canonical, as `parseAddress` returns it, because the uuid depends on its exact text
 * @param input.display undefined if no list has the token; it does not change how amounts are read
 */
export const tokenOf = (input: {
  readonly network: Network
  readonly address: string
  /** undefined: no node could read the contract. */
  readonly facts: Pick<AddressFacts, 'name' | 'symbol' | 'decimals'> | undefined
  readonly display?: TokenDisplay | undefined
}): Token => {
  const { network, address, facts = UNREAD, display } = input
  return {
    uuid: uuidOf(network, address),
    network,
    contract_address: address,
    name: facts.name,
    symbol: facts.symbol,
    ...decimalsFields(facts.decimals),
    display_decimals: Math.min(facts.decimals ?? 0, display?.displayDecimals ?? DISPLAY_DECIMALS_DEFAULT),
    logo_url: display?.logoUrl ?? '',
  }
}

/** A contract as previews and look-ups show it; null for an address without code. Pure. */
export const contractOf = (input: {
  readonly chain: Pick<Chain, 'network' | 'parseContract'>
  readonly address: string
  readonly facts: AddressFacts
  readonly display: TokenDisplay | undefined
}): PreviewContract | null => {
  const { chain, address, facts, display } = input
  const { network } = chain
  if (!facts.isContract) return null
  const logoUrl = display?.logoUrl ?? ''
  const shown = { network, address, name: facts.name, logo_url: logoUrl }
  if (facts.standard === 'erc20') return { ...shown, type: 'token', token: tokenOf({ ...input, network }), nft: null }
  if (facts.standard !== 'erc721' && facts.standard !== 'erc1155') {
    return { ...shown, type: 'other', token: null, nft: null }
  }
  // A program's address does not count as a contract address.
  const contract = chain.parseContract(address, 'address')
  const nft = { network, contract_address: contract, name: facts.name, image_url: logoUrl, symbol: facts.symbol }
  return { ...shown, type: 'nft', token: null, nft }
}

/** By canonical address. */
export type TokenDisplays = ReadonlyMap<string, TokenDisplay>

/**
 * Looks up addresses in the lists (no query for no address). The network's known tokens fill in missing values. A row
 * of a list that the service did not write counts as absent; a process without the identity key takes all.
 * @param input.projectId shows the logos of tokens that the project created, too, unless they are listed
 */
export const tokenDisplays = async (
  { db, identity }: { readonly db: Queryable; readonly identity: Pick<Sealer, 'authenticator' | 'verifier'> | null },
  input: {
    readonly chain: Pick<Chain, 'network' | 'knownTokens'>
    readonly addresses: readonly string[]
    readonly projectId?: string
  },
): Promise<TokenDisplays> => {
  const { chain, addresses, projectId } = input
  const displays = new Map<string, TokenDisplay>()
  for (const address of addresses) {
    const display = chain.knownTokens.get(address)
    if (display !== undefined) displays.set(address, display)
  }
  const found = await readTokenDisplays(db, { network: chain.network, addresses, projectId: projectId ?? null })
  const mac = identity && listedTokenMac(identity)
  for (const { address, logoUrl, displayDecimals, listed } of found) {
    if (listed !== null && mac !== null && !mac.holds(listed)) continue
    const known = displays.get(address)
    if (listed !== null || known === undefined)
      displays.set(address, {
        logoUrl: logoUrl === '' ? (known?.logoUrl ?? '') : logoUrl,
        displayDecimals: displayDecimals ?? known?.displayDecimals ?? null,
      })
  }
  return displays
}
