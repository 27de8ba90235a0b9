// Facts about addresses (contract or not, token metadata), their balances, and the memory that keeps the facts.

import type { AbiItemKind, AssetStandard, Network } from '../../db/words.ts'
import type { AddedAbiItem } from './calls.ts'

/** By canonical address. */
export type FactsByAddress = ReadonlyMap<string, AddressFacts>

/** Facts about an address, read from the chain and stored. Names are untrusted: they are cut to a limit and cleaned. */
export type AddressFacts = {
  readonly isContract: boolean
  readonly standard: AssetStandard
  readonly name: string
  readonly symbol: string
  /** As the contract says, whatever its standard; null if it does not say: then an amount is in base units. */
  readonly decimals: number | null
}

/** What the nodes of a network say of a contract, where they disagree. */
export type DisputedFacts = {
  readonly network: Network
  readonly address: string
  readonly said: readonly AddressFacts[]
}

export type Balances = { readonly coin: bigint; readonly tokens: ReadonlyMap<string, bigint> }

/** Storage that outlives a process; main/asking-contexts.ts provides it. */
export type ChainMemory = {
  /**
   * The operator's functions or errors with one of these selectors, or the selector of an item with this name, in the
   * order in which they were added. Not cached.
   */
  readAbiItems(input: {
    network: Network
    kind: AbiItemKind
    selectors: readonly string[]
    name?: string
  }): Promise<readonly AddedAbiItem[]>
  /** `isDoubtful`: the facts may have changed since. `isOwn`: a process like this one wrote them as sure. */
  readFacts(
    asked: AskedAddresses,
  ): Promise<ReadonlyMap<string, AddressFacts & { readonly isDoubtful: boolean; readonly isOwn: boolean }>>
  writeFacts(input: { network: Network; sure: FactsByAddress; unsure: FactsByAddress }): Promise<void>
  /** Is called each time that nodes disagree. Nothing of what they say is stored. */
  noteDispute(disputed: DisputedFacts): void
  /** Names and symbols of the collections that this service created, by address. Any project may read them. */
  readCollectionNames(asked: AskedAddresses): Promise<ReadonlyMap<string, Pick<AddressFacts, 'name' | 'symbol'>>>
}

type AskedAddresses = { readonly network: Network; readonly addresses: readonly string[] }

export type Facts = {
  /** Facts of many addresses, from memory if known. Only for display. */
  facts(addresses: readonly string[]): Promise<ReadonlyMap<string, AddressFacts>>
  /** Facts for what is signed or agreed to. Memory is used only for facts that are its own. */
  sureFacts(addresses: readonly string[]): Promise<ReadonlyMap<string, AddressFacts>>
  /**
   * The balances of an address at one block: the native coin, and the given tokens with a balance above zero. Tokens
   * that fail or give an invalid answer are left out.
   */
  balances(input: { readonly address: string; readonly contracts: readonly string[] }): Promise<Balances>
}
