// All networks of a deployment, each with what it can do here. The only place that knows how a family is built.

import type { ChainFamily, Network } from '../../db/words.ts'
import type { Chain, ChainMemory, NodelessChain } from './chain.ts'
import { createEvmChain } from './evm/chain.ts'
import { createNodelessEvmChain } from './evm/nodeless.ts'
import type { NetworkRow } from './networks.ts'
import type { NodeTrouble } from './node/rpc.ts'
import { provided } from './provided.ts'
import { createSubstrateChain } from './substrate/chain.ts'
import type { SubstrateChainInput } from './substrate/node.ts'
import { createNodelessSubstrateChain } from './substrate/nodeless.ts'

export type Chains = {
  /** For keys and addresses. @throws not_implemented for a network on which no wallets are made here. */
  get(network: Network): NodelessChain
  /** For what a node must answer. @throws not_implemented for a network without one. */
  withNode(network: Network): Chain
  /** What is alike without a node, for any network. @throws not_implemented for one that is not known here. */
  of(network: Network): NodelessChain
  /** Any network of a family, for what is alike on all of them: the forms of addresses, and the messages of keys. */
  ofFamily(family: ChainFamily): NodelessChain
  /** Those with a node, in the order of the list of networks. */
  readonly all: readonly Chain[]
  /** Those on which wallets are made, likewise. A Substrate network needs no node for that. */
  readonly served: readonly NodelessChain[]
  /** All networks, likewise. */
  readonly known: readonly NodelessChain[]
}

/** The node of a network, as its operator configured it. */
export type NodeInput = {
  readonly rpcUrl: string
  readonly timeoutMs: number
  readonly onTrouble: (trouble: NodeTrouble) => void
} & Pick<SubstrateChainInput, 'metadataPins' | 'secondRpcUrl'>

const nodelessOf = (row: NetworkRow): NodelessChain =>
  row.family === 'evm' ? createNodelessEvmChain(row) : createNodelessSubstrateChain(row)

const chainOf = (row: NetworkRow, node: NodeInput & { readonly memory: ChainMemory }): Chain =>
  row.family === 'evm' ? createEvmChain({ ...node, row }) : createSubstrateChain({ ...node, row })

/**
 * Free of keys; nothing is connected to before it is asked something.
 * @param input.nodeOf null for a network without a node
 */
export const createChains = (input: {
  readonly rows: readonly NetworkRow[]
  readonly memory: ChainMemory
  nodeOf(network: Network): NodeInput | null
}): Chains => {
  const { rows, memory, nodeOf } = input
  const withNode = new Map<Network, Chain>()
  const known = new Map<Network, NodelessChain>()
  for (const row of rows) {
    const node = nodeOf(row.network)
    const chain = node === null ? null : chainOf(row, { ...node, memory })
    if (chain !== null) withNode.set(row.network, chain)
    known.set(row.network, chain ?? nodelessOf(row))
  }
  const served = new Map([...known].filter(([network, { family }]) => family === 'substrate' || withNode.has(network)))
  const oneOf =
    <One>(chains: ReadonlyMap<Network, One>) =>
    (network: Network): One => {
      const lacks = served.has(network) ? 'has no node in' : 'is not served by'
      return provided(chains.get(network), `${network} ${lacks} this deployment.`)
    }
  return {
    get: oneOf(served),
    withNode: oneOf(withNode),
    of: oneOf(known),
    ofFamily: (family) =>
      provided(
        [...known.values()].find((chain) => chain.family === family),
        `No network of the family ${family} is known here.`,
      ),
    all: [...withNode.values()],
    served: [...served.values()],
    known: [...known.values()],
  }
}
