// The nodes behind a network.

import type { NodeTrouble } from '../../db/words.ts'
import type { Head } from './blocks.ts'
import type { Delivery } from './delivery.ts'
import type { NextBlockInput } from './node/new-heads.ts'
import type { Submission } from './submission.ts'

/**
 * How a node of a network is. `behind`: too far behind the best one. `stalled`: its newest block is too old, and no
 * other node has a newer one. `slow`: a question waits longer than usual. `failing`: it failed several times in a row.
 * `resting`: it asked for a pause. `down`: it does not answer.
 */
export const NODE_STATES = ['up', 'behind', 'stalled', 'slow', 'failing', 'wrong_chain', 'resting', 'down'] as const
export type NodeState = (typeof NODE_STATES)[number]

export type NodeView = {
  /** Its position and host: `1 (node.example.com)`. */
  readonly name: string
  readonly state: NodeState
  /** Its newest block when it was last asked; null before that. */
  readonly height: bigint | null
  /** How old that block was then, by its own time, or for how long it had been the newest if that is longer. */
  readonly headAgeSeconds: number | null
  /** For how long another node has had a block that this one did not have when it was last asked. */
  readonly behindSeconds: number
  /** The moving average of the time of an answer; null before the first. */
  readonly latencyMs: number | null
  readonly lastTrouble: { readonly trouble: NodeTrouble; readonly at: Date } | null
}

/** Runs a call of a node. @param call.node its name in the pool. */
export type AroundCall = <Result>(
  call: { readonly node: string; readonly methods: readonly string[] },
  run: () => Promise<Result>,
) => Promise<Result>

/** What nodes are used for, and the methods of which one is enough for it. */
export type NodeUse = {
  readonly what: string
  readonly methods: readonly string[]
  /** Whether the network does not work without it. */
  readonly isNeeded: boolean
}

/** A method without which the network does not work. */
export const usedAlways = (method: string): NodeUse => ({ what: 'every request', methods: [method], isNeeded: true })

/** What one node says. */
export type Opinion = Pick<Delivery, 'statuses'> & Pick<Submission, 'transactionCountAt'> & { head(): Promise<Head> }

export type Nodes = {
  /** Whether one of the nodes says that it belongs to this chain. */
  isRightNode(): Promise<boolean>
  /**
   * Checks that the node is of the right chain. Call it before signing something for which no other request goes to the
   * node.
   * @returns null if there is nothing to wait for; otherwise a promise that rejects with node_unavailable or
   * wrong_chain.
   */
  confirmNode(): Promise<void> | null
  /** Waits until a node with a WebSocket URL announces a new block, or until the time is over. */
  nextBlock(wait: NextBlockInput): Promise<void>
  /** A node is stalled if its newest block is older; null where blocks come only with transactions. */
  readonly stalledAfterMs: number | null
  /** How each node was when it was last asked. Sends nothing. */
  nodeViews(): readonly NodeView[]
  /** Asks each node how it is. Does not throw for nodes that do not answer. */
  lookAtNodes(): Promise<readonly NodeView[]>
  /** Asks each node for what it cannot be used, by its name; null if it does not answer. */
  missingUses(): Promise<readonly { readonly name: string; readonly missing: readonly NodeUse[] | null }[]>
  /**
   * With several nodes: what each one says that is up and right, the best one first. One that is behind is among them
   * while it still finds new blocks. With a single node there is no second opinion, and this is empty.
   */
  opinions(): readonly Opinion[]
}
