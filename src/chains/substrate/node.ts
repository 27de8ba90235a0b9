// Connects to the nodes of a Substrate network, and holds what the verbs of this folder share.

import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { ChainMemory } from '../chain.ts'
import { createNodePool, type NodePool, type NodesInput } from '../node/pool.ts'
import { NodeUnavailable, question } from '../node/rpc.ts'
import { hash } from '../node/wire.ts'
import { usedAlways } from '../nodes.ts'
import { createEras, type Eras } from './eras.ts'
import { createRuntimes, type MetadataPins, type Runtimes } from './runtime.ts'
import { finalizedHashQuestion, headerQuestion, isPruned, NO_FINAL_HEADER, timestampQuestion } from './storage.ts'
import { createTrust, type Trust } from './trust.ts'

/** A network's data, its nodes (by ws, wss, http or https), and the memory that is shared between processes. */
export type SubstrateChainInput = NodesInput & {
  readonly row: SubstrateNetworkRow
  /** Pins of the operator confirm metadata that signatures do not cover (trust.ts). */
  readonly metadataPins?: MetadataPins | undefined
  readonly memory: ChainMemory
}

/** Use `rpc` for ordinary questions, `certain` for what must stay true, and `outbounds` to send transactions. */
export type SubstrateNode = NodePool & {
  readonly row: SubstrateNetworkRow
  readonly memory: ChainMemory
  readonly runtimes: Runtimes
  readonly trust: Trust
  readonly eras: Eras
}

/** JSON-RPC 2.0 §5.1, as jsonrpsee answers. */
const METHOD_NOT_FOUND = -32_601

const NEEDED = [
  'author_pendingExtrinsics',
  'author_submitExtrinsic',
  'chain_getBlock',
  'chain_getBlockHash',
  'chain_getFinalizedHead',
  'chain_getHeader',
  'state_call',
  'state_getMetadata',
  'state_getRuntimeVersion',
  'state_getStorage',
  'system_accountNextIndex',
]

/** Creates a node that is used only while its genesis block is the network's. It connects on the first question. */
export const createKnownNode = ({ row, ...nodes }: NodesInput & Pick<SubstrateChainInput, 'row'>): NodePool =>
  createNodePool({
    ...nodes,
    row,
    family: {
      identity: {
        question: question('chain_getBlockHash', [0], hash),
        right: row.genesisHash,
        word: 'the genesis block',
      },
      // Followers read only final blocks.
      subscription: { method: 'chain_subscribeFinalizedHeads', params: [] },
      // A chain whose blocks do not become final stands still for its followers.
      readHead: async (rpc, options) => {
        const blockHash = await rpc.ask(finalizedHashQuestion, options)
        const [header, timestampMs] = await rpc.askAll(
          [headerQuestion(blockHash), timestampQuestion(blockHash)],
          options,
        )
        if (header === null) throw new NodeUnavailable('refused', NO_FINAL_HEADER)
        return { number: header.number, timestampMs }
      },
      // A program's reply is part of an answer.
      isRevert: () => false,
      isLack: isPruned,
      uses: NEEDED.map(usedAlways),
      isMethodMissing: ({ code }) => code === METHOD_NOT_FOUND,
    },
  })

/** Creates a network's node with its runtimes, trust and eras. It connects on the first question. */
export const createSubstrateNode = ({
  memory,
  metadataPins: pins = new Map(),
  ...input
}: SubstrateChainInput): SubstrateNode => {
  const { row, onTrouble } = input
  const { network, ss58Prefix } = row
  const known = createKnownNode(input)
  const { certain: rpc } = known
  return {
    ...known,
    row,
    memory,
    runtimes: createRuntimes({ rpc, network, ss58Prefix, pins, ...(onTrouble && { onTrouble }) }),
    trust: createTrust({ row, rpc, pins }),
    eras: createEras({ rpc, row }),
  }
}
