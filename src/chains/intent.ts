import type { ExtrinsicForm } from './substrate/signed-extensions.ts'

export type Hex = `0x${string}`

/** Whether a stored text is 0x hex; null: its bytes are erased. */
export const isHex = (text: string | null): text is Hex => text?.startsWith('0x') === true

/** EIP-2930: what the transaction pays for in advance. Canonical addresses, storage slots of 32 bytes. */
export type AccessList = readonly { readonly address: string; readonly storageKeys: readonly Hex[] }[]

/** What a caller asks for: one call, transfer or contract creation. Absent fields are filled in from the chain. */
export type Intent = {
  /** null creates a contract from `input`. */
  readonly to: string | null
  readonly value: bigint
  readonly input: Hex
  readonly gasLimit?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
  /** EVM only, and only to sign: then the transaction is of type 0, or of type 1 with an access list. */
  readonly gasPrice?: bigint
  /** EVM only, and only to sign. */
  readonly accessList?: AccessList
  readonly nonce?: number
  /** Substrate only: how many blocks an extrinsic may wait, a power of two. */
  readonly era?: number
  /** Substrate only: the asset in which the fee is paid, named like a contract (`asset:1984`). */
  readonly feeAsset?: string
  /**
   * Substrate only: the BLAKE2b-256 of the metadata with which `input` was encoded or evaluated. Under other metadata
   * the same bytes may mean another call, so the intent is signed only while the runtime has this metadata.
   */
  readonly madeBy?: Hex
}

/** The intent without gas, fees, nonce, era and fee asset. Pure. */
export const openOf = (intent: Intent): Intent => {
  const { gasLimit: _gas, maxFeePerGas: _cap, maxPriorityFeePerGas: _tip, nonce: _nonce, ...rest } = intent
  const { gasPrice: _price, era: _era, feeAsset: _asset, ...open } = rest
  return open
}

/** Whether gas and fees are left open. Pure. */
export const isOpen = ({ gasLimit, maxFeePerGas, maxPriorityFeePerGas, gasPrice }: Intent): boolean =>
  [gasLimit, maxFeePerGas, maxPriorityFeePerGas, gasPrice].every((each) => each === undefined)

/** The total value of several intents, in base units. Pure. */
export const sumOfValues = (intents: readonly Intent[]): bigint => intents.reduce((sum, { value }) => sum + value, 0n)

/** The recipients of several intents; a contract creation has none. Pure. */
export const destinationsOf = (intents: readonly Intent[]): readonly string[] => intents.flatMap(({ to }) => to ?? [])

/**
 * A complete transaction without its signature. A gas price is both its fee cap and its tip, as EIP-1559 treats
 * transactions of the types 0 and 1.
 */
export type EvmUnsigned = Required<Omit<Intent, 'gasPrice' | 'accessList' | 'era' | 'feeAsset' | 'madeBy'>> & {
  readonly family: 'evm'
  readonly chainId: number
  /** If absent, it is of type 2 (EIP-1559). */
  readonly type?: 'legacy' | 'eip2930'
  /** If absent, it is empty. */
  readonly accessList?: AccessList
}

/**
 * A complete extrinsic without its signature. What is made here is mortal: it cannot be included after
 * `validUntilBlock`. The gas limit is 0 if the intent has none.
 */
export type SubstrateUnsigned = Required<Pick<Intent, 'to' | 'value' | 'input' | 'gasLimit' | 'nonce'>> & {
  readonly family: 'substrate'
  readonly from: string
  /** SCALE: pallet, call, arguments. */
  readonly call: Hex
  readonly tip: bigint
  /** The asset in which the fee is paid, in SCALE; null for the native coin. */
  readonly feeAsset: Hex | null
  readonly form: ExtrinsicForm
  /** The hash of the runtime's metadata (RFC 78), if the signature covers it. */
  readonly metadataHash: Hex | null
  readonly specVersion: number
  readonly transactionVersion: number
  readonly genesisHash: Hex
  /** `period` blocks from block `current`, which has the hash `blockHash`. null: immortal, from the genesis block. */
  readonly era: { readonly current: number; readonly period: number } | null
  readonly blockHash: Hex
  /** null if it is immortal. */
  readonly validUntilBlock: bigint | null
}

/** Callers pass it back to the chain that made it, and do not read the fields of a family. */
export type Unsigned = EvmUnsigned | SubstrateUnsigned

/** An intent that was recorded earlier, with its sender and nonce. */
export type RecordedIntent = Intent & { readonly from: string; readonly nonce: number }

/** The fees that a signed transaction offers, and the most that it can take from its sender. */
export type Offer = {
  /** In wei; null if the runtime sets the fee. */
  readonly maxFeePerGas: bigint | null
  readonly maxPriorityFeePerGas: bigint | null
  readonly worstCost: bigint
  /** Whether `worstCost` is a sure upper bound. For a Substrate call it is not always known. */
  readonly isBound: boolean
}

/** The input for a ladder of fees. */
export type LadderRequest = {
  /** Complete, with its nonce. */
  readonly unsigned: Unsigned
  /** The same transaction at market fees; equal to `unsigned` unless the intent fixed its fees. */
  readonly atMarket: Unsigned
  readonly intent: Intent
  readonly from: string
  /** The sender's balance, less what its other transactions may take. */
  readonly spendable: bigint
  /** The most that the transaction can take at its present fees. */
  readonly worstCost: bigint
}

/** All transactions that may be sent for one nonce, from the lowest fees to the highest. */
export type Ladder = {
  /** At least one. */
  readonly rungs: readonly Unsigned[]
  /** Uses up the nonce and does nothing else. null for a family whose transactions expire by themselves. */
  readonly cancel: Unsigned | null
  /** Whether the intent fixed a fee, so that there is only one rung. */
  readonly isFixed: boolean
  /** Whether higher rungs are left out because the sender cannot pay them. */
  readonly isCutByFunds: boolean
}
