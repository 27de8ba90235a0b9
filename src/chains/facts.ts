// What addresses are and hold, and what is remembered of it.

import type { AbiItemKind, AssetStandard, Network } from '../../db/words.ts'
import type { AddedAbiItem } from './calls.ts'

/** What is known of an address, read from the chain and kept: hostile names are bounded and kept as text. */
export type AddressFacts = {
  readonly isContract: boolean
  readonly standard: AssetStandard
  readonly name: string
  readonly symbol: string
  /** 0 for NFTs and for what is no token. */
  readonly decimals: number
}

export type Balances = { readonly coin: bigint; readonly tokens: ReadonlyMap<string, bigint> }

/** What outlives a process, handed in by context.ts. */
export type ChainMemory = {
  /** The operator's functions or errors with these selectors, as of now, in the order of adding. */
  readAbiItems(input: {
    network: Network
    kind: AbiItemKind
    selectors: readonly string[]
  }): Promise<readonly AddedAbiItem[]>
  /** What is doubtful may have changed since it was read. */
  readFacts(asked: AskedAddresses): Promise<ReadonlyMap<string, AddressFacts & { readonly isDoubtful: boolean }>>
  writeFacts(input: { network: Network; facts: ReadonlyMap<string, AddressFacts> }): Promise<void>
  /** What collections that were made here were named, by address, whoever made them: public, as on networks that keep names. */
  readCollectionNames(asked: AskedAddresses): Promise<ReadonlyMap<string, Pick<AddressFacts, 'name' | 'symbol'>>>
}

type AskedAddresses = { readonly network: Network; readonly addresses: readonly string[] }

export type Facts = {
  /** Facts of many addresses, from memory where they are known. @throws node_unavailable. */
  facts(addresses: readonly string[]): Promise<ReadonlyMap<string, AddressFacts>>
  /**
   * What an address holds at one block: the coin, and those of these tokens that say a balance above zero. Tokens that fail
   * or answer something else are left out. @throws node_unavailable.
   */
  balances(input: { readonly address: string; readonly contracts: readonly string[] }): Promise<Balances>
}
