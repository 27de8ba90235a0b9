// Contract wallets: contracts that a single owner's key controls. The owner's key signs and pays; the wallet makes the
// calls. The address is known before the wallet is deployed, and may already hold coins and tokens.

import type { Payload, TypedData } from '../vault/language/payload.ts'
import type { Hex, Intent, RecordedIntent } from './intent.ts'

/** A contract wallet and the address of its owner's key. */
export type ContractWallet = { readonly address: string; readonly owner: string }

/**
 * The state of a contract wallet on its chain. `changed`: its owner's key no longer controls it alone; `how` ends a
 * sentence.
 */
export type ContractWalletState =
  | { readonly kind: 'undeployed' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'changed'; readonly how: string }

/** What a key must sign. `with` takes the signature (EVM: 65 bytes, r, s, recovery id; Substrate: 64 bytes). */
export type Signable<Result> = { readonly payload: Payload; readonly with: (signature: Uint8Array) => Result }

/** `operation`: 0 calls `to`, 1 runs its code as the wallet's own. */
export type ContractOperation = {
  readonly to: Hex
  readonly value: bigint
  readonly data: Hex
  readonly operation: number
}

export type FailingCall = { readonly reason: string; readonly index: number; readonly isUnfunded: boolean }

export type ContractWallets = {
  /** The contract wallet of an owner: the same address on every network. Pure. */
  of(owner: string): ContractWallet
  state(wallet: ContractWallet): Promise<ContractWalletState>
  /** Whether there is code at the address, now or at a block. */
  isDeployed(input: { readonly address: string; readonly blockNumber?: bigint }): Promise<boolean>
  /** Deploys the wallet; the result does not depend on the sender. Pure. */
  deployment(wallet: ContractWallet): Intent
  /**
   * Makes the wallet execute these intents in order, all or none. It works only with the owner as sender, so no
   * attacker can replay it. Gas, fees and nonce are those of the first intent. Pure.
   */
  execution(wallet: ContractWallet, intents: readonly Intent[]): Intent
  /**
   * Deploys the wallet and makes it execute these intents in one transaction. The intents carry a separate signature,
   * which anyone who sees it may use, once. `gas` is what the wallet's execution must have. Pure.
   */
  deployAndExecute(
    wallet: ContractWallet,
    input: { readonly intents: readonly Intent[]; readonly gas: bigint },
  ): Signable<Intent>
  /** The intents that `execution` encoded, without gas, fees and nonce; null for other call data. Pure. */
  executed(input: Hex): readonly Intent[] | null
  /** The intents in a contract wallet's own transaction: a call, or several by MultiSendCallOnly; else null. Pure. */
  callsOf(operation: ContractOperation): readonly Intent[] | null
  /**
   * Finds the first intent that the wallet cannot execute: its index, the reason, and whether the wallet lacks coins
   * for it. null if all succeed, or if the node cannot tell.
   */
  failingCall(input: {
    readonly address: string
    readonly intents: readonly Intent[]
    /** The newest block if absent. */
    readonly blockNumber?: bigint
    /** Intents recorded earlier: those that are not mined yet run first, on the newest block. */
    readonly pending?: readonly RecordedIntent[]
  }): Promise<FailingCall | null>
  /** Signs a message for the wallet (ERC-1271), wrapped by ERC-6492 if the wallet is not deployed yet. Pure. */
  message(wallet: ContractWallet, input: { readonly message: Uint8Array; readonly isDeployed: boolean }): Signable<Hex>
  /** The same for typed data. Pure. */
  typedData(
    wallet: ContractWallet,
    input: { readonly typedData: TypedData; readonly isDeployed: boolean },
  ): Signable<Hex>
}
