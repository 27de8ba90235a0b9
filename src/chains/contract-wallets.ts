// Contract wallets: addresses with code of their own, which obey the key of one owner. The owner's key signs and pays; the
// wallet acts. An address is known, and may hold coins and tokens, before there is code at it.

import type { Hex, Intent, RecordedIntent } from './intent.ts'

/** A contract wallet and the address of the key that it obeys. */
export type ContractWallet = { readonly address: string; readonly owner: string }

/** How one stands on its chain. `changed`: not, or not only, its owner's key decides what it does; `how` ends a sentence. */
export type ContractWalletState =
  | { readonly kind: 'undeployed' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'changed'; readonly how: string }

/**
 * What a key signs beside a transaction (EVM: a digest of 32 bytes), and what comes of the signature (there 65 bytes: r, s,
 * recovery id; Substrate: 64).
 */
export type Signable<Result> = { readonly bytes: Uint8Array; readonly with: (signature: Uint8Array) => Result }

export type Hindrance = { readonly reason: string; readonly index: number; readonly isUnfunded: boolean }

export type ContractWallets = {
  /** The same on every network. Pure. */
  of(owner: string): ContractWallet
  /** @throws not_implemented where the chain lacks what such wallets are made of, node_unavailable. */
  state(wallet: ContractWallet): Promise<ContractWalletState>
  /** Whether there is code at the address, now or as of a block. @throws node_unavailable, also where the node lacks the block. */
  isDeployed(input: { readonly address: string; readonly blockNumber?: bigint }): Promise<boolean>
  /** Puts its code there; whoever sends it, what comes of it is the same. Pure. */
  deployment(wallet: ContractWallet): Intent
  /**
   * Has the wallet do these, all or none of them, in order. It holds for the owner as sender alone, so that nobody can send
   * it again. Gas, fees and nonce of the first intent are the sender's. Pure. @throws invalid_input for a creation among several.
   */
  execution(wallet: ContractWallet, intents: readonly Intent[]): Intent
  /**
   * Deploys the wallet and has it do these, in one transaction: by a signature of its own, which whoever sees it may use,
   * once. The gas for what the wallet does must be there. Pure. @throws invalid_input.
   */
  deployAndExecute(
    wallet: ContractWallet,
    input: { readonly intents: readonly Intent[]; readonly gas: bigint },
  ): Signable<Intent>
  /** What `execution` was given, without gas, fees and nonce; null for other call data. Pure. */
  executed(input: Hex): readonly Intent[] | null
  /**
   * Why the wallet cannot do these: the reason of the first that fails, with its place, and whether it is the wallet's lack of
   * coins; null where all succeed, or where that cannot be told. @throws node_unavailable.
   */
  hindrance(input: {
    readonly address: string
    readonly intents: readonly Intent[]
    /** The newest one where it is absent. */
    readonly blockNumber?: bigint
    /** What is recorded before: it is run first, on top of the newest block, as far as it is not mined. */
    readonly behind?: readonly RecordedIntent[]
  }): Promise<Hindrance | null>
  /** A message signed for the wallet: by ERC-1271, wrapped as ERC-6492 says where it has no code yet. Pure. */
  message(wallet: ContractWallet, input: { readonly message: Uint8Array; readonly isDeployed: boolean }): Signable<Hex>
}
