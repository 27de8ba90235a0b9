// Where a crash test takes place: a chain of one family with signers who have all that they need, as the world that sends and
// the account afterwards see it.

import type { Sql } from 'postgres'
import type { Network } from '../../db/words.ts'
import type { Service } from '../support/service.ts'

export type IntentKind = 'pay' | 'transfer' | 'mint' | 'mint with metadata'

/** One wish of a client. Nobody else has its recipient, so that what became of it can be seen on the chain. */
export type Intent = {
  readonly kind: IntentKind
  readonly signer: string
  readonly recipient: string
  readonly value: bigint
  /** null where the client sends none. */
  readonly idempotencyKey: string | null
  /** The transaction's id; null where the connection broke instead. */
  answer: string | null
}

/** A wallet, the address of its key, which is another one for a Safe, and the collection that it mints in, if any. */
export type Signer = { readonly address: string; readonly owner: string; readonly collection: string | null }

/** What the blocks have from our signers. */
export type Mined = {
  readonly hash: string
  readonly from: string
  readonly nonce: number
  readonly blockHash: string
}

/** When blocks come: with each transaction, or now and then with whatever is in the pool. */
export type Blocks = 'at once' | 'by clock'

export type Ground = {
  readonly network: Network
  readonly service: Service
  readonly sql: Sql
  /** Where the processes find the chain's node. */
  readonly node: { readonly variable: string; readonly rpcUrl: string }
  /** The method of a node that takes what is signed. */
  readonly sending: string
  /** What clients wish, in one run. */
  readonly kinds: readonly IntentKind[]
  readonly signers: Signer[]
  /** How long a process that was killed may be away, the usual more often. */
  readonly awayMs: readonly number[]
  /** Whether the last of all that is signed for an intent is a cancel. */
  readonly hasCancel: boolean
  /** One more among the signers, who has sent nothing yet. */
  readonly newSigner: () => Promise<Signer>
  readonly newRecipient: () => string
  /** Who has nothing yet takes no less, in base units. */
  readonly leastValue: bigint
  readonly requestOf: (intent: Intent) => { readonly path: string; readonly body: object }
  /** How it stands in a call that has it among its arguments. */
  readonly wordOf: (recipient: string) => string
  /** Lets come to an end what needs blocks for that. */
  readonly endAll: () => Promise<void>
  /** Reads the blocks that are new, and tells what is mined by now. */
  readonly scan: () => Promise<readonly Mined[]>
  /** Transactions of a key: mined, and mined or in the pool. */
  readonly countsOf: (owner: string) => Promise<readonly number[]>
  /** How much of it its recipient has: what nobody else could have given. */
  readonly effectOf: (intent: Intent) => Promise<bigint>
  /** What is wrong with the signers' balances, by the blocks alone. */
  readonly troublesOfBalances: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}
