// All networks of a deployment. This is the only file that knows how to create the chain of a family.

import type { Network } from '../../db/words.ts'
import type { NetworkRow } from '../platform/networks.ts'
import type { Chain, ChainMemory, NodelessChain } from './chain.ts'
import { createNodelessEvmChain } from './evm/nodeless.ts'
import type { NodesInput } from './node/pool.ts'
import { provided } from './provided.ts'
import type { SubstrateChainInput } from './substrate/node.ts'
import { createNodelessSubstrateChain } from './substrate/nodeless.ts'

export type Chains = {
  /** A network on which this deployment creates wallets. */
  get(network: Network): NodelessChain
  /** A network with a node. */
  withNode(network: Network): Chain
  /** Any known network, with or without a node. @throws not_implemented */
  of(network: Network): NodelessChain
  /** The networks with a node, in configuration order. */
  readonly all: readonly Chain[]
  /** The networks on which wallets are created, in configuration order. Substrate networks need no node for that. */
  readonly served: readonly NodelessChain[]
  /** All known networks, in configuration order. */
  readonly known: readonly NodelessChain[]
}

export type HasChains = { readonly chains: Chains }

/** The nodes of a network, as its operator configured them. */
export type NodeInput = NodesInput & Pick<SubstrateChainInput, 'metadataPins'>

const nodelessOf = (row: NetworkRow): NodelessChain =>
  row.family === 'evm' ? createNodelessEvmChain(row) : createNodelessSubstrateChain(row)

/** A family is loaded with its first node: each takes a good part of the time in which a process starts. */
const chainOf = async (row: NetworkRow, node: NodeInput & { readonly memory: ChainMemory }): Promise<Chain> =>
  row.family === 'evm'
    ? (await import('./evm/chain.ts')).createEvmChain({ ...node, row })
    : (await import('./substrate/chain.ts')).createSubstrateChain({ ...node, row })

/**
 * Creates the chains. It opens no connection; each chain connects at its first request.
 * @param input.nodeOf null for a network without a node
 */
export const createChains = async (input: {
  readonly rows: readonly NetworkRow[]
  readonly memory: ChainMemory
  nodeOf(network: Network): NodeInput | null
}): Promise<Chains> => {
  const { rows, memory, nodeOf } = input
  const withNode = new Map<Network, Chain>()
  const known = new Map<Network, NodelessChain>()
  for (const row of rows) {
    const node = nodeOf(row.network)
    const chain = node === null ? null : await chainOf(row, { ...node, memory })
    if (chain !== null) withNode.set(row.network, chain)
    known.set(row.network, chain ?? nodelessOf(row))
  }
  const served = new Map([...known].filter(([network, { family }]) => family === 'substrate' || withNode.has(network)))
  const oneOf =
    <One>(chains: ReadonlyMap<Network, One>) =>
    (network: Network): One => {
      const problem = served.has(network) ? 'has no node in' : 'is not served by'
      return provided(chains.get(network), `${network} ${problem} this deployment.`)
    }
  return {
    get: oneOf(served),
    withNode: oneOf(withNode),
    of: oneOf(known),
    all: [...withNode.values()],
    served: [...served.values()],
    known: [...known.values()],
  }
}
