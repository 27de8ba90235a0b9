// An EVM network behind one node, as a Chain: each verb is a file of this folder, put together here.

import type { Chain, ChainMemory } from '../chain.ts'
import type { EvmNetworkRow } from '../networks.ts'
import { addressOf, parseAddress } from './address.ts'
import { readBalances } from './balances.ts'
import { readBlock, readHead } from './blocks.ts'
import { broadcast } from './broadcast.ts'
import { readCounts, readFinalCount } from './counts.ts'
import { decodeCall } from './decode.ts'
import { assemble, disassemble, signingBytes } from './encode.ts'
import { readAddressFacts } from './facts.ts'
import { isWithinCap } from './fees.ts'
import { readHistory } from './history.ts'
import { identified } from './identity.ts'
import { cancelOf, higherOf, ladderOf } from './ladder.ts'
import { createLimits } from './limits.ts'
import { verifyMessage } from './messages.ts'
import { mintIntent } from './mint.ts'
import { readEventMovements, readMovements } from './movements.ts'
import { readAddressOfName } from './names.ts'
import type { Tracing } from './natives.ts'
import { collectionIntent, readContractUri, readTokenUris, transferNftIntent } from './nfts.ts'
import { fill, prepare } from './prepare.ts'
import { previewBundle } from './preview.ts'
import { readCall } from './readCall.ts'
import { createRpc, type NodeTrouble } from './rpc.ts'
import { readStanding } from './standing.ts'
import { readStatus, readStatuses } from './status.ts'
import { withTroubleTold } from './trouble.ts'
import { complete, worstCost } from './unsigned.ts'

/** A network as data, the node that serves it, and what is remembered of it between processes. */
export type EvmChainInput = {
  readonly row: EvmNetworkRow
  readonly rpcUrl: string
  /** How long the node may take to answer; logs, blocks and traces may take some times as long. */
  readonly timeoutMs?: number
  readonly memory: ChainMemory
  /** Hears of each failure of the node. */
  readonly onTrouble?: (trouble: NodeTrouble) => void
}

/** Free of keys; it connects to nothing before it is asked something. */
export const createEvmChain = ({ row, memory, onTrouble = () => {}, ...node }: EvmChainInput): Chain => {
  const { network, family, chainId } = row
  const known = identified({ plain: createRpc({ ...node, network }), network, chainId })
  const { rpc, bulk, outbound, readChainId, confirm } = withTroubleTold(known, onTrouble)
  const limits = createLimits()
  const tracing: Tracing = { tracer: 'unknown', noBlockReceipts: false }
  const facts: Chain['facts'] = (addresses) => readAddressFacts({ rpc, memory, network }, addresses)

  return {
    network,
    family,
    chainId,
    depth: { confirmations: row.confirmations, final: row.finalDepth },
    wholeBackfillBlocks: row.wholeBackfillBlocks,
    pollIntervalMs: row.pollIntervalMs,
    patience: { climbAfterSeconds: row.climbAfterSeconds, expireAfterSeconds: row.expireAfterSeconds },
    parseAddress,
    addressOf,
    complete: (intent) => complete(chainId, intent),
    prepare: (intent, from, options) => prepare({ rpc, row, limits, memory }, { intent, from, options }),
    fill: (intent, from, nonce) => fill({ rpc, row, limits, memory }, { intent, from, nonce }),
    transactionCounts: (address) => readCounts(rpc, address),
    standing: (address) => readStanding(rpc, address),
    finalTransactionCount: (address) => readFinalCount(rpc, { address, finalDepth: row.finalDepth }),
    withNonce: (unsigned, nonce) => ({ ...unsigned, nonce }),
    worstCost,
    ladder: (unsigned, intent) => {
      const fixedFees = intent.maxFeePerGas !== undefined || intent.maxPriorityFeePerGas !== undefined
      return ladderOf({ unsigned, fixedFees, maxFeePerGasCapWei: row.maxFeePerGasCapWei })
    },
    cancel: ({ top, atMarket, from }) => {
      const { maxFeePerGasCapWei } = row
      const marketTop = ladderOf({ unsigned: atMarket, fixedFees: false, maxFeePerGasCapWei }).at(-1) ?? atMarket
      return cancelOf({ top: higherOf(top, marketTop), from })
    },
    signingBytes,
    assemble,
    disassemble,
    verifyMessage: (signed) => verifyMessage(rpc, signed),
    broadcast: (raw) => broadcast(outbound, raw),
    status: (hash) => readStatus(rpc, hash),
    statuses: (hashes) => readStatuses(rpc, hashes),
    preview: (from, intents) => previewBundle({ rpc, limits, network, memory, facts }, { from, intents }),
    decode: decodeCall,
    readCall: (intent) => readCall({ memory, network, facts }, intent),
    isWithinFeeCap: (intent) => isWithinCap(intent, row),
    facts,
    balances: (input) => readBalances(rpc, input),
    addressOfName: (name) => readAddressOfName({ rpc, row }, name),
    tokenUris: (tokens) => readTokenUris(rpc, tokens),
    contractUri: (contract) => readContractUri(rpc, contract),
    mintIntent: (request) => mintIntent({ rpc, limits, memory, network }, request),
    transferNftIntent: async (request) => {
      const known = await facts([request.contract])
      return transferNftIntent(request, known.get(request.contract))
    },
    collectionIntent,
    head: () => readHead(rpc),
    block: (number) => readBlock(rpc, number),
    movements: (range) => readMovements({ rpc: bulk, tracing }, range),
    eventMovements: (range) => readEventMovements(bulk, range),
    history: (number) => readHistory(bulk, { number, finalDepth: row.finalDepth }),
    nodeChainId: readChainId,
    confirmNode: confirm,
  }
}
