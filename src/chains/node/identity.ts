// A node is believed while it is of the right chain: an EVM network's has the right chain id, a Substrate network's the right
// genesis block. Behind its URL there may be another network's node, from the start (a
// mistake of the operator's) or from one request to the next (a load balancer). So:
// - what is asked for callers and for the tracker asks which chain it is in the same batch (`rpc`): no further round trip;
// - large answers (`bulk`) do that only where the node was not right within FRESH_MS, as nodes bound the size of a batch;
// - bytes are sent only to a node that was right within FRESH_MS (`outbound`): where it was not, it is asked first.
// A request that failed ends FRESH_MS: the next connection may lead elsewhere. A node that was wrong is asked again each
// time, so that nothing must be restarted when it is right again.

import type { Network } from '../../../db/words.ts'
import { type AnyQuestions, type AskOptions, NodeUnavailable, type Question, question, type Rpc, rpcOf } from './rpc.ts'

const FRESH_MS = 5_000

/** A node that is believed while it is of the right chain. Every question may throw NodeUnavailable, also as `wrong_chain`. */
export type IdentifiedNode<Id> = {
  readonly rpc: Rpc
  readonly bulk: Rpc
  readonly outbound: Rpc
  /** Asks now, and remembers. @throws NodeUnavailable, though not for a wrong answer. */
  readChainId(): Promise<Id>
  /**
   * For what is signed without a question to the node: the last answer counts, however old it is, and an old one is asked
   * for anew meanwhile. A node that never answered has not been wrong: what is signed is bound to our chain (EIP-155).
   * @returns null where there is nothing to wait for. @throws NodeUnavailable for a wrong chain, later.
   */
  confirm(): Promise<void> | null
}

/** Which chain a node is of, and must be of. */
export type Identity<Id> = {
  readonly question: Question<Id>
  readonly right: Id
  /** What the question is for: "chain id". */
  readonly word: string
}

/** Puts that between the client of a node and its callers. */
export const identified = <Id extends string | number>(input: {
  readonly plain: Rpc
  readonly network: Network
  readonly identity: Identity<Id>
  /** A clock that only goes forward, in milliseconds. */
  readonly nowMs?: () => number
}): IdentifiedNode<Id> => {
  const { plain, network, identity, nowMs = () => performance.now() } = input
  const { right, word } = identity
  const { method, params, parse } = identity.question
  let seen: 'nothing' | 'silence' | 'right' | 'wrong' = 'nothing'
  let freshUntilMs = 0
  let askAgainAtMs = 0
  let asking: Promise<Id> | null = null

  const isFresh = (): boolean => nowMs() < freshUntilMs

  const noted = (result: unknown): Id => {
    const answered = parse(result)
    seen = answered === right ? 'right' : 'wrong'
    freshUntilMs = seen === 'right' ? nowMs() + FRESH_MS : 0
    return answered
  }

  const assertRight = (answered: Id): void => {
    if (answered === right) return
    throw new NodeUnavailable(
      'wrong_chain',
      `The ${network} node answers for ${word} ${answered}, and must for ${right}.`,
    )
  }

  const whichChain = question(method, params, noted)
  const rightChain = question(method, params, (result) => assertRight(noted(result)))

  const send = async <const Q extends AnyQuestions>(questions: Q, options?: AskOptions) => {
    try {
      return await plain.tryAll(questions, options)
    } catch (error) {
      freshUntilMs = 0
      throw error
    }
  }

  const readChainId = (): Promise<Id> => {
    askAgainAtMs = nowMs() + FRESH_MS
    asking ??= send([whichChain])
      .then(([answer]) => plain.need(answer))
      .finally(() => {
        asking = null
      })
    return asking
  }

  const onSilence = (error: unknown): void => {
    if (seen === 'wrong') throw error
    if (seen === 'nothing') seen = 'silence'
  }

  const confirm = (): Promise<void> | null => {
    if (isFresh()) return null
    if (seen === 'nothing' || seen === 'wrong') return readChainId().then(assertRight, onSilence)
    // Whoever comes next is told if it is wrong by now.
    if (nowMs() >= askAgainAtMs) readChainId().catch(() => {})
    return null
  }

  return {
    rpc: rpcOf(network, (questions, options) => send(questions, { ...options, along: rightChain })),
    bulk: rpcOf(network, (questions, options) =>
      send(questions, isFresh() ? options : { ...options, along: rightChain }),
    ),
    outbound: rpcOf(network, async (questions, options) => {
      if (!isFresh()) assertRight(await readChainId())
      return send(questions, options)
    }),
    readChainId,
    confirm,
  }
}
