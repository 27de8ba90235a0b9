// A Substrate network's node, as the verbs of this folder share it.

import type { ChainMemory, Hex } from '../chain.ts'
import type { SubstrateNetworkRow } from '../networks.ts'
import { type IdentifiedNode, identified } from '../node/identity.ts'
import { createRpc, type NodeTrouble, question } from '../node/rpc.ts'
import { withTroubleTold } from '../node/trouble.ts'
import { hash } from '../node/wire.ts'
import { createEras, type Eras } from './eras.ts'
import { createRuntimes, type MetadataPins, type Runtimes } from './runtime.ts'
import { createTrust, type Trust } from './trust.ts'

/** A network as data, the node that serves it, and what is remembered of it between processes. */
export type SubstrateChainInput = {
  readonly row: SubstrateNetworkRow
  /** ws, wss, http or https. */
  readonly rpcUrl: string
  readonly timeoutMs?: number
  /** How metadata is vouched for, where a signature does not cover it: by the operator, or by another node of the network. */
  readonly metadataPins?: MetadataPins | undefined
  readonly secondRpcUrl?: string | undefined
  readonly memory: ChainMemory
  /** Hears of each failure of the node. */
  readonly onTrouble?: (trouble: NodeTrouble) => void
}

/** `rpc` for what callers and the tracker ask, `bulk` for large answers, `outbound` for what is sent. */
export type SubstrateNode = IdentifiedNode<Hex> & {
  readonly row: SubstrateNetworkRow
  readonly memory: ChainMemory
  readonly runtimes: Runtimes
  readonly trust: Trust
  readonly eras: Eras
}

/** A node that is believed while it has the network's genesis block. It connects to nothing before it is asked something. */
export const createKnownNode = ({
  row: { network, genesisHash },
  onTrouble = () => {},
  ...node
}: Pick<SubstrateChainInput, 'row' | 'rpcUrl' | 'timeoutMs' | 'onTrouble'>): IdentifiedNode<Hex> => {
  const identity = {
    question: question('chain_getBlockHash', [0], hash),
    right: genesisHash,
    word: 'the genesis block',
  }
  return withTroubleTold(identified({ plain: createRpc({ ...node, network }), network, identity }), onTrouble)
}

/** It connects to nothing before it is asked something. */
export const createSubstrateNode = ({
  memory,
  metadataPins: pins = new Map(),
  secondRpcUrl,
  ...input
}: SubstrateChainInput): SubstrateNode => {
  const { row, onTrouble } = input
  const { network, ss58Prefix } = row
  const known = createKnownNode(input)
  const { rpc } = known
  const second = secondRpcUrl === undefined ? null : createKnownNode({ ...input, rpcUrl: secondRpcUrl }).rpc
  return {
    ...known,
    row,
    memory,
    runtimes: createRuntimes({ rpc, network, ss58Prefix, pins, ...(onTrouble && { onTrouble }) }),
    trust: createTrust({ row, rpc, pins, second }),
    eras: createEras({ rpc, row }),
  }
}
