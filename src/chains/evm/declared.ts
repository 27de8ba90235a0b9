// Reads the operator's declarations of functions and errors. They are read each time, so that a change takes effect at
// the next preview in every process. This costs one query. Proxy implementations are read only if a declaration of the
// selector is bound to another address.

import type { AbiItemKind } from '../../../db/words.ts'
import type { AddedAbiItem, Hex } from '../chain.ts'
import { type Answer, question, type Rpc } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { checksum } from './address.ts'
import { addressIn, readQuestion } from './call.ts'
import { type Declared, NOTHING_DECLARED } from './decode.ts'
import type { NodeContext } from './limits.ts'

// Finds the implementation behind a proxy contract. It is read each time, because an upgrade changes it, but only if
// the operator bound a declaration that may apply. It takes one batch, or two with a beacon.

const SLOTS = {
  /** ERC-1967: keccak256('eip1967.proxy.implementation') - 1. */
  implementation: '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  /** ERC-1967: keccak256('eip1967.proxy.beacon') - 1. */
  beacon: '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50',
  /** Before ERC-1967, for instance USDC: keccak256('org.zeppelinos.proxy.implementation'). */
  older: '0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3',
} as const satisfies Record<string, Hex>

/** ERC-1167's minimal proxy, with or without arguments after its code; EIP-7702's delegation of an account. */
const CODE = /^0x(?:363d3d373d3d3d363d73([0-9a-f]{40})5af43d82803e903d91602b57fd5bf3|ef0100([0-9a-f]{40})$)/

/** `implementation()` of ERC-1967's beacons. */
const BEACON_IMPLEMENTATION = '0x5c60da1b'
const BEACON_GAS_LIMIT = 2_000_000n

/** A node's refusal counts as no proxy: then only the names of a call are missing. */
const valueOrNull = (answer: Answer<string | null> | null | undefined): string | null =>
  answer?.ok ? answer.value : null

const addressInCode = (code: unknown): string | null => {
  const [, minimal, delegate] = CODE.exec(bytes(code)) ?? []
  const address = minimal ?? delegate
  return address === undefined ? null : checksum(`0x${address}`)
}

/** The implementations behind each address; empty for an address that is not a proxy. */
const readImplementations = async (
  rpc: Rpc,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const slots = [SLOTS.beacon, SLOTS.implementation, SLOTS.older]
  const perAddress = slots.length + 1
  const answers = await rpc.tryAll(
    addresses.flatMap((address) => [
      ...slots.map((slot) => question('eth_getStorageAt', [address, slot, 'latest'], addressIn)),
      question('eth_getCode', [address, 'latest'], addressInCode),
    ]),
  )
  const places = addresses.map((_, at) => {
    const [beacon = null, ...direct] = answers.slice(at * perAddress, (at + 1) * perAddress).map(valueOrNull)
    return { beacon, direct }
  })
  const behindBeacons = await rpc.tryAll(
    places.map(({ beacon }) =>
      beacon === null
        ? null
        : {
            ...readQuestion({ to: beacon, data: BEACON_IMPLEMENTATION, gasLimit: BEACON_GAS_LIMIT }),
            parse: addressIn,
          },
    ),
  )
  return new Map(
    addresses.map((address, at) => {
      const all = [...(places[at]?.direct ?? []), valueOrNull(behindBeacons[at])]
      return [address, [...new Set(all.filter((each) => each !== null))]]
    }),
  )
}

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
 * The declarations for each site. An error may come from any contract that the called one calls, so errors that are
 * bound to other addresses count as general.
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
