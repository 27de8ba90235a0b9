// From an intent to signed bytes: what is filled in, at which fees, and what is signed.

import type { ContractWallet } from './contract-wallets.ts'
import type { Hex, Intent, Ladder, LadderRequest, Offer, RecordedIntent, Unsigned } from './intent.ts'
import type { Terms } from './terms.ts'

export type PrepareOptions = {
  /**
   * What was recorded before and is not known to be mined, in that order. It is asked for only where the intent does not
   * stand on its own: then it is judged again behind them.
   */
  readonly behind: () => Promise<readonly RecordedIntent[]>
  /** What is called, where it has no code yet: gas and reverts are those that it would have with it. */
  readonly asIfDeployed?: ContractWallet | undefined
  /** Whether the sender can pay is for the caller to judge, who knows what else it pays. */
  readonly isJudgedUnpaid?: boolean
}

/** A fee that is paid in an asset; amounts in base units of the asset. */
export type PreparedFeeAsset = {
  /** As movements have it. */
  readonly contract: string
  readonly decimals: number
  /** The most that the transaction can take of it, as far as that is known. */
  readonly worstCost: bigint
  /** What the sender must have of it for that, and has. */
  readonly needed: bigint
  readonly balance: bigint
}

export type Prepared = {
  /** Its nonce is the chain's pending count unless the intent fixed one. */
  readonly unsigned: Unsigned
  /** The same at the market's fees, which are its own unless the intent fixed them. */
  readonly atMarket: Unsigned
  /** Transactions of the sender that are mined, and mined or waiting in the node's pool. */
  readonly minedCount: number
  readonly pendingCount: number
  readonly balance: bigint
  /**
   * The most that this transaction can take from the sender: value, gas at the fee cap, and the network's own surcharge. Of a
   * call of a Substrate runtime that says not what it takes, what is known of it.
   */
  readonly worstCost: bigint
  /** As `terms.surcharge` has it. */
  readonly surcharge: bigint
  /** null where the fee is paid in the coin. */
  readonly feeAsset: PreparedFeeAsset | null
}

/** How a sender stands with the chain just now. */
export type Standing = {
  /** Transactions that are mined, and mined or waiting in the node's pool. */
  readonly minedCount: number
  readonly pendingCount: number
  readonly balance: bigint
  /** Wei; null where there is no base fee. */
  readonly nextBaseFeePerGas: bigint | null
}

/** A signed encoding: the hash is known before anything is sent. */
export type Signed = { readonly raw: Hex; readonly hash: Hex }

/** The blocks between which a transaction can be mined; after the last one no block takes it. */
export type Lifetime = { readonly bornAtBlock: bigint; readonly validUntilBlock: bigint }

/** Signing anew what waits. Networks whose transactions end by themselves have none of it. */
export type Replacement = {
  /** What such bytes are of, and whose key signed them. @throws Error for bytes that nobody signed. */
  disassemble(raw: Hex): Promise<{ readonly unsigned: Unsigned; readonly from: string }>
  /** What is signed but the fees, and the place (chain and nonce) that it takes. Pure. */
  effectOf(unsigned: Unsigned): { readonly place: string; readonly effect: string }
  /** At fees for which pools take it in the place of `offers`; the intent may fix them. Pure. @throws fee_too_low, fee_ceiling_reached. */
  outbid(input: { readonly unsigned: Unsigned; readonly intent: Intent; readonly offers: readonly Offer[] }): Unsigned
}

export type Submission = {
  /**
   * Fills in what the intent leaves open and simulates it against the pending state.
   * @throws execution_reverted, balance_insufficient (this intent alone), fee_too_low, node_unavailable.
   */
  prepare(intent: Intent, from: string, options: PrepareOptions): Promise<Prepared>
  /** The intent as it stands, where it needs nothing from the chain; null where something is missing. Pure. */
  complete(intent: Intent): Unsigned | null
  /** Fills in fees and gas for signing without simulation; the nonce is the caller's to give. @throws node_unavailable, execution_reverted. */
  fill(
    intent: Intent,
    from: string,
    options: { readonly nonce: number; readonly asIfDeployed?: ContractWallet | undefined },
  ): Promise<Unsigned>
  /** Mined and pending transaction counts of a sender. @throws node_unavailable. */
  transactionCounts(address: string): Promise<{ readonly minedCount: number; readonly pendingCount: number }>
  /** For operators: what decides whether the sender's next transaction can be mined. @throws node_unavailable. */
  standing(address: string): Promise<Standing>
  /** The sender's mined count as of the end of a block that is final; null where its state is gone. @throws node_unavailable. */
  transactionCountAt(input: { readonly address: string; readonly blockNumber: bigint }): Promise<number | null>
  withNonce(unsigned: Unsigned, nonce: number): Unsigned
  /**
   * The transaction at rising fees, itself first, as far as its sender can pay them; alone where the intent fixed a fee. And
   * what cancels it: above the top, and where the fee is fixed also above what the market asks. Pure.
   */
  ladder(request: LadderRequest): Ladder
  /** null for a transaction that waits as long as it must. Pure. */
  lifetimeOf(unsigned: Unsigned): Lifetime | null
  /** 32 bytes to sign. Pure. */
  signingBytes(unsigned: Unsigned): Uint8Array
  /** @param signature 65 bytes: r, s, recovery id (0 or 1). Pure. */
  assemble(unsigned: Unsigned, signature: Uint8Array): Signed
  /** @param signed.recordedCost the word where bytes do not say what they may take. Pure. @throws Error for bytes not made here. */
  offerOf(signed: { readonly raw: Hex; readonly recordedCost: bigint }): Offer
  readonly terms: Terms
  /** null for a network whose transactions end by themselves. */
  readonly replacement: Replacement | null
  /** How long a broadcast transaction waits before it offers more, and before it is given up. */
  readonly patience: { readonly climbAfterSeconds: number; readonly expireAfterSeconds: number }
}
