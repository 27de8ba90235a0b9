// Makes one node of all the nodes of a network. The operator's order is the order of preference: a question goes to the
// first node that is up and not behind, so that most answers come from one node and agree with each other.
//
// - If a node fails, or lacks the block that was asked about, the next one is asked within the same request. If it only
//   takes longer than usual, the next one is asked beside it, and the first answer counts.
// - Signed bytes go to all nodes at once.
// - While several nodes are in use, each is asked for its newest block from time to time. A node that is too far behind
//   the best one is asked after all other nodes.
// - Nodes that are resting or down come last: a moment is waited for them. The only node of a network is waited for if
//   it asked for a short pause; if it hangs, calls fail at once.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Network, NodeTrouble } from '../../../db/words.ts'
import type { Watch } from '../../platform/networks/network.ts'
import type { AroundCall, NodeState, Nodes, NodeView, Opinion } from '../nodes.ts'
import { createLag, createMember, type Member, type NodeFamily } from './member.ts'
import { createNewHeads } from './new-heads.ts'
import {
  type Answer,
  type AnyQuestions,
  type AskOptions,
  buildRpc,
  NodeUnavailable,
  RPC_TIMEOUT_MS,
  type Rpc,
  type RpcError,
} from './rpc.ts'

/** A request waits at most this long for nodes that are resting or down, when no other node is left. */
const COMES_BACK_WITHIN_MS = 2_000

/** Failures of the node; after any other one, another node would say the same. */
const OF_THE_NODE: ReadonlySet<NodeTrouble> = new Set(['unreachable', 'timeout', 'http', 'unreadable', 'wrong_chain'])

const isOfTheNode = (error: unknown): boolean => error instanceof NodeUnavailable && OF_THE_NODE.has(error.trouble)

export type NodePool = Omit<Nodes, 'opinions'> & {
  readonly rpc: Rpc
  /** For what is not taken back later (identity.ts). */
  readonly certain: Rpc
  readonly hasSeveral: boolean
  /** A client of each node, the best one first: signed bytes go to all. */
  outbounds(): readonly Rpc[]
  /**
   * With several nodes: a client of each one that is up and right. Of those that are behind, only while they still find
   * new blocks: another node may have lied about its head. Otherwise empty.
   */
  peers(): readonly Rpc[]
}

/** A node that is behind and has found no new block for this time has no vote any more: nothing would become final. */
const STUCK_AFTER_MS = 120_000

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
 * @param input.isLacking whether a node answered that it does not have what another one may have.
 */
const firstAnswer = async <Id>(
  [first, ...others]: readonly [Member<Id>, ...Member<Id>[]],
  input: {
    readonly ask: (member: Member<Id>) => Promise<Answers>
    readonly options: AskOptions | undefined
    readonly isLacking: (answers: Answers) => boolean
  },
): Promise<Answers> => {
  const { ask, options, isLacking } = input
  const asked = ask(first)
  if (!isSome(others)) return asked
  const outcome = await outcomeWithin(asked, first.health.patienceMs(options))
  const hasAnswered = outcome !== 'late' && 'answers' in outcome
  if (hasAnswered && !isLacking(outcome.answers)) return outcome.answers
  if (outcome !== 'late' && 'error' in outcome && !isOfTheNode(outcome.error)) throw outcome.error
  // It would say again that it lacks something.
  const left = hasAnswered ? others.filter((member) => member !== first) : others
  if (!isSome(left)) return asked
  const askedNext = firstAnswer(left, input)
  const complete = async (answers: Promise<Answers>): Promise<Answers> => {
    if (isLacking(await answers)) throw new Error('lacks what was asked for')
    return answers
  }
  return Promise.any([complete(asked), complete(askedNext)]).catch(() =>
    asked.catch(() => askedNext).catch(() => asked),
  )
}

const isSome = <One>(list: readonly One[]): list is readonly [One, ...One[]] => list.length > 0

const toSeconds = (milliseconds: number | null): number | null =>
  milliseconds === null ? null : Math.round(milliseconds / 1_000)

const SEEMS_WELL: ReadonlySet<NodeState> = new Set(['up', 'stalled', 'slow'])

/** Among nodes that may be asked: the better ones first. One that is stalled has no better one beside it. */
const RANKS: Readonly<Record<NodeState, number>> = {
  up: 0,
  stalled: 0,
  behind: 1,
  slow: 2,
  failing: 3,
  wrong_chain: 4,
  resting: 5,
  down: 6,
}

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
  /** Runs each call of a node, so that the caller can observe it. */
  readonly aroundCall?: AroundCall
}

type PoolInput<Id> = NodesInput & {
  readonly row: { readonly network: Network; readonly watch: Watch }
  readonly family: NodeFamily<Id>
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number
}

const listUrls = ({ rpcUrl, furtherRpcUrls = [] }: NodesInput): readonly string[] => [rpcUrl, ...furtherRpcUrls]

/** The members of a pool in order of preference, and how far each is behind. */
const createMembers = <Id extends string | number>(input: PoolInput<Id>) => {
  const { row, family, timeoutMs = RPC_TIMEOUT_MS, onNodeTrouble: report = () => {}, aroundCall } = input
  const { nowMs = () => performance.now() } = input
  const { network, watch } = row
  const rpcUrls = listUrls(input)
  const isOnly = rpcUrls.length === 1
  const lag = createLag()
  const shared = { isOnly, network, timeoutMs, family, report, onHead: lag.see, aroundCall, nowMs }
  const members = rpcUrls.map((rpcUrl, index) => createMember({ ...shared, rpcUrl, position: index + 1 }))
  let watchedAtMs = Number.NEGATIVE_INFINITY

  const behindMs = ({ head }: Member<Id>): number => lag.behindMs(head())

  const stateOf = (member: Member<Id>): NodeState => {
    const state = member.health.state()
    if (state !== 'up') return state
    if (behindMs(member) > watch.behindMs) return 'behind'
    const isStalled = watch.stalledAfterMs !== null && (member.headAgeMs() ?? 0) > watch.stalledAfterMs
    return isStalled ? 'stalled' : 'up'
  }

  const views = (): readonly NodeView[] =>
    members.map((member) => ({
      name: member.name,
      state: stateOf(member),
      height: member.head()?.number ?? null,
      headAgeSeconds: toSeconds(member.headAgeMs()),
      behindSeconds: Math.round(behindMs(member) / 1_000),
      latencyMs: member.health.latencyMs(),
      lastTrouble: member.health.lastTrouble(),
    }))

  return {
    all: members,
    stateOf,
    views,
    ranked: (): readonly Member<Id>[] => members.toSorted((one, other) => RANKS[stateOf(one)] - RANKS[stateOf(other)]),
    /** Looks at the heads of several nodes, if that was not done lately. */
    watch: (): void => {
      if (isOnly || nowMs() - watchedAtMs < watch.everyMs) return
      watchedAtMs = nowMs()
      for (const { health, isProbed, probe } of members) {
        if (health.refusal() === null && !isProbed()) probe().catch(() => {})
      }
    },
    look: async (): Promise<readonly NodeView[]> => {
      // What asked for a pause gets one: strangers may ask for looks (/readyz).
      const probes = await Promise.allSettled(
        members.map(({ health, probe }) => (health.restMs() > 0 ? null : probe())),
      )
      // One failure does not make a node `failing` for requests, but the caller who looks wants to see it.
      return views().map((view, index) =>
        probes[index]?.status === 'rejected' && SEEMS_WELL.has(view.state) ? { ...view, state: 'failing' } : view,
      )
    },
  }
}

type Members<Id extends string | number> = ReturnType<typeof createMembers<Id>>

const isRestingShortly = <Id>({ health }: Member<Id>): boolean =>
  health.state() === 'resting' && health.restMs() <= COMES_BACK_WITHIN_MS

/** Waits a moment for a member that is resting or down. If it does not come back, it refuses with its reason. */
const wake = async <Id>(member: Member<Id>, { isOnly }: { readonly isOnly: boolean }): Promise<void> => {
  const { health, probe } = member
  if (isRestingShortly(member)) await sleep(health.restMs() + 1)
  // The only node of a network is not waited for: everybody who calls while it hangs would wait.
  if (health.state() !== 'down' || isOnly) return
  const probed = probe().then(
    () => {},
    () => {},
  )
  await Promise.race([probed, sleep(COMES_BACK_WITHIN_MS, undefined, { ref: false })])
}

/** Providers' codes and words for "too many requests" as an answer to a question. */
const BUSY_CODES: readonly number[] = [429, -32_005, -32_029]
const BUSY = /rate.?limit|too many requests|request limit|capacity/i

const isBusy = ({ code, message }: RpcError): boolean => BUSY_CODES.includes(code) || BUSY.test(message)

/** The members that may be asked, better ones first. If there is none, all: each refuses by itself, with its reason. */
const readyOrAll = <Id extends string | number>({ ranked, all }: Members<Id>): readonly Member<Id>[] => {
  const ready = ranked().filter(({ health }) => health.refusal() === null)
  return isSome(ready) ? ready : all
}

/** Asks the members until one answers. Those that are resting or down come last. */
const askMembers = async <Id extends string | number>(
  { watch, ranked }: Members<Id>,
  input: Parameters<typeof firstAnswer<Id>>[1],
): Promise<Answers> => {
  watch()
  const all = ranked()
  if (!isSome(all)) throw new Error('a network without a node cannot be asked')
  try {
    // A second round: while one node was waited for in vain, another may have failed, and the first may be well.
    return await firstAnswer(all.length === 1 ? all : [...all, ...all], input)
  } catch (error) {
    // Perhaps one asked for a pause just now.
    const soon = all.filter(isRestingShortly)
    if (!isOfTheNode(error) || !isSome(soon)) throw error
    return firstAnswer(soon, input)
  }
}

/** Whether one of the members is of the right chain. @throws what the best member throws if none answers. */
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
  const isLackOfNode = (error: RpcError): boolean => !family.isRevert(error) && (isBusy(error) || family.isLack(error))
  const isLacking = (answers: Answers): boolean => answers.some((answer) => !answer.ok && isLackOfNode(answer.error))

  const report = (error: unknown): never => {
    if (error instanceof NodeUnavailable) onTrouble(error.trouble)
    throw error
  }

  const reporting = (tryAll: Rpc['tryAll']): Rpc =>
    buildRpc(input.row.network, (questions, options) => tryAll(questions, options).catch(report), onTrouble)

  const awake = (member: Member<Id>, way: 'rpc' | 'certain' | 'outbound'): Pick<Rpc, 'tryAll'> => ({
    tryAll: async (questions, options) => {
      if (member.health.refusal() !== null) await wake(member, { isOnly: !hasSeveral })
      return member.node[way].tryAll(questions, options)
    },
  })

  const rpcBy = (way: 'rpc' | 'certain'): Rpc => {
    const tryAll = (questions: AnyQuestions, options?: AskOptions): Promise<Answers> =>
      askMembers(members, { ask: (member) => awake(member, way).tryAll(questions, options), options, isLacking })
    // TypeScript cannot infer that each answer has the type of its question.
    return reporting(tryAll as Rpc['tryAll'])
  }

  const peers = (): readonly Rpc[] =>
    readyOrAll(members).flatMap((member) => {
      const state = members.stateOf(member)
      const judges = RANKS[state] === RANKS.up || (state === 'behind' && member.stillForMs() < STUCK_AFTER_MS)
      return judges ? [member.node.certain] : []
    })

  return {
    rpc: rpcBy('rpc'),
    certain: rpcBy('certain'),
    hasSeveral,
    outbounds: () => members.ranked().map((member) => reporting(awake(member, 'outbound').tryAll)),
    peers: hasSeveral ? peers : () => [],
    isRightNode: () => isAnyRight(readyOrAll(members), family.identity.right).catch(report),
    confirmNode: () => confirmAny(members.ranked())?.catch(report) ?? null,
    nextBlock: createNewHeads({ rpcUrls: listUrls(input), subscription: family.subscription }),
    stalledAfterMs: input.row.watch.stalledAfterMs,
    nodeViews: members.views,
    lookAtNodes: members.look,
    missingUses: () =>
      Promise.all(members.all.map(async ({ name, missingUses }) => ({ name, missing: await missingUses() }))),
  }
}

/** What a pool adds to a chain. */
export const joinNodes = (
  { rpc: _, certain: __, hasSeveral: ___, outbounds: ____, peers, ...nodes }: NodePool,
  opinionOf: (peer: Rpc) => Opinion,
): Nodes => ({ ...nodes, opinions: () => peers().map(opinionOf) })
