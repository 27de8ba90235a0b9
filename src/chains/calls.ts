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
export type ParsedAbi = {
  readonly contractName: string | null
  readonly items: readonly DeclaredAbiItem[]
  /** The names of functions and errors with types of their library, which no call of another program has. */
  readonly leftOut: readonly string[]
}

export type AbiFiles = {
  readonly bytesMax: number
  /** Each signature once, with the contract's name from an artifact; null if it has none. Pure. */
  parse(text: string): ParsedAbi
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
  | AddressValue
  /** Bytes are in lower case; a bool is `true` or `false`; texts are unchanged. */
  | { readonly kind: 'bytes' | 'bool' | 'text'; readonly value: string }

/** `address`: 20 bytes in hex, in any letter case. `account`: SS58, which is case-sensitive. */
export type AddressValue = { readonly kind: 'address' | 'account'; readonly value: string }

/** A call as policies evaluate it. */
export type ReadCall = {
  readonly functionName: string
  /** `transfer(address,uint256)`; absent on Substrate networks, whose functions have no overloads. */
  readonly signature?: string
  /** Values by path: `order.amount` in a tuple, `ids.0` in an array. */
  readonly values: ReadonlyMap<string, CallValue>
  /** As `Intent.madeBy`; absent on EVM networks, where the selector is a hash of the signature. */
  readonly readBy?: Hex
}

/** A function of contracts as it was known when a rule named it. It is enough to read its calls later. */
export type CompiledFunction = {
  readonly selector: string
  /** With the names of its arguments if they were certain: `approve(address, uint256 amount)`. */
  readonly declaration: string
}

/** Reads the calls of one function. */
export type CallReader = {
  /** The names of its arguments, or numbers if a name is missing. */
  readonly names: readonly string[]
  /** The kind of value at a path of a rule; null if there is none. */
  kindOf(path: string): CallValue['kind'] | null
  /** null unless the call data has the selector, and encoding the values again gives the same bytes. */
  read(input: Hex): ReadCall | null
}

/** On EVM networks. What a call means is decided once, when a rule names the function. Later reads need no ABI. */
export type DeclaredCalls = {
  readonly by: 'declaration'
  /**
   * Finds the one function that a bare name or a full signature means at a contract, or at any contract (`to` is null).
   * `isKnown`: some ABI has it; if not, only the signature is known.
   * @throws invalid_input with the field, if no function is known or several are.
   */
  compile(named: {
    readonly name: string
    readonly to: string | null
    readonly field: string
  }): Promise<CompiledFunction & { readonly isKnown: boolean }>
  /** null if `compile` did not make it. Pure. */
  readerOf(compiled: CompiledFunction): CallReader | null
}

/** On Substrate networks. Calls are decoded with the metadata to which the extrinsic is bound. */
type DescribedCalls = {
  readonly by: 'metadata'
  /**
   * Decodes a runtime call, or a message to a program; null for a plain transfer, and if two decoders disagree. The
   * function is the outermost call; inner calls are values.
   */
  read(intent: Pick<Intent, 'to' | 'value' | 'input'>): Promise<ReadCall | null>
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
  /** Simulates intents in sequence, in one round trip; a failed one does not fail the other intents. */
  preview(from: string, intents: readonly Intent[]): Promise<readonly Preview[]>
  /** Call data for policies. */
  readonly calls: DeclaredCalls | DescribedCalls
}
