// How tokens are shown to people: by the operator's lists, else by the default list.

import type { Db } from '../../db/client.ts'
import { readTokenLooks } from '../../db/queries/listed-tokens.ts'
import type { Chain } from '../chains/chain.ts'
import { DEFAULT_LOOKS } from './default-list.ts'
import type { TokenLook } from './token.ts'

/** By canonical address. */
export type TokenLooks = ReadonlyMap<string, TokenLook>

/** What lists say of these addresses: one indexed query, none for no address. What an imported list leaves open the default list fills in. */
export const tokenLooks = async (
  db: Db,
  input: { readonly chain: Pick<Chain, 'network' | 'chainId'>; readonly addresses: readonly string[] },
): Promise<TokenLooks> => {
  const { chain, addresses } = input
  const defaults = DEFAULT_LOOKS.get(chain.chainId)
  const looks = new Map<string, TokenLook>()
  for (const address of addresses) {
    const look = defaults?.get(address)
    if (look !== undefined) looks.set(address, look)
  }
  for (const { address, logoUrl, displayDecimals } of await readTokenLooks(db, { network: chain.network, addresses })) {
    const known = looks.get(address)
    looks.set(address, {
      logoUrl: logoUrl === '' ? (known?.logoUrl ?? '') : logoUrl,
      displayDecimals: displayDecimals ?? known?.displayDecimals ?? null,
    })
  }
  return looks
}
