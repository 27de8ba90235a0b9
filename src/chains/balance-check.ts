// The result of checking a block's movements against balances: see `Blocks.checkBalances`.

/** A balance of the native coin (`contract` is null) or of a token whose change over one block was not as expected. */
export type BalanceDifference = {
  readonly address: string
  readonly contract: string | null
  /** The actual change of the balance, and the change that the indexed movements and fees explain. */
  readonly changed: bigint
  readonly expected: bigint
}

/** How many balances were checked in a block, and the differences found. */
export type BalanceCheck = { readonly checked: number; readonly differences: readonly BalanceDifference[] }

/** Which addresses and tokens a balance check covers. */
export type BalanceScope = {
  /** The watched ones of the addresses that a block touched; it may add others whose balance should not have changed. */
  choose(touched: readonly string[]): Promise<ReadonlySet<string>>
  /** The token contracts whose balances, as far as is known, change only by transfers. */
  reliable(contracts: readonly string[]): ReadonlySet<string>
}
