// From an intent to signed bytes: fill in the open fields, choose the fees, sign.

import type { Payload } from '../vault/language/payload.ts'
import type { ContractWallet } from './contract-wallets.ts'
import type { Hex, Intent, Ladder, LadderRequest, Offer, RecordedIntent, Unsigned } from './intent.ts'

// The fees of a transaction, and the ordinary fees to compare them with. Policies bound fees by this.

/** A field that a caller fixed too high, and the highest value that is allowed. */
export type Excess = {
  readonly field: 'gasLimit' | 'maxFeePerGas' | 'maxPriorityFeePerGas' | 'gasPrice'
  readonly most: bigint
}

export type FeeRules = {
  /** Whether the fees that an intent fixes are within the network's ceiling. Pure. */
  isWithinFeeCap(intent: Intent): boolean
  /**
   * Finds a field that the intent fixes above `times` its ordinary value, or a gas price above the ordinary fee cap;
   * null if there is none.
   * @param input.ordinary the transaction for the same intent with gas and fees left open.
   */
  excess(input: {
    readonly intent: Intent
    readonly ordinary: Unsigned
    readonly times: bigint
  }): Promise<Excess | null>
  /** The fees per gas that a transaction offers, in wei; null if the runtime sets the fee. Pure. */
  feesOf(unsigned: Unsigned): Required<Pick<Intent, 'maxFeePerGas' | 'maxPriorityFeePerGas'>> | null
  /** The most that a transaction pays for gas, from its own fields; 0 if the runtime sets the fee. Pure. */
  gasFee(unsigned: Unsigned): bigint
  /** The most that the network takes beside gas: a layer 1 fee, or a runtime's fee and tip. */
  surcharge(unsigned: Unsigned): Promise<bigint>
  /** The fee that a transaction of ordinary size may pay now. */
  ordinaryFee(): Promise<bigint>
}

/** What a dapp has a signer sign, as @polkadot/api writes it (SignerPayloadJSON). Nothing of it is checked yet. */
export type SignerPayload = {
  /** The signer, with any prefix. */
  readonly address: string
  /** The call in SCALE. */
  readonly method: Hex
  readonly era: Hex
  /** The block where the era begins, and its number. For an immortal extrinsic the genesis block. */
  readonly blockHash: Hex
  readonly blockNumber: bigint
  readonly genesisHash: Hex
  readonly nonce: bigint
  readonly tip: bigint
  /** The asset in which the fee is paid, as an Option in SCALE; null for the native coin. */
  readonly assetId: Hex | null
  readonly specVersion: bigint
  readonly transactionVersion: bigint
  readonly signedExtensions: readonly string[]
  /** Whether the signature covers the metadata hash (RFC 78). */
  readonly mode: 0 | 1
  readonly metadataHash: Hex | null
}

/** The payload as a transaction, and its call as policies judge it. */
export type ReadPayload = { readonly unsigned: Unsigned; readonly intent: Intent }

export type SignerPayloads = {
  /**
   * Checks a payload against the network and its present runtime.
   * @param input.from the signer. @throws invalid_input, metadata_untrusted
   */
  read(input: { readonly payload: SignerPayload; readonly from: string }): Promise<ReadPayload>
  /** The signature as @polkadot/api takes it: behind the byte that names its type. Pure. */
  signature(unsigned: Unsigned, signature: Uint8Array): Hex
}

export type PrepareOptions = {
  /**
   * Returns the intents that were recorded earlier and are not known to be mined, in order. It is called only if the
   * intent cannot be judged alone (it fails, or its target has no code yet); the intent is then simulated after them.
   */
  readonly pending: () => Promise<readonly RecordedIntent[]>
  /** The contract wallet that the intent calls, if it has no code yet: the simulation treats it as deployed. */
  readonly asIfDeployed?: ContractWallet | undefined
  /** Skips the check that the sender can pay: the caller does it, because it knows what else the sender pays. */
  readonly skipsBalanceCheck?: boolean
}

/** The asset in which a fee is paid. Amounts are base units of the asset. */
export type PreparedFeeAsset = {
  /** The asset's name, as in `Movement.contract`. */
  readonly contract: string
  readonly decimals: number
  /** The most of it that the transaction can take, as far as that is known. */
  readonly worstCost: bigint
  /** The balance that the sender needs for this, and the balance that it has. */
  readonly needed: bigint
  readonly balance: bigint
}

export type Prepared = Pick<AccountState, 'minedCount' | 'pendingCount' | 'balance'> & {
  /** Its nonce is the pending transaction count unless the intent fixed one. */
  readonly unsigned: Unsigned
  /** The same transaction at market fees; equal to `unsigned` unless the intent fixed its fees. */
  readonly atMarket: Unsigned
  /**
   * The most that this transaction can take from the sender: value, gas at the fee cap, and the network's surcharge.
   * For a Substrate call whose cost is not fully known, the part that is known.
   */
  readonly worstCost: bigint
  /** See `FeeRules.surcharge`. */
  readonly surcharge: bigint
  /** null if the fee is paid in the native coin. */
  readonly feeAsset: PreparedFeeAsset | null
}

/** The number of a sender's transactions that are mined, and of those that are mined or in the node's pool. */
export type TransactionCounts = { readonly minedCount: number; readonly pendingCount: number }

/** The current state of a sender on the chain. */
export type AccountState = TransactionCounts & {
  readonly balance: bigint
  /** In wei; null on a network without a base fee. */
  readonly nextBaseFeePerGas: bigint | null
}

/** A signed transaction in its encoding, and its hash. */
export type Signed = { readonly raw: Hex; readonly hash: Hex }

/** The range of blocks in which a transaction can be mined. */
export type Lifetime = { readonly bornAtBlock: bigint; readonly validUntilBlock: bigint }

/** Replaces a waiting transaction by one with higher fees. Networks whose transactions expire do not need it. */
export type Replacement = {
  /** Decodes signed bytes and recovers the sender. */
  disassemble(raw: Hex): Promise<{ readonly unsigned: Unsigned; readonly from: string }>
  /** `place` is the chain and nonce that a transaction takes; `effect` is all that it signs except the fees. Pure. */
  effectOf(unsigned: Unsigned): { readonly place: string; readonly effect: string }
  /**
   * Raises the fees so that node pools accept the transaction as a replacement for all `offers`. The intent may fix the
   * fees. Pure. @throws fee_ceiling_reached
   */
  outbid(input: { readonly unsigned: Unsigned; readonly intent: Intent; readonly offers: readonly Offer[] }): Unsigned
}

/** The nonce of a transaction, or what chooses it when the sender's counts are known. */
export type FillOptions = {
  readonly nonce: number | ((counts: TransactionCounts) => Promise<number>)
  /** As in `PrepareOptions`. */
  readonly asIfDeployed?: ContractWallet | undefined
}

export type Submission = {
  /**
   * Fills in the open fields of the intent and simulates it on the pending state.
   * @throws execution_reverted
   */
  prepare(intent: Intent, from: string, options: PrepareOptions): Promise<Prepared>
  /** Makes a transaction from the intent alone, without asking the node; null if a field is missing. Pure. */
  complete(intent: Intent): Unsigned | null
  /** Fills in fees and gas without simulation. If the caller's choice of a nonce fails, nothing else is checked. */
  fill(intent: Intent, from: string, options: FillOptions): Promise<Unsigned>
  transactionCounts(address: string): Promise<TransactionCounts>
  /** For operators: what determines whether the sender's next transaction can be mined. */
  accountState(address: string): Promise<AccountState>
  /** The sender's mined count at the end of a final block; null if the node lacks that state. */
  transactionCountAt(input: { readonly address: string; readonly blockNumber: bigint }): Promise<number | null>
  withNonce(unsigned: Unsigned, nonce: number): Unsigned
  /**
   * The transaction at rising fees, as far as its sender can pay them; one rung only if the intent fixed a fee. Also
   * the transaction that cancels it: its fees are above the top rung and, if the intent fixed a fee, above the
   * market's.
   */
  ladder(request: LadderRequest): Ladder
  /** null for a transaction that never expires. Pure. */
  lifetimeOf(unsigned: Unsigned): Lifetime | null
  /** What to sign. Pure. */
  payloadOf(unsigned: Unsigned): Payload
  /** What it does, as a text: the same for all transactions that differ only in nonce, gas and fees. Pure. */
  callTextOf(unsigned: Unsigned): string
  /** @param signature as `Signable.with` takes it. Pure. */
  assemble(unsigned: Unsigned, signature: Uint8Array): Signed
  /** @param signed.recordedCost the cost to use if the bytes do not contain it. Pure. */
  offerOf(signed: { readonly raw: Hex; readonly recordedCost: bigint }): Offer
  readonly feeRules: FeeRules
  /** null for a network whose transactions expire by themselves. */
  readonly replacement: Replacement | null
  /**
   * How long a broadcast transaction waits before its fees are raised, and before it is given up; and after how long
   * without a block the chain stands still, so that its waiting begins again with the next block.
   */
  readonly patience: {
    readonly climbAfterSeconds: number
    readonly expireAfterSeconds: number
    readonly stalledAfterSeconds: number
  }
}
