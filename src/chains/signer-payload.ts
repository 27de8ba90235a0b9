import type { Hex, Intent, Unsigned } from './intent.ts'

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
