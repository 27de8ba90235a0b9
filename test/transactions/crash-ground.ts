// What a crash test needs of a chain of one family: signers with everything that they need, for the sending world and
// for the check afterwards.

import type { Sql } from 'postgres'
import type { Network } from '../../db/words.ts'
import type { MortalPostgres } from '../support/mortal-postgres.ts'
import type { Service } from '../support/service.ts'

export type IntentKind = 'pay' | 'pay by policy' | 'transfer' | 'mint' | 'mint with metadata'

/** One intent of a client. It has its own recipient, so that its effect can be seen on the chain. */
export type Intent = {
  readonly kind: IntentKind
  readonly signer: string
  readonly recipient: string
  readonly value: bigint
  /** null if the client sends none. */
  readonly idempotencyKey: string | null
  /** The transaction's id; null if the connection broke. */
  answer: string | null
}

/** A wallet, the address of its key (which differs for a Safe), and the collection in which it mints, if any. */
export type Signer = { readonly address: string; readonly owner: string; readonly collection: string | null }

/** The transactions of our signers in the blocks. */
export type Mined = {
  readonly hash: string
  readonly from: string
  readonly nonce: number
  readonly blockHash: string
}

/** When blocks come: with each transaction, or now and then with everything in the pool. */
export type Blocks = 'at once' | 'by clock'

export type Ground = {
  readonly network: Network
  readonly server: MortalPostgres
  readonly service: Service
  readonly sql: Sql
  /** The URL of the chain's node. */
  readonly node: { readonly variable: string; readonly rpcUrl: string }
  /** The node's method for signed transactions. */
  readonly sending: string
  /** The intents of one run. */
  readonly kinds: readonly IntentKind[]
  readonly signers: Signer[]
  /** How long a killed process may be away; usual times are listed more often. */
  readonly awayMs: readonly number[]
  /** Whether the last signed attempt of an intent is a cancel. */
  readonly hasCancel: boolean
  /** Adds a signer who has sent nothing yet. */
  readonly newSigner: () => Promise<Signer>
  readonly newRecipient: () => string
  /** The least that an empty account can receive, in base units. */
  readonly leastValue: bigint
  readonly requestOf: (intent: Intent) => { readonly path: string; readonly body: object }
  /** The encoding of a recipient in call data. */
  readonly wordOf: (recipient: string) => string
  /** Makes blocks, so that transactions can become final. */
  readonly endAll: () => Promise<void>
  /** Reads the new blocks. @returns everything that is mined by now. */
  readonly scan: () => Promise<readonly Mined[]>
  /** The number of a key's transactions: mined, and mined or in the pool. */
  readonly countsOf: (owner: string) => Promise<readonly number[]>
  /** How much the recipient has received; nobody else could have sent it. */
  readonly effectOf: (intent: Intent) => Promise<bigint>
  /** Reports wrong balances of signers, computed only from the blocks. */
  readonly troublesOfBalances: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}
