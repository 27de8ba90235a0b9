import type { Network } from '../../../db/words.ts'
import type { IdentifiedNode } from './identity.ts'
import { type NodeTrouble, NodeUnavailable, type Rpc, rpcOf } from './rpc.ts'

/** Reports each failure of a node to a callback. Callers still get the failure. */
export const withTroubleReported = <Id>(
  { network, node }: { readonly network: Network; readonly node: IdentifiedNode<Id> },
  onTrouble: (trouble: NodeTrouble) => void,
): IdentifiedNode<Id> => {
  const report = (error: unknown): never => {
    if (error instanceof NodeUnavailable) onTrouble(error.trouble)
    throw error
  }
  const reporting = (rpc: Rpc): Rpc =>
    rpcOf(network, (questions, options) => rpc.tryAll(questions, options).catch(report), onTrouble)
  return {
    rpc: reporting(node.rpc),
    bulk: reporting(node.bulk),
    outbound: reporting(node.outbound),
    readChainId: () => node.readChainId().catch(report),
    confirm: () => node.confirm()?.catch(report) ?? null,
  }
}
