// One node of a network's pool: its client, its health, and its newest block.

import type { Network, NodeTrouble } from '../../../db/words.ts'
import type { AroundCall, NodeUse } from '../nodes.ts'
import { createHealth, type Health } from './health.ts'
import { type IdentifiedNode, identified, type NodeIdentity } from './identity.ts'
import type { Subscription } from './new-heads.ts'
import { type AskOptions, createRpc, question, type Rpc, type RpcError } from './rpc.ts'
import { unlessUnavailable } from './wire.ts'

/** The newest block of a node. */
type NodeHead = { readonly number: bigint; readonly timestampMs: number }
/** `readAtMs`: on the monotonic clock. `ageMs`: how old it was then, by its own time and the host's clock. */
type ReadHead = NodeHead & { readonly readAtMs: number; readonly ageMs: number }

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
  /** How old its newest block was at the last look: by its own time, or by when it came if that is longer ago. */
  headAgeMs(): number | null
  /** Asks for the newest block now. */
  probe(): Promise<ReadHead>
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
    const asked = node.certain.tryAll(methods.map((method) => question(method, [], () => null)))
    const answers = await unlessUnavailable(asked)
    if (answers === null) return null
    const missing = methods.filter((_, index) => {
      const answer = answers[index]
      return answer?.ok === false && family.isMethodMissing(answer.error)
    })
    return family.uses.filter((use) => use.methods.every((method) => missing.includes(method)))
  }
  const stillForMs = () => (head === null ? 0 : head.readAtMs - risenAtMs)
  const headAgeMs = () => (head === null ? null : Math.max(head.ageMs, stillForMs(), 0))
  const isProbed = () => probes > 0
  return { name, node, health, head: () => head, stillForMs, headAgeMs, probe, isProbed, missingUses }
}

/** More than the newest heights are not needed: a node that is below all of them is far behind. */
const KEPT_MAX = 100

/** Heads that are only a few blocks apart, by their times, are not behind: a chain may pause between two blocks. */
const FEW_BLOCKS = 3n

/**
 * How far nodes of one network are behind the best of them: for how long another one has had a block that they do not
 * have, or, at the first look, by how much their newest block is older.
 */
export const createLag = () => {
  /** Heights of the best node, with the time at which each was seen first; rising. */
  const reached: ReadHead[] = []
  return {
    see: (head: ReadHead): void => {
      const best = reached.at(-1)
      if (best !== undefined && head.number <= best.number) return
      reached.push(head)
      if (reached.length > KEPT_MAX) reached.shift()
    },
    behindMs: (own: ReadHead | null): number => {
      const best = reached.at(-1)
      if (own === null || best === undefined || own.number >= best.number) return 0
      const lacked = reached.find(({ number }) => number > own.number) ?? best
      const olderMs = best.number - own.number > FEW_BLOCKS ? best.timestampMs - own.timestampMs : 0
      return Math.max(own.readAtMs - lacked.readAtMs, olderMs, 0)
    },
  }
}
