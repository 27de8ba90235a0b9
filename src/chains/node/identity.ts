// Checks that a node belongs to the right chain: by its chain id (EVM) or its genesis block (Substrate). The node
// behind a URL may belong to another network, by an operator's mistake or, behind a load balancer, from one request to
// the next. So:
// - `certain` asks for the chain in each batch, without a further round trip. It is for what is not taken back later:
//   what becomes final or fails, where a follower stands, what is remembered for good, who logs in, whose address a
//   name has.
// - `rpc` asks in the same way, but only if the last right answer is older than FRESH_MS. It is for all else: previews,
//   lists, and what a transaction is made of, which its signature binds to our chain (EIP-155, the genesis block).
// - `outbound` (signed bytes) asks before sending if the last right answer is older than FRESH_MS.
// After a failed request the last answer no longer counts: the next connection may reach another node. A node of the
// wrong chain is asked again each time, so no restart is needed once it is right.

import type { Network } from '../../../db/words.ts'
import {
  type AnyQuestions,
  type AskOptions,
  buildRpc,
  NodeUnavailable,
  type Question,
  question,
  type Rpc,
} from './rpc.ts'

const FRESH_MS = 5_000

/** A node whose chain is checked. Every question may throw NodeUnavailable, also as `wrong_chain`. */
export type IdentifiedNode<Id> = {
  readonly rpc: Rpc
  readonly certain: Rpc
  readonly outbound: Rpc
  /** Asks for the chain now and remembers the answer. Does not throw for a wrong chain. */
  readChainId(): Promise<Id>
  /**
   * For signing without another question to the node: accepts the last answer at any age, and refreshes an old one in
   * the background. A node that never answered is accepted, because the signature is bound to our chain (EIP-155).
   * @returns null if there is nothing to wait for; otherwise a promise that rejects with NodeUnavailable for a wrong
   * chain.
   */
  confirm(): Promise<void> | null
}

/** How to ask a node for its chain, and the right answer. */
export type NodeIdentity<Id> = {
  readonly question: Question<Id>
  readonly right: Id
  /** What the answer is called in error texts: "chain id". */
  readonly word: string
}

export const identified = <Id extends string | number>(input: {
  readonly plain: Rpc
  readonly network: Network
  readonly identity: NodeIdentity<Id>
  /** A clock that only goes forward, in milliseconds. */
  readonly nowMs?: () => number
}): IdentifiedNode<Id> => {
  const { plain, network, identity, nowMs = () => performance.now() } = input
  const { right, word } = identity
  const { method, params, parse } = identity.question
  let lastAnswer: 'nothing' | 'silence' | 'right' | 'wrong' = 'nothing'
  let freshUntilMs = 0
  let askAgainAtMs = 0
  let asking: Promise<Id> | null = null

  const isFresh = (): boolean => nowMs() < freshUntilMs

  const recordAnswer = (result: unknown): Id => {
    const answered = parse(result)
    lastAnswer = answered === right ? 'right' : 'wrong'
    freshUntilMs = lastAnswer === 'right' ? nowMs() + FRESH_MS : 0
    return answered
  }

  const assertRight = (answered: Id): void => {
    if (answered === right) return
    throw new NodeUnavailable(
      'wrong_chain',
      `The ${network} node answers for ${word} ${answered}, and must for ${right}.`,
    )
  }

  const whichChain = question(method, params, recordAnswer)
  const rightChain = question(method, params, (result) => assertRight(recordAnswer(result)))

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
    if (lastAnswer === 'wrong') throw error
    if (lastAnswer === 'nothing') lastAnswer = 'silence'
  }

  const confirm = (): Promise<void> | null => {
    if (isFresh()) return null
    if (lastAnswer === 'nothing' || lastAnswer === 'wrong') return readChainId().then(assertRight, onSilence)
    // If the node is wrong by now, the next caller gets the error.
    if (nowMs() >= askAgainAtMs) readChainId().catch(() => {})
    return null
  }

  return {
    rpc: buildRpc(network, (questions, options) =>
      send(questions, isFresh() ? options : { ...options, along: rightChain }),
    ),
    certain: buildRpc(network, (questions, options) => send(questions, { ...options, along: rightChain })),
    outbound: buildRpc(network, async (questions, options) => {
      if (!isFresh()) assertRight(await readChainId())
      return send(questions, options)
    }),
    readChainId,
    confirm,
  }
}
