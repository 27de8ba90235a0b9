import type { ExtrinsicForm } from './substrate/signed-extensions.ts'

export type Hex = `0x${string}`

/** What a caller wants done: one call, transfer or creation. Absent fields are filled in from the chain. */
export type Intent = {
  /** null creates a contract from `input`. */
  readonly to: string | null
  readonly value: bigint
  readonly input: Hex
  readonly gasLimit?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
  readonly nonce?: number
  /** How many blocks an extrinsic may wait; a power of two, on Substrate networks alone. */
  readonly era?: number
  /** The asset that the fee is paid in, as contracts are named (`asset:1984`); on Substrate networks alone. */
  readonly feeAsset?: string
  /**
   * The BLAKE2b-256 of the metadata by which `input` was made, or judged, as a call of a Substrate runtime. By other metadata
   * the same bytes may be another call, so it is signed by this one alone.
   */
  readonly madeBy?: Hex
}

/** The same with gas, fees, nonce, era and fee asset left open. Pure. */
export const openOf = (intent: Intent): Intent => {
  const { gasLimit: _gas, maxFeePerGas: _cap, maxPriorityFeePerGas: _tip, nonce: _nonce, ...rest } = intent
  const { era: _era, feeAsset: _asset, ...open } = rest
  return open
}

/** Whether gas and fees are left open. Pure. */
export const isOpen = ({ gasLimit, maxFeePerGas, maxPriorityFeePerGas }: Intent): boolean =>
  gasLimit === undefined && maxFeePerGas === undefined && maxPriorityFeePerGas === undefined

/** What several move together, in base units. Pure. */
export const sumOfValues = (intents: readonly Intent[]): bigint => intents.reduce((sum, { value }) => sum + value, 0n)

/** Where several go; a creation goes nowhere. Pure. */
export const destinationsOf = (intents: readonly Intent[]): readonly string[] => intents.flatMap(({ to }) => to ?? [])

/** A transaction complete but for its signature (EIP-1559, type 2). */
export type EvmUnsigned = {
  readonly family: 'evm'
  readonly chainId: number
  readonly nonce: number
  readonly to: string | null
  readonly value: bigint
  readonly input: Hex
  readonly gasLimit: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** An extrinsic complete but for its signature, mortal: after `validUntilBlock` no block takes it. */
export type SubstrateUnsigned = {
  readonly family: 'substrate'
  readonly from: string
  readonly nonce: number
  /** What it was made of; 0 for the gas limit where there is none. */
  readonly to: string | null
  readonly value: bigint
  readonly input: Hex
  readonly gasLimit: bigint
  /** SCALE: pallet, call, arguments. */
  readonly call: Hex
  readonly tip: bigint
  /** What the fee is paid in, in SCALE; null for the coin. */
  readonly feeAsset: Hex | null
  readonly form: ExtrinsicForm
  /** The hash of the runtime's metadata (RFC 78), without which the runtime does not take the signature; null where none is signed. */
  readonly metadataHash: Hex | null
  readonly specVersion: number
  readonly transactionVersion: number
  readonly genesisHash: Hex
  /** Its era: so many blocks, from the block with this number and hash on. */
  readonly era: { readonly current: number; readonly period: number }
  readonly blockHash: Hex
  readonly validUntilBlock: bigint
}

/** Callers hand one back to the chain that made it, and look at no family's own fields. */
export type Unsigned = EvmUnsigned | SubstrateUnsigned

/** An intent that was recorded before, with what it was recorded as. */
export type RecordedIntent = Intent & { readonly from: string; readonly nonce: number }

/** What a signed encoding offers a block, and the most that it can take from its sender. */
export type Offer = {
  /** Wei; null where the runtime sets the fee. */
  readonly maxFeePerGas: bigint | null
  readonly maxPriorityFeePerGas: bigint | null
  readonly worstCost: bigint
  /** Whether that is the most for certain: what a call of a Substrate runtime takes is not always known. */
  readonly isBound: boolean
}

/** What a ladder of fees is made of. */
export type LadderRequest = {
  /** Complete, with its nonce. */
  readonly unsigned: Unsigned
  /** The same at the market's fees, which are its own unless the intent fixed them. */
  readonly atMarket: Unsigned
  readonly intent: Intent
  readonly from: string
  /** What the sender has for it: the balance, less what its other transactions may take. */
  readonly spendable: bigint
  /** The most that the transaction can take as it is. */
  readonly worstCost: bigint
}

/** All that is ever sent for one nonce, from the lowest offer to the highest. */
export type Ladder = {
  /** At least one. */
  readonly rungs: readonly Unsigned[]
  /** Uses the nonce and does nothing. null for a family whose transactions end by themselves. */
  readonly cancel: Unsigned | null
  /** The intent fixed a fee: there is one rung. */
  readonly isFixed: boolean
  /** It ends lower than it would, as the sender could not have paid what is above. */
  readonly isCutByFunds: boolean
}
