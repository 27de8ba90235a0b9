import type { IdentifiedNode } from './identity.ts'
import { type NodeTrouble, NodeUnavailable, type Rpc } from './rpc.ts'

/** Reports each failure of a node to a callback. Callers still get the failure. */
export const withTroubleReported = <Id>(
  node: IdentifiedNode<Id>,
  tell: (trouble: NodeTrouble) => void,
): IdentifiedNode<Id> => {
  const told = (error: unknown): never => {
    if (error instanceof NodeUnavailable) tell(error.trouble)
    throw error
  }
  const telling = (rpc: Rpc): Rpc => ({
    tryAll: (questions, options) => rpc.tryAll(questions, options).catch(told),
    askAll: (questions, options) => rpc.askAll(questions, options).catch(told),
    try: (question, options) => rpc.try(question, options).catch(told),
    ask: (question, options) => rpc.ask(question, options).catch(told),
    need: (answer) => {
      try {
        return rpc.need(answer)
      } catch (error) {
        return told(error)
      }
    },
    refusal: (error) => {
      const refused = rpc.refusal(error)
      tell(refused.trouble)
      return refused
    },
  })
  return {
    rpc: telling(node.rpc),
    bulk: telling(node.bulk),
    outbound: telling(node.outbound),
    readChainId: () => node.readChainId().catch(told),
    confirm: () => node.confirm()?.catch(told) ?? null,
  }
}
