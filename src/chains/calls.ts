// Decoding of call data for previews and policies, also by the ABIs that operators add.

import type { AbiItemKind } from '../../db/words.ts'
import type { Hex, Intent } from './intent.ts'
import type { Movement } from './movements.ts'

/** A parameter in a JSON ABI. `name` may be empty; `components` are those of a tuple or of an array of tuples. */
export type AbiInput = { readonly name: string; readonly type: string; readonly components?: readonly AbiInput[] }

/** A function or an error as it is declared. */
export type AbiItem = { readonly name: string; readonly inputs: readonly AbiInput[] }

/** A declaration that an operator added: for every contract, or for some addresses of the network. */
export type AddedAbiItem = AbiItem & {
  readonly selector: string
  readonly isGeneral: boolean
  readonly addresses: readonly string[]
}

/** A function or an error from a file, with its selector and signature. */
export type DeclaredAbiItem = {
  readonly kind: AbiItemKind
  readonly selector: Hex
  readonly signature: string
  readonly item: AbiItem
}

/** Reads the JSON ABIs that operators add. Only for families with ABIs. */
export type AbiFiles = {
  readonly bytesMax: number
  /** Each signature once, with the contract's name from an artifact; null if it has none. Pure. */
  parse(text: string): { readonly contractName: string | null; readonly items: readonly DeclaredAbiItem[] }
}

export type DecodedCall = {
  /** The bare name (`transfer`); on Substrate networks pallet and call (`balances.transfer_keep_alive`). */
  readonly functionName: string
  /** Argument names as in the ABI or the metadata. Addresses are checksummed, integers decimal strings, bytes hex. */
  readonly arguments: Readonly<Record<string, unknown>>
}

/** A single value in call data. */
export type CallValue =
  | { readonly kind: 'integer'; readonly value: bigint }
  /** Addresses and bytes are in lower case or checksummed; a bool is `true` or `false`; texts are unchanged. */
  | { readonly kind: 'address' | 'bytes' | 'bool' | 'text'; readonly value: string }

/** A call as policies evaluate it. */
export type ReadCall = {
  readonly functionName: string
  /** Values by path: `order.amount` in a tuple, `ids.0` in an array. */
  readonly values: ReadonlyMap<string, CallValue>
  /** As `Intent.madeBy`; absent on EVM networks, where the selector is a hash of the signature. */
  readonly readBy?: Hex
}

export type Preview = {
  readonly decoded: DecodedCall | null
  readonly success: boolean
  /** Begins `execution reverted: ` for a revert; null on success. */
  readonly error: string | null
  /** In order; null if the node cannot trace. */
  readonly changes: readonly Movement[] | null
  /** The highest possible fee, if the intent pays it in an asset. */
  readonly feeInAsset?: { readonly contract: string; readonly amount: bigint }
}

export type Calls = {
  /** Simulates intents in sequence, in one round trip; a failed one does not fail the others. */
  preview(from: string, intents: readonly Intent[]): Promise<readonly Preview[]>
  /**
   * Decodes call data for policies. null unless encoding the values again gives the same bytes, and exactly one signature is
   * known for the selector (built in, or added by the operator for any contract). If declarations name a value differently,
   * the name declared for the called contract is used; without one, the value has no name. On Substrate networks it decodes
   * a runtime call, and returns null for a plain transfer; the function is the outermost call, inner calls are values.
   */
  readCall(intent: Pick<Intent, 'to' | 'value' | 'input'>): Promise<ReadCall | null>
}
