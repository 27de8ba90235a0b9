// What call data says: for previews, for policies, and by the ABIs that operators add.

import type { AbiItemKind } from '../../db/words.ts'
import type { Hex, Intent } from './intent.ts'
import type { Movement } from './movements.ts'

/** A parameter as a JSON ABI tells it; `name` may be empty, `components` are those of a tuple or of an array of tuples. */
export type AbiInput = { readonly name: string; readonly type: string; readonly components?: readonly AbiInput[] }

/** A function or an error as it is declared. */
export type AbiItem = { readonly name: string; readonly inputs: readonly AbiInput[] }

/** What an operator added: for every contract, or for those at some addresses of the network that was asked about. */
export type AddedAbiItem = AbiItem & {
  readonly selector: string
  readonly isGeneral: boolean
  readonly addresses: readonly string[]
}

/** A function or an error of a file, with what it is found by. */
export type DeclaredAbiItem = {
  readonly kind: AbiItemKind
  readonly selector: Hex
  readonly signature: string
  readonly item: AbiItem
}

/** Reads the JSON ABIs that operators add; families without ABIs have none of it. */
export type AbiFiles = {
  readonly bytesMax: number
  /** Pure. @throws invalid_input for a file that is no ABI. */
  parse(text: string): { readonly contractName: string | null; readonly items: readonly DeclaredAbiItem[] }
}

export type DecodedCall = {
  /** The bare name (`transfer`); on Substrate networks the pallet's and the call's (`balances.transfer_keep_alive`). */
  readonly functionName: string
  /** By the EIP's argument names or the metadata's; addresses checksummed, integers as decimal strings, bytes as hex. */
  readonly arguments: Readonly<Record<string, unknown>>
}

/** A value that stands alone in call data. */
export type CallValue =
  | { readonly kind: 'integer'; readonly value: bigint }
  /** Addresses and bytes in lower case or checksummed, `true` and `false`, texts as they are. */
  | { readonly kind: 'address' | 'bytes' | 'bool' | 'text'; readonly value: string }

/** A call as policies judge it. */
export type ReadCall = {
  readonly functionName: string
  /** By their names, those within tuples and arrays behind dots: `order.amount`, `ids.0`. */
  readonly values: ReadonlyMap<string, CallValue>
  /** As `Intent.madeBy`; absent on EVM networks, where a selector is a hash of what it names. */
  readonly readBy?: Hex
}

export type Preview = {
  readonly decoded: DecodedCall | null
  readonly success: boolean
  /** Begins `execution reverted: ` for a revert; null on success. */
  readonly error: string | null
  /** In order; null where the node cannot trace. */
  readonly changes: readonly Movement[] | null
  /** The most that its fee may come to, for an intent that pays it in an asset. */
  readonly feeInAsset?: { readonly contract: string; readonly amount: bigint }
}

export type Calls = {
  /** One round trip for the whole bundle, in sequence; a failed element fails alone. @throws node_unavailable. */
  preview(from: string, intents: readonly Intent[]): Promise<readonly Preview[]>
  /**
   * For policies: null unless the call data is byte for byte what encoding the values again gives, and one signature alone
   * is known of the selector, built in or added by the operator for whatever contract. Of a value that declarations of the
   * signature name differently, the name is the one for the called contract, or there is none. On Substrate networks it is a
   * call of the runtime, and null for a plain transfer; its function is that of the outermost call, those within are values.
   * @throws node_unavailable where only the contract's standard tells the names.
   */
  readCall(intent: Pick<Intent, 'to' | 'value' | 'input'>): Promise<ReadCall | null>
}
