// Reads the operator's declarations of functions and errors. They are read each time, so that a change takes effect at the
// next preview in every process. This costs one query. Proxy implementations are read only if a declaration of the selector
// is bound to another address.

import type { AbiItemKind } from '../../../db/words.ts'
import type { AddedAbiItem, Hex } from '../chain.ts'
import { type Declared, NOTHING_DECLARED } from './decode.ts'
import type { NodeContext } from './limits.ts'
import { readImplementations } from './proxies.ts'

/** A selector, and the contract that was called or that failed with it; null for a creation. */
export type CallSite = { readonly selector: Hex; readonly to: string | null }

type Context = Omit<NodeContext, 'limits'>

const isBoundTo = ({ addresses }: AddedAbiItem, address: string | null): boolean =>
  address !== null && addresses.includes(address)

/** Whether the contract may be a proxy: declarations of the selector are bound, but none to this contract. */
const mayBeBehind = (items: readonly AddedAbiItem[], { to, selector }: CallSite): boolean => {
  const own = items.filter((item) => item.selector === selector && item.addresses.length > 0)
  return to !== null && own.length > 0 && !own.some((item) => isBoundTo(item, to))
}

/**
 * The declarations for each site. An error may come from any contract that the called one calls, so errors that are bound
 * to other addresses count as general.
 */
export const readDeclared = async (
  { rpc, memory, network }: Context,
  { kind, sites }: { readonly kind: AbiItemKind; readonly sites: readonly (CallSite | null)[] },
): Promise<readonly Declared[]> => {
  const asked = sites.filter((site) => site !== null)
  const selectors = [...new Set(asked.map(({ selector }) => selector))]
  const items = selectors.length === 0 ? [] : await memory.readAbiItems({ network, kind, selectors })
  const proxies = asked.flatMap((site) => (mayBeBehind(items, site) && site.to !== null ? [site.to] : []))
  const implementations = await readImplementations(rpc, [...new Set(proxies)])
  return sites.map((site) => {
    if (site === null) return NOTHING_DECLARED
    const { to, selector } = site
    const own = items.filter((item) => item.selector === selector)
    const addresses = [to, ...(implementations.get(to ?? '') ?? [])]
    return {
      bound: own.filter((item) => addresses.some((address) => isBoundTo(item, address))),
      general: own.filter(({ isGeneral }) => isGeneral || kind === 'error'),
    }
  })
}
