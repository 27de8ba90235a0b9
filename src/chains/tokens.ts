// Fungible tokens, and transfers of the coin: to one recipient, or to several in one transaction.

import type { Intent } from './intent.ts'
import type { PrepareOptions } from './submission.ts'

export type TokenRequest = {
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  /** In base units; the owner gets it. */
  readonly initialSupply: bigint
  readonly owner: string
  /** Intents recorded earlier that are not known to be mined: one of them may take the id that the token needs. */
  readonly pending?: PrepareOptions['pending'] | undefined
}

export type MintTokenRequest = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  readonly amount: bigint
}

export type Transfer = { readonly recipient: string; readonly amount: bigint }

export type TransfersRequest = {
  readonly from: string
  /** All or nothing, in this order. */
  readonly transfers: readonly Transfer[]
  /** Whether the sender can do several intents in one transaction. Otherwise the answer is one intent. */
  readonly canBatch: boolean
}

export type Tokens = {
  /** The first amount that is too large for the network's coin and tokens. */
  readonly amountEnd: bigint
  coinTransfers(request: TransfersRequest): Promise<readonly Intent[]>
  /** null for a network whose tokens are not handled by this service. */
  readonly tokens: TokenCalls | null
}

export type TokenCalls = {
  /** The canonical form of a token's contract or id. @throws address_invalid */
  parseToken(text: string, field: string): string
  creation(request: TokenRequest): Promise<Intent>
  /** @throws mint_unauthorized, mint_unsupported */
  mint(request: MintTokenRequest): Promise<Intent>
  /** @throws batch_unsupported, execution_reverted */
  transfers(request: TransfersRequest & { readonly contract: string }): Promise<readonly Intent[]>
}
