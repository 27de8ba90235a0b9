// One node of a network's pool: its client, its health, and its newest block.

import type { Network, NodeTrouble } from '../../../db/words.ts'
import type { AroundCall, NodeUse } from '../nodes.ts'
import { createHealth, type Health } from './health.ts'
import { type IdentifiedNode, identified, type NodeIdentity } from './identity.ts'
import type { Subscription } from './new-heads.ts'
import { type AskOptions, createRpc, NodeUnavailable, question, type Rpc, type RpcError } from './rpc.ts'

/** The newest block of a node. */
type NodeHead = { readonly number: bigint; readonly timestampMs: number }
/** `readAtMs`: on the monotonic clock. `ageMs`: how old it was then, by its own time and the host's clock. */
export type ReadHead = NodeHead & { readonly readAtMs: number; readonly ageMs: number }

/** The family's questions about a node. */
export type NodeFamily<Id> = {
  readonly identity: NodeIdentity<Id>
  readonly subscription: Subscription
  readonly readHead: (rpc: Rpc, options: AskOptions) => Promise<NodeHead>
  /** Whether an error has the words of a contract that was called, and not of the node. */
  readonly isRevert: (error: RpcError) => boolean
  /** Whether a refusal says that the node lacks a block or its state. Another node may have it. */
  readonly isLack: (error: RpcError) => boolean
  readonly uses: readonly NodeUse[]
  readonly isMethodMissing: (error: RpcError) => boolean
}

export type Member<Id> = {
  /** Its position and host: `1 (node.example.com)`. A path, query or user may be a secret, so they are never shown. */
  readonly name: string
  readonly node: IdentifiedNode<Id>
  readonly health: Health
  /** null before the first answer. */
  head(): ReadHead | null
  /** For how long no look has found a new block; 0 before the second look. */
  stillForMs(): number
  /** The age of its newest block at the last look: by its own time, or for how long it was the newest if that is longer. */
  headAgeMs(): number | null
  /** Asks for the newest block now. */
  probe(): Promise<ReadHead>
  /** Whether a probe waits for its answer. */
  isProbed(): boolean
  /** The uses for which the node has none of the methods, or null if it does not answer. */
  missingUses(): Promise<readonly NodeUse[] | null>
}

export const createMember = <Id extends string | number>(input: {
  readonly rpcUrl: string
  readonly position: number
  readonly isOnly: boolean
  readonly network: Network
  readonly timeoutMs: number
  readonly family: NodeFamily<Id>
  readonly report: (node: string, trouble: NodeTrouble) => void
  readonly onHead: (head: ReadHead) => void
  readonly aroundCall: AroundCall | undefined
  readonly nowMs: () => number
}): Member<Id> => {
  const { rpcUrl, network, timeoutMs, family, aroundCall } = input
  const name = `${input.position} (${new URL(rpcUrl).hostname})`
  let head: ReadHead | null = null
  let risenAtMs = input.nowMs()
  let probes = 0

  const probe = async (): Promise<ReadHead> => {
    probes += 1
    try {
      const newest = await family.readHead(node.certain, { isProbe: true })
      const found = { ...newest, readAtMs: input.nowMs(), ageMs: Date.now() - newest.timestampMs }
      if (head === null || found.number > head.number) risenAtMs = found.readAtMs
      head = found
      input.onHead(found)
      return found
    } finally {
      probes -= 1
    }
  }

  const health = createHealth({
    ...input,
    plain: createRpc({
      rpcUrl,
      network,
      timeoutMs,
      ...(aroundCall && { around: (methods, run) => aroundCall({ node: name, methods }, run) }),
    }),
    probe,
    report: (trouble) => input.report(name, trouble),
  })
  const node = identified({ plain: health.rpc, network, identity: family.identity, nowMs: input.nowMs })
  /** Asks without parameters: a node that has a method refuses that, or has nothing to do. */
  const missingUses = async (): Promise<readonly NodeUse[] | null> => {
    const methods = family.uses.flatMap((use) => use.methods)
    try {
      const answers = await node.certain.tryAll(methods.map((method) => question(method, [], () => null)))
      const missing = methods.filter((_, index) => {
        const answer = answers[index]
        return answer?.ok === false && family.isMethodMissing(answer.error)
      })
      return family.uses.filter((use) => use.methods.every((method) => missing.includes(method)))
    } catch (error) {
      if (error instanceof NodeUnavailable) return null
      throw error
    }
  }
  const stillForMs = () => (head === null ? 0 : head.readAtMs - risenAtMs)
  const headAgeMs = () => (head === null ? null : Math.max(head.ageMs, stillForMs(), 0))
  const isProbed = () => probes > 0
  return { name, node, health, head: () => head, stillForMs, headAgeMs, probe, isProbed, missingUses }
}
