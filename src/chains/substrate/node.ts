// Connects to the node of a Substrate network, and holds what the verbs of this folder share.

import type { ChainMemory, Hex } from '../chain.ts'
import type { SubstrateNetworkRow } from '../networks.ts'
import { type IdentifiedNode, identified } from '../node/identity.ts'
import { createRpc, type NodeTrouble, question } from '../node/rpc.ts'
import { withTroubleReported } from '../node/trouble.ts'
import { hash } from '../node/wire.ts'
import { createEras, type Eras } from './eras.ts'
import { createRuntimes, type MetadataPins, type Runtimes } from './runtime.ts'
import { createTrust, type Trust } from './trust.ts'

/** A network's data, its node, and the memory that is shared between processes. */
export type SubstrateChainInput = {
  readonly row: SubstrateNetworkRow
  /** ws, wss, http or https. */
  readonly rpcUrl: string
  readonly timeoutMs?: number
  /** Pins of the operator and a second node confirm metadata that signatures do not cover (trust.ts). */
  readonly metadataPins?: MetadataPins | undefined
  readonly secondRpcUrl?: string | undefined
  readonly memory: ChainMemory
  /** Called for each failure of the node. */
  readonly onTrouble?: (trouble: NodeTrouble) => void
}

/** Use `rpc` for ordinary questions, `bulk` for large answers and `outbound` to send transactions. */
export type SubstrateNode = IdentifiedNode<Hex> & {
  readonly row: SubstrateNetworkRow
  readonly memory: ChainMemory
  readonly runtimes: Runtimes
  readonly trust: Trust
  readonly eras: Eras
}

/** Creates a node that is used only while its genesis block is the network's. It connects on the first question. */
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
  return withTroubleReported(
    { network, node: identified({ plain: createRpc({ ...node, network }), network, identity }) },
    onTrouble,
  )
}

/** Creates a network's node with its runtimes, trust and eras. It connects on the first question. */
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
