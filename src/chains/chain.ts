// What a chain family must be able to do, free of keys: it hands out bytes to sign and takes signatures back.
// It knows no database and no resource; what it must remember reaches it as ChainMemory.
// Amounts are base units (wei, planck) as bigint. Addresses are canonical texts (EIP-55, SS58) as parseAddress returns them.

import type { AbiItemKind, AssetStandard, ChainFamily, Network } from '../../db/words.ts'
import type { BalanceCheck, BalanceScope } from './balance-check.ts'
import type { BlockRef, BlockWithHashes, Head } from './block.ts'
import type { ContractWallet, ContractWallets, Signable } from './contract-wallets.ts'
import type { Hex, Intent, Ladder, LadderRequest, Offer, RecordedIntent, Unsigned } from './intent.ts'
import type { Terms } from './terms.ts'

export type * from './block.ts'
export type * from './intent.ts'

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
}

/** How a sender stands with the chain just now. */
export type Standing = {
  /** Transactions that are mined, and mined or waiting in the node's pool. */
  readonly minedCount: number
  readonly pendingCount: number
  readonly balance: bigint
  readonly nextBaseFeePerGas: bigint
}

/** A signed encoding: the hash is known before anything is sent. */
export type Signed = { readonly raw: Hex; readonly hash: Hex }

/** What a node said to a raw transaction. `unknown` (a time-out, a 5xx, an unreadable answer) frees nothing: a pool may have it. */
export type BroadcastOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'nonce_too_low' }
  | { readonly kind: 'nonce_too_high' }
  | { readonly kind: 'underpriced'; readonly reason: string }
  | { readonly kind: 'insufficient_funds'; readonly reason: string }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Where a hash stands on the chain. `unknown`: no node in reach has heard of it, or knows how it ended (`hindrance` says why). */
export type HashStatus =
  | { readonly kind: 'unknown'; readonly hindrance?: string }
  | { readonly kind: 'pending' }
  | {
      readonly kind: 'mined'
      readonly success: boolean
      readonly blockNumber: bigint
      readonly blockHash: Hex
      /** Blocks on top of and with its own: 1 in the newest block. */
      readonly confirmations: number
      /** The created contract, by the transaction itself or by a contract wallet in it; null for everything else. */
      readonly contractAddress: string | null
      /** Why it failed, where the chain itself says so. */
      readonly reason: string | null
      /** The contract wallets that did in it what they were told. */
      readonly executedBy: readonly string[]
      /** Whether the contract wallet that it goes to was told in vain: the transaction succeeded, and only used a signature up. */
      readonly failedWithin: boolean
    }

export type AskedHash = { readonly hash: Hex; readonly blockHash: Hex | null }

/** One movement of an asset between two addresses, as the chain's own events and traces tell it. */
export type Movement = {
  readonly standard: Exclude<AssetStandard, 'other'>
  /** null for the native coin. */
  readonly contract: string | null
  /** null for fungible assets. */
  readonly tokenId: bigint | null
  readonly from: string
  readonly to: string
  /** 1 for an ERC-721 token. */
  readonly amount: bigint
}

/**
 * A transfer event names no standard: a token id that is not indexed looks like an amount, an indexed amount like a token
 * id. Where the contract's own standard is known, this sets it right. Pure.
 */
export const asStandard = <M extends Movement>(movement: M, standard: AssetStandard | undefined): M => {
  if (movement.standard === 'erc20' && standard === 'erc721') {
    return { ...movement, standard, tokenId: movement.amount, amount: 1n }
  }
  if (movement.standard === 'erc721' && standard === 'erc20') {
    return { ...movement, standard, tokenId: null, amount: movement.tokenId ?? 0n }
  }
  return movement
}

export type RecordedMovement = Movement & {
  readonly transactionHash: Hex
  /**
   * Its place within the transaction, unique and stable over re-reading: a log's index in the block, then the item's
   * index in a batch; native movements use index -1 for the transaction's own value.
   */
  readonly logIndex: number
  readonly itemIndex: number
}

export type BlockMovements = BlockRef & {
  readonly movements: readonly RecordedMovement[]
  /** Coins that moved within transactions are among them. */
  readonly isTraced: boolean
}

/** What a node has of a block: all that `movements` needs, no longer, or not yet. */
export type History = 'kept' | 'pruned' | 'not_there'

/** What is known of an address, read from the chain and kept: hostile names are bounded and kept as text. */
export type AddressFacts = {
  readonly isContract: boolean
  readonly standard: AssetStandard
  readonly name: string
  readonly symbol: string
  /** 0 for NFTs and for what is no token. */
  readonly decimals: number
}

export type Balances = { readonly coin: bigint; readonly tokens: ReadonlyMap<string, bigint> }

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
}

export type MintRequest = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  readonly uri: string
  /** What stands at the URI, where that is known: some contracts keep it themselves. */
  readonly metadata?: { readonly name: string; readonly description: string; readonly image: string } | undefined
  /** What was recorded before and is not known to be mined: it may take a number that must be free. */
  readonly behind?: PrepareOptions['behind'] | undefined
}

export type TransferNftRequest = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  readonly tokenId: bigint
  readonly amount: bigint
}

export type CollectionRequest = {
  readonly name: string
  readonly symbol: string
  readonly baseUri: string
  readonly contractUri: string
  readonly owner: string
  /** As for a mint. */
  readonly behind?: PrepareOptions['behind'] | undefined
}

/** A message as text, and a signature of it as hex of any length. */
export type SignedMessage = { readonly address: string; readonly message: string; readonly signature: Hex }

/**
 * Who signed. `key`: the one private key that an address follows from, on every network of the family. `contract`: the
 * code at the address, which speaks for this network alone: on another one somebody else's may stand there.
 */
export type MessageSigner = 'key' | 'contract'

/** What outlives a process, handed in by context.ts. */
export type ChainMemory = {
  /** The operator's functions or errors with these selectors, as of now, in the order of adding. */
  readAbiItems(input: {
    network: Network
    kind: AbiItemKind
    selectors: readonly string[]
  }): Promise<readonly AddedAbiItem[]>
  /** What is doubtful may have changed since it was read. */
  readFacts(asked: AskedAddresses): Promise<ReadonlyMap<string, AddressFacts & { readonly isDoubtful: boolean }>>
  writeFacts(input: { network: Network; facts: ReadonlyMap<string, AddressFacts> }): Promise<void>
  /** What collections that were made here were named, by address, whoever made them: public, as on networks that keep names. */
  readCollectionNames(asked: AskedAddresses): Promise<ReadonlyMap<string, Pick<AddressFacts, 'name' | 'symbol'>>>
}

type AskedAddresses = { readonly network: Network; readonly addresses: readonly string[] }

export type Chain = {
  readonly network: Network
  readonly family: ChainFamily
  /** The EIP-155 chain id; 0 for a family that has none. */
  readonly chainId: number
  /** Blocks with and above a transaction's own before it is told, and before it is taken as final where the node does not say. */
  readonly depth: { readonly confirmations: number; readonly final: number }
  /** How far below the indexer's cursor blocks are read whole for a wallet with a past. */
  readonly wholeBackfillBlocks: number
  readonly pollIntervalMs: number
  /** How long a broadcast transaction waits before it offers more, and before it is given up. */
  readonly patience: { readonly climbAfterSeconds: number; readonly expireAfterSeconds: number }

  /** @returns the canonical text. @throws address_invalid (malformed, wrong checksum), network_mismatch. Pure. */
  parseAddress(text: string, field: string): string
  /**
   * What names a token contract or a collection here: an address, a collection's id in decimal digits, a program's id in hex.
   * @returns the canonical text. @throws address_invalid, network_mismatch. Pure.
   */
  parseContract(text: string, field: string): string
  /** The address of a public key: 65 bytes uncompressed secp256k1 or 32 bytes sr25519. Pure. */
  addressOf(publicKey: Uint8Array): string

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
  /** At fees for which pools take it in the place of `offers`; the intent may fix them. Pure. @throws fee_too_low, fee_ceiling_reached. */
  outbid(input: { readonly unsigned: Unsigned; readonly intent: Intent; readonly offers: readonly Offer[] }): Unsigned
  /** 32 bytes to sign. Pure. */
  signingBytes(unsigned: Unsigned): Uint8Array
  /** @param signature 65 bytes: r, s, recovery id (0 or 1). Pure. */
  assemble(unsigned: Unsigned, signature: Uint8Array): Signed
  /** What such bytes are of, and whose key signed them. @throws Error for bytes that nobody signed. */
  disassemble(raw: Hex): Promise<{ readonly unsigned: Unsigned; readonly from: string }>
  /** @param signed.recordedCost the word where bytes do not say what they may take. Pure. @throws Error for bytes not made here. */
  offerOf(signed: { readonly raw: Hex; readonly recordedCost: bigint }): Offer

  /** null for a family that has none. */
  readonly contractWallets: ContractWallets | null

  /** A message signed by a key for its own address: EIP-191, v 27 or 28; or sr25519. Pure. */
  message(message: Uint8Array): Signable<Hex>
  /**
   * Who of an address signed a message: EIP-191, ERC-1271 and ERC-6492; or sr25519. null: nobody.
   * @throws node_unavailable where only a contract could tell.
   */
  verifyMessage(signed: SignedMessage): Promise<MessageSigner | null>

  /** Sends once, without a retry inside, and only to a node of the right chain; "already known" is `accepted`. Never throws for what a node says. */
  broadcast(raw: Hex): Promise<BroadcastOutcome>
  /** @throws node_unavailable. */
  status(hash: Hex): Promise<HashStatus>
  /**
   * Of many, in bounded batches. Nodes of some families look a hash up only in a block: the one where it was seen.
   * @throws node_unavailable.
   */
  statuses(asked: readonly AskedHash[]): Promise<readonly HashStatus[]>

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
  readonly terms: Terms

  /** Facts of many addresses, from memory where they are known. @throws node_unavailable. */
  facts(addresses: readonly string[]): Promise<ReadonlyMap<string, AddressFacts>>
  /**
   * What an address holds at one block: the coin, and those of these tokens that say a balance above zero. Tokens that fail
   * or answer something else are left out. @throws node_unavailable.
   */
  balances(input: { readonly address: string; readonly contracts: readonly string[] }): Promise<Balances>
  /** The address that a name stands for (ENS), null where it has none. @throws invalid_input, not_implemented, node_unavailable. */
  addressOfName(name: string): Promise<string | null>
  /** tokenURI / uri of many tokens; null where the contract has none. @throws node_unavailable. */
  tokenUris(tokens: readonly { contract: string; tokenId: bigint }[]): Promise<readonly (string | null)[]>
  /** Where the metadata of a collection itself is; null where it has none. @throws node_unavailable. */
  contractUri(contract: string): Promise<string | null>

  /** @throws mint_unauthorized, mint_requires_value, mint_unsupported, node_unavailable. */
  mintIntent(request: MintRequest): Promise<Intent>
  /** ERC-721 or ERC-1155 by the contract's own word. @throws invalid_input (no NFT contract), node_unavailable. */
  transferNftIntent(request: TransferNftRequest): Promise<Intent>
  /** Our own collection contract, or what the network has in its place. @throws invalid_input, not_implemented, node_unavailable. */
  collectionIntent(request: CollectionRequest): Promise<Intent>

  /** @throws node_unavailable. */
  head(): Promise<Head>
  /** Blocks with their transactions' hashes, for the tracker; null for a block that the node does not have (yet). @throws node_unavailable. */
  block(number: bigint): Promise<BlockWithHashes | null>
  /** Every movement in a range of blocks, both ends included, or null where the node does not have all of them (yet). @throws node_unavailable, RangeTooWide. */
  movements(input: { readonly fromBlock: bigint; readonly toBlock: bigint }): Promise<readonly BlockMovements[] | null>
  /**
   * What events that index an address tell of it, both ends of the range included: only blocks with such events, oldest
   * first; null where the node is not of one mind about them. Coins only where events tell of them. @throws node_unavailable, RangeTooWide.
   */
  eventMovements(input: {
    readonly address: string
    readonly fromBlock: bigint
    readonly toBlock: bigint
  }): Promise<readonly BlockMovements[] | null>
  /**
   * Holds what was told of a block against balances: what an address holds must change by what moved, and by fees. null where the node no longer has what that takes, or has another block there.
   * @throws node_unavailable.
   */
  checkBalances(block: BlockMovements, scope: BalanceScope): Promise<BalanceCheck | null>
  /** Whether the node still has a block and its events: whoever has it has those above it. @throws node_unavailable. */
  history(number: bigint): Promise<History>
  /** Whether the node is of this chain, by its own word. @throws node_unavailable. */
  isRightNode(): Promise<boolean>
  /**
   * Before a signature for which the node is asked nothing else: it must have shown the right chain id.
   * @returns null where there is nothing to wait for. @throws node_unavailable, wrong_chain, later.
   */
  confirmNode(): Promise<void> | null
}

/** A node refused a range of blocks for its width or its number of results: ask for less. */
export class RangeTooWide extends Error {
  constructor(cause: unknown) {
    super('The node refused the range of blocks as too wide.', { cause })
    this.name = 'RangeTooWide'
  }
}
