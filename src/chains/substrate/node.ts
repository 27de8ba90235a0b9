// A Substrate network's node, as the verbs of this folder share it.

import type { ChainMemory, Hex } from '../chain.ts'
import type { SubstrateNetworkRow } from '../networks.ts'
import { type IdentifiedNode, identified } from '../node/identity.ts'
import { createRpc, type NodeTrouble, question } from '../node/rpc.ts'
import { withTroubleTold } from '../node/trouble.ts'
import { hash } from '../node/wire.ts'
import { createRuntimes, type Runtimes } from './runtime.ts'

/** A network as data, the node that serves it, and what is remembered of it between processes. */
export type SubstrateChainInput = {
  readonly row: SubstrateNetworkRow
  /** ws, wss, http or https. */
  readonly rpcUrl: string
  readonly timeoutMs?: number
  readonly memory: ChainMemory
  /** Hears of each failure of the node. */
  readonly onTrouble?: (trouble: NodeTrouble) => void
}

/** `rpc` for what callers and the tracker ask, `bulk` for large answers, `outbound` for what is sent. */
export type SubstrateNode = IdentifiedNode<Hex> & {
  readonly row: SubstrateNetworkRow
  readonly memory: ChainMemory
  readonly runtimes: Runtimes
}

/** It connects to nothing before it is asked something. */
export const createSubstrateNode = ({
  row,
  memory,
  onTrouble = () => {},
  ...node
}: SubstrateChainInput): SubstrateNode => {
  const { network, ss58Prefix, genesisHash } = row
  const identity = {
    question: question('chain_getBlockHash', [0], hash),
    right: genesisHash,
    word: 'the genesis block',
  }
  const known = withTroubleTold(identified({ plain: createRpc({ ...node, network }), network, identity }), onTrouble)
  return { ...known, row, memory, runtimes: createRuntimes({ rpc: known.rpc, network, ss58Prefix, memory, onTrouble }) }
}
