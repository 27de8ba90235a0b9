// Makes one node of all the nodes of a network. The operator's order is the order of preference: a question goes to the first
// node that is up and not behind, so that most answers come from one node and agree with each other.
//
// - If a node fails, or lacks the block that was asked about, the next one is asked within the same request. If it only takes
//   longer than usual, the next one is asked beside it, and the first answer counts.
// - Signed bytes go to all nodes at once.
// - While several nodes are in use, each is asked for its newest block from time to time. A node that is too far behind the best
//   one is asked after the others.
// - If no node can take a question, the call fails at once; only a short pause that a node asked for is waited for.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '../../../db/words.ts'
import type { Nodes, NodeView, Opinion } from '../nodes.ts'
import { createMember, type Member, type NodeFamily } from './member.ts'
import {
  type Answer,
  type AnyQuestions,
  type AskOptions,
  type NodeTrouble,
  NodeUnavailable,
  RPC_TIMEOUT_MS,
  type Rpc,
  type RpcError,
  rpcOf,
} from './rpc.ts'

/** When a node is behind, and how often that is looked at. */
export type Watch = {
  readonly everyMs: number
  /** A node is behind if its newest block is older than the best node's by more than this, */
  readonly behindMs: number
  /** and lower by more than this. */
  readonly behindBlocks: bigint
}

/** A request waits at most this long for nodes that are resting or down, when there is no other. */
const COMES_BACK_WITHIN_MS = 2_000

/** Failures of the node; after any other one, another node would say the same. */
const OF_THE_NODE: ReadonlySet<NodeTrouble> = new Set(['unreachable', 'timeout', 'http', 'unreadable', 'wrong_chain'])

const isOfTheNode = (error: unknown): boolean => error instanceof NodeUnavailable && OF_THE_NODE.has(error.trouble)

export type NodePool = Omit<Nodes, 'opinions'> & {
  readonly rpc: Rpc
  /** For large answers. */
  readonly bulk: Rpc
  readonly hasSeveral: boolean
  /** A client of each node that may be asked now, best first: signed bytes go to all. At least one. */
  outbounds(): readonly Rpc[]
  /** With several nodes: a client of each one that is up, right and not behind. Otherwise empty. */
  peers(): readonly Rpc[]
}

type Answers = readonly Answer<unknown>[]

/** The promise's outcome, or `late` if it takes longer. */
const outcomeWithin = async (
  asked: Promise<Answers>,
  limitMs: number,
): Promise<{ readonly answers: Answers } | { readonly error: unknown } | 'late'> => {
  const { promise: late, resolve } = Promise.withResolvers<'late'>()
  const timer = setTimeout(resolve, limitMs, 'late')
  const outcome = asked.then(
    (answers) => ({ answers }),
    (error: unknown) => ({ error }),
  )
  return Promise.race([outcome, late]).finally(() => clearTimeout(timer))
}

/**
 * Asks the first member; if it fails or lacks something, the next one, and if it is late, the next one beside it.
 * @param input.lacks whether a node answered that it does not have what another one may have.
 */
const firstAnswer = async <Id>(
  [first, ...others]: readonly [Member<Id>, ...Member<Id>[]],
  input: {
    readonly ask: (member: Member<Id>) => Promise<Answers>
    readonly options: AskOptions | undefined
    readonly lacks: (answers: Answers) => boolean
  },
): Promise<Answers> => {
  const { ask, options, lacks } = input
  const asked = ask(first)
  if (!isSome(others)) return asked
  const outcome = await outcomeWithin(asked, first.health.patienceMs(options))
  if (outcome !== 'late' && 'answers' in outcome && !lacks(outcome.answers)) return outcome.answers
  if (outcome !== 'late' && 'error' in outcome && !isOfTheNode(outcome.error)) throw outcome.error
  const askedNext = firstAnswer(others, input)
  const complete = async (answers: Promise<Answers>): Promise<Answers> => {
    if (lacks(await answers)) throw new Error('lacks what was asked for')
    return answers
  }
  return Promise.any([complete(asked), complete(askedNext)]).catch(() =>
    asked.catch(() => askedNext).catch(() => asked),
  )
}

const isSome = <One>(list: readonly One[]): list is readonly [One, ...One[]] => list.length > 0

/** Among nodes that may be asked: the better ones first. */
const RANKS = { up: 0, behind: 1, slow: 2, failing: 3, wrong_chain: 4, resting: 5, down: 6 } as const

/** The nodes of a network, as its operator configured them. */
export type NodesInput = {
  readonly rpcUrl: string
  /** Further nodes of the network, in the order of preference. */
  readonly furtherRpcUrls?: readonly string[]
  /** The time limit for an answer; logs, blocks and traces have a longer one. */
  readonly timeoutMs?: number
  /** Called for each failure that callers get. */
  readonly onTrouble?: (trouble: NodeTrouble) => void
  /** Called for each failure of one node, also if another one then answered. */
  readonly onNodeTrouble?: (node: string, trouble: NodeTrouble) => void
}

type PoolInput<Id> = NodesInput & {
  readonly row: { readonly network: Network; readonly watch: Watch }
  readonly family: NodeFamily<Id>
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number
}

/** The members of a pool in order of preference, and how far each is behind. */
const createMembers = <Id extends string | number>(input: PoolInput<Id>) => {
  const { row, family, timeoutMs = RPC_TIMEOUT_MS, onNodeTrouble: tell = () => {} } = input
  const { nowMs = () => performance.now() } = input
  const { network, watch } = row
  const rpcUrls = [input.rpcUrl, ...(input.furtherRpcUrls ?? [])]
  const isOnly = rpcUrls.length === 1
  const members = rpcUrls.map((rpcUrl, index) =>
    createMember({ rpcUrl, position: index + 1, isOnly, network, timeoutMs, family, tell, nowMs }),
  )
  let watchedAtMs = Number.NEGATIVE_INFINITY

  const behindMs = (member: Member<Id>): number => {
    const own = member.head()
    if (own === null) return 0
    const most = members.reduce((best, { head }) => {
      const other = head()
      return other !== null && other.number > best.number ? other : best
    }, own)
    return most.number - own.number > watch.behindBlocks ? Math.max(most.timestampMs - own.timestampMs, 0) : 0
  }

  const stateOf = (member: Member<Id>): keyof typeof RANKS => {
    const standing = member.health.standing()
    return standing === 'up' && behindMs(member) > watch.behindMs ? 'behind' : standing
  }

  const views = (): readonly NodeView[] =>
    members.map((member) => ({
      name: member.name,
      state: stateOf(member),
      height: member.head()?.number ?? null,
      behindSeconds: Math.round(behindMs(member) / 1_000),
      latencyMs: member.health.latencyMs(),
      lastTrouble: member.health.lastTrouble(),
    }))

  return {
    all: members,
    stateOf,
    views,
    ranked: () => members.toSorted((one, other) => RANKS[stateOf(one)] - RANKS[stateOf(other)]),
    /** Looks at the heads of several nodes, if that was not done lately. */
    watch: (): void => {
      if (isOnly || nowMs() - watchedAtMs < watch.everyMs) return
      watchedAtMs = nowMs()
      for (const { health, isProbed, probe } of members) {
        if (health.refusal() === null && !isProbed()) probe().catch(() => {})
      }
    },
    look: async (): Promise<readonly NodeView[]> => {
      const probes = await Promise.allSettled(members.map(({ probe }) => probe()))
      // One failure does not make a node `failing` for requests, but whoever looks wants to see it.
      return views().map((view, index) =>
        probes[index]?.status === 'rejected' && (view.state === 'up' || view.state === 'slow')
          ? { ...view, state: 'failing' }
          : view,
      )
    },
  }
}

type Members<Id> = {
  readonly all: readonly Member<Id>[]
  ranked(): readonly Member<Id>[]
  stateOf(member: Member<Id>): NodeView['state']
  watch(): void
}

/** Waits a moment for members that are resting or down. @returns those that may be asked by then. */
const cameBack = async <Id>(
  members: readonly Member<Id>[],
  { isOnly }: { readonly isOnly: boolean },
): Promise<readonly Member<Id>[]> => {
  const waits = members.map(async ({ health, probe }) => {
    const restMs = health.restMs()
    if (health.standing() === 'resting' && restMs <= COMES_BACK_WITHIN_MS) return void (await sleep(restMs + 1))
    // The only node of a network is not waited for: whoever calls would wait each time while it hangs.
    if (health.standing() === 'down' && !isOnly) return void (await probe())
    throw new Error('not soon')
  })
  await Promise.race([Promise.any(waits).catch(() => {}), sleep(COMES_BACK_WITHIN_MS, undefined, { ref: false })])
  return members.filter(({ health }) => health.refusal() === null)
}

/** Providers' codes and words for "too many requests" as an answer to a question. */
const BUSY_CODES: readonly number[] = [429, -32_005, -32_029]
const BUSY = /rate.?limit|too many requests|request limit|capacity/i

const isBusy = ({ code, message }: RpcError): boolean => BUSY_CODES.includes(code) || BUSY.test(message)

/** The members that may be asked, better ones first. If there is none, all: each refuses by itself, with its reason. */
const readyOrAll = <Id>({ ranked, all }: Members<Id>): readonly Member<Id>[] => {
  const ready = ranked().filter(({ health }) => health.refusal() === null)
  return isSome(ready) ? ready : all
}

/** Asks the members until one answers. */
const askMembers = async <Id>(members: Members<Id>, input: Parameters<typeof firstAnswer<Id>>[1]): Promise<Answers> => {
  members.watch()
  const now = readyOrAll(members)
  if (!isSome(now)) throw new Error('a network without a node cannot be asked')
  try {
    return await firstAnswer(now, input)
  } catch (error) {
    if (!isOfTheNode(error)) throw error
    const away = members.all.filter(({ health }) => health.refusal() !== null)
    const back = await cameBack(away, { isOnly: members.all.length === 1 })
    if (!isSome(back)) throw error
    return firstAnswer(back, input)
  }
}

/** Whether one of the members says that it is of the right chain. @throws what the best member throws if none answers. */
const isAnyRight = async <Id>(members: readonly Member<Id>[], right: Id): Promise<boolean> => {
  const asked = members.map(async ({ node }) => (await node.readChainId()) === right)
  const rightOnes = asked.map(async (answer) => {
    if (!(await answer)) throw new Error('another chain')
    return true
  })
  return Promise.any(rightOnes)
    .catch(() => Promise.any(asked))
    .catch(() => asked[0] ?? false)
}

/** The confirmation of the first member, and if that is of the wrong chain, of the next. */
const confirmAny = <Id>([first, ...others]: readonly Member<Id>[]): Promise<void> | null => {
  const confirmed = first?.node.confirm() ?? null
  if (confirmed === null || others.length === 0) return confirmed
  return confirmed.catch(() => confirmAny(others) ?? undefined)
}

/** Creates the node of a network. It connects at the first question. */
export const createNodePool = <Id extends string | number>(input: PoolInput<Id>): NodePool => {
  const { family, onTrouble = () => {} } = input
  const members = createMembers(input)
  const hasSeveral = members.all.length > 1
  const lacks = (answers: Answers): boolean =>
    answers.some((answer) => !answer.ok && (isBusy(answer.error) || family.isLack(answer.error)))

  const report = (error: unknown): never => {
    if (error instanceof NodeUnavailable) onTrouble(error.trouble)
    throw error
  }

  const reporting = (tryAll: Rpc['tryAll']): Rpc =>
    rpcOf(input.row.network, (questions, options) => tryAll(questions, options).catch(report), onTrouble)

  const rpcBy = (way: 'rpc' | 'bulk'): Rpc => {
    const tryAll = (questions: AnyQuestions, options?: AskOptions): Promise<Answers> =>
      askMembers(members, { ask: ({ node }) => node[way].tryAll(questions, options), options, lacks })
    // TypeScript cannot infer that each answer has the type of its question.
    return reporting(tryAll as Rpc['tryAll'])
  }

  const peers = (): readonly Rpc[] =>
    readyOrAll(members).flatMap((member) => (members.stateOf(member) === 'up' ? [member.node.rpc] : []))

  return {
    rpc: rpcBy('rpc'),
    bulk: rpcBy('bulk'),
    hasSeveral,
    outbounds: () => readyOrAll(members).map(({ node }) => reporting(node.outbound.tryAll)),
    peers: hasSeveral ? peers : () => [],
    isRightNode: () => isAnyRight(readyOrAll(members), family.identity.right).catch(report),
    confirmNode: () => confirmAny(members.ranked())?.catch(report) ?? null,
    nodeViews: members.views,
    lookAtNodes: members.look,
  }
}

/** What a pool adds to a chain. */
export const nodesOf = (
  { isRightNode, confirmNode, nodeViews, lookAtNodes, peers }: NodePool,
  opinionOf: (peer: Rpc) => Opinion,
): Nodes => ({ isRightNode, confirmNode, nodeViews, lookAtNodes, opinions: () => peers().map(opinionOf) })
