// Creates the Chain of an EVM network with one node, from the operations in the files of this folder.

import type { Chain, ChainMemory, EvmUnsigned, Unsigned } from '../chain.ts'
import type { EvmNetworkRow } from '../networks.ts'
import { identified } from '../node/identity.ts'
import { createRpc, type NodeTrouble } from '../node/rpc.ts'
import { withTroubleReported } from '../node/trouble.ts'
import { checkBalances } from './balance-check.ts'
import { readBalances } from './balances.ts'
import { readBlock, readHead } from './blocks.ts'
import { broadcast } from './broadcast.ts'
import { readAccountState, readCountAt, readCounts } from './counts.ts'
import { assemble, disassemble, signerOf, signingBytes } from './encode.ts'
import { readAddressFacts } from './facts.ts'
import { readHistory } from './history.ts'
import { identityOf } from './identity.ts'
import { ladderOf, outbidding } from './ladder.ts'
import { createLimits } from './limits.ts'
import { verifyMessage } from './messages.ts'
import { mintIntent } from './mint.ts'
import { readEventMovements, readMovements } from './movements.ts'
import { createNames } from './names.ts'
import type { Tracing } from './natives.ts'
import { collectionIntent, readContractUri, readTokenUris, transferNftIntent } from './nfts.ts'
import { createNodelessEvmChain } from './nodeless.ts'
import { fill, prepare } from './prepare.ts'
import { previewBundle } from './preview.ts'
import { readCall } from './read-call.ts'
import { createContractWallets } from './safe/safe.ts'
import { readStatus, readStatuses } from './status.ts'
import { createTerms } from './terms.ts'
import { complete, effectOf, offerOf } from './unsigned.ts'

/** The network's data, its node, and the memory that outlives the process. */
type EvmChainInput = {
  readonly row: EvmNetworkRow
  readonly rpcUrl: string
  /** The time limit for an answer; logs, blocks and traces have a longer one. */
  readonly timeoutMs?: number
  readonly memory: ChainMemory
  /** Called for each failure of the node. */
  readonly onTrouble?: (trouble: NodeTrouble) => void
}

/** Only some blocks are checked, because the receipts of one take about a megabyte. */
const CHECKED_PERCENT = 10

/** Callers pass a transaction back only to the chain that made it. */
const ours = (unsigned: Unsigned): EvmUnsigned => {
  if (unsigned.family !== 'evm') throw new Error('expected an unsigned transaction of an EVM network')
  return unsigned
}

/** Creates the chain. It connects to the node at the first request. */
export const createEvmChain = ({ row, memory, onTrouble = () => {}, ...node }: EvmChainInput): Chain => {
  const { network, chainId } = row
  const known = identified({ plain: createRpc({ ...node, network }), network, identity: identityOf(chainId) })
  const { rpc, bulk, outbound, readChainId, confirm } = withTroubleReported({ network, node: known }, onTrouble)
  const limits = createLimits()
  const tracing: Tracing = { tracer: 'unknown', noBlockReceipts: false }
  const facts: Chain['facts'] = (addresses) => readAddressFacts({ rpc, memory, network }, addresses)

  return {
    ...createNodelessEvmChain(row),
    depth: { confirmations: row.confirmations, final: row.finalDepth },
    wholeBackfillBlocks: row.wholeBackfillBlocks,
    pollIntervalMs: row.pollIntervalMs,
    patience: { climbAfterSeconds: row.climbAfterSeconds, expireAfterSeconds: row.expireAfterSeconds },
    checkedPercent: CHECKED_PERCENT,
    complete: (intent) => complete(row, intent),
    prepare: (intent, from, options) => prepare({ rpc, row, limits, memory }, { intent, from, options }),
    fill: (intent, from, options) => fill({ rpc, row, limits, memory }, { intent, from, options }),
    transactionCounts: (address) => readCounts(rpc, address),
    accountState: (address) => readAccountState(rpc, address),
    transactionCountAt: (at) => readCountAt(rpc, at),
    withNonce: (unsigned, nonce) => ({ ...ours(unsigned), nonce }),
    ladder: ({ unsigned, atMarket, ...request }) =>
      ladderOf({
        ...request,
        unsigned: ours(unsigned),
        atMarket: ours(atMarket),
        ceilingWei: row.maxFeePerGasCapWei,
      }),
    lifetimeOf: () => null,
    replacement: {
      disassemble: async (raw) => ({ unsigned: disassemble(raw), from: await signerOf(raw) }),
      effectOf: (unsigned) => effectOf(ours(unsigned)),
      outbid: ({ unsigned, ...input }) =>
        outbidding({ ...input, unsigned: ours(unsigned), ceilingWei: row.maxFeePerGasCapWei }),
    },
    signingBytes: (unsigned) => signingBytes(ours(unsigned)),
    assemble: (unsigned, signature) => assemble(ours(unsigned), signature),
    offerOf: ({ raw }) => offerOf(disassemble(raw)),
    contractWallets: createContractWallets({ rpc, network, chainId, limits, memory }),
    verifyMessage: (signed) => verifyMessage(rpc, signed),
    broadcast: (raw) => broadcast(outbound, raw),
    status: (hash) => readStatus(rpc, hash),
    statuses: (asked) => readStatuses(rpc, asked),
    preview: (from, intents) => previewBundle({ rpc, limits, network, memory, facts }, { from, intents }),
    readCall: (intent) => readCall({ memory, network, facts }, intent),
    terms: createTerms({ rpc, row, ours }),
    facts,
    balances: (input) => readBalances(rpc, input),
    names: createNames({ rpc, row }),
    tokenUris: (tokens) => readTokenUris(rpc, tokens),
    contractUri: (contract) => readContractUri(rpc, contract),
    mintIntent: (request) => mintIntent({ rpc, limits, memory, network }, request),
    transferNftIntent: async (request) => {
      const known = await facts([request.contract])
      return transferNftIntent(request, known.get(request.contract))
    },
    collectionIntent: async (request) => collectionIntent(request),
    head: () => readHead(rpc),
    block: (number) => readBlock(rpc, number),
    movements: (range) => readMovements({ rpc: bulk, tracing }, range),
    eventMovements: (range) => readEventMovements(bulk, range),
    checkBalances: (block, scope) => checkBalances(bulk, { block, scope }),
    history: (number) => readHistory(bulk, { number, finalDepth: row.finalDepth }),
    isRightNode: async () => (await readChainId()) === chainId,
    confirmNode: confirm,
  }
}
