// What holding a block against balances comes to: see `Chain.checkBalances`.

/** What an address holds of the coin (`contract` is null) or of a token, over one block. */
export type BalanceDifference = {
  readonly address: string
  readonly contract: string | null
  /** By how much it changed, and by how much it must have by what was told. */
  readonly changed: bigint
  readonly told: bigint
}

/** How many holdings were looked at in a block, and those that changed otherwise than told. */
export type BalanceCheck = { readonly checked: number; readonly differences: readonly BalanceDifference[] }

/** What a check of balances looks at: the coin, and tokens that can be relied on. */
export type BalanceScope = {
  /** Of the addresses that a block touched those that are watched; and perhaps others, which it should not have touched. */
  choose(touched: readonly string[]): Promise<ReadonlySet<string>>
  /** Of strangers' token contracts, those whose balances change by transfers alone as far as is known. */
  reliable(contracts: readonly string[]): ReadonlySet<string>
}
