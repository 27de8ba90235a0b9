// Creates the Chain of an EVM network with its nodes, from the operations in the files of this folder.

import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { Chain, ChainMemory, Opinion } from '../chain.ts'
import { deliver } from '../delivery.ts'
import type { NodeIdentity } from '../node/identity.ts'
import type { NodeFamily } from '../node/member.ts'
import { createMonotonicHead } from '../node/new-heads.ts'
import { createNodePool, joinNodes, type NodesInput } from '../node/pool.ts'
import { question, type Rpc } from '../node/rpc.ts'
import { smallQuantity } from '../node/wire.ts'
import { type NodeUse, usedAlways } from '../nodes.ts'
import { checkBalances } from './balance-check.ts'
import { callTextOf, parseRef, readBlock, readBlocksFrom, readHead, readSendersFrom } from './blocks.ts'
import { declaredCalls } from './compile-function.ts'
import { readAccountState, readCountAt, readCounts } from './counts.ts'
import { broadcast, readStatus, readStatuses } from './delivery.ts'
import { assemble, disassemble, payloadOf, recoverSigner } from './encode.ts'
import { readAddressFacts, readBalances } from './facts.ts'
import { createFeeRules } from './fees.ts'
import { buildLadder, outbidding } from './ladder.ts'
import { createLimits } from './limits.ts'
import { verifyMessage } from './messages.ts'
import { readHistory } from './mined-logs.ts'
import { batchMintIntent, mintIntent } from './mint.ts'
import { readEventMovements, readMovements } from './movements.ts'
import { createNames } from './names.ts'
import type { Tracing } from './natives.ts'
import { collectionIntent, readContractUri, readTokenUris, transferNftIntent } from './nfts.ts'
import { isBlockMissing, isHistoryPruned, isMethodMissing, isRevert, isStateMissing } from './node-errors.ts'
import { createNodelessEvmChain } from './nodeless.ts'
import { fill, prepare } from './prepare.ts'
import { previewBundle } from './preview.ts'
import { readFailureReason } from './replay.ts'
import { createContractWallets } from './safe/safe.ts'
import { createTokens } from './tokens.ts'
import { complete, effectOf, evmUnsigned, offerOf } from './unsigned.ts'

type EvmChainInput = NodesInput & { readonly row: EvmNetworkRow; readonly memory: ChainMemory }

/** Only some blocks are checked, because the receipts of one take about a megabyte. */
const CHECKED_PERCENT = 10

const askOpinion = (peer: Rpc): Opinion => ({
  head: () => readHead(peer),
  statuses: (asked) => readStatuses(peer, asked),
  transactionCountAt: (at) => readCountAt(peer, at),
})

const patienceOf = ({ climbAfterSeconds, expireAfterSeconds, stalledAfterSeconds }: EvmNetworkRow) => ({
  climbAfterSeconds,
  expireAfterSeconds,
  stalledAfterSeconds,
})

/** Creates the chain. It connects to the node at the first request. */
export const createEvmChain = ({ row, memory, ...nodes }: EvmChainInput): Chain => {
  const { network, chainId, coinContract, maxFeePerGasCapWei: ceilingWei } = row
  const pool = createNodePool({ ...nodes, row, family: evmFamily(chainId) })
  const { rpc, certain } = pool
  const limits = createLimits()
  const tracing: Tracing = { tracer: 'unknown', noBlockReceipts: false }
  const stored = { pool, memory, network }
  const asked = { rpc, limits, memory, network }
  const sureFacts: Chain['sureFacts'] = (addresses) => readAddressFacts({ ...stored, believed: 'own' }, addresses)

  return {
    ...createNodelessEvmChain(row),
    depth: { confirmations: row.confirmations, final: row.finalDepth },
    wholeBackfillBlocks: row.wholeBackfillBlocks,
    pollIntervalMs: row.pollIntervalMs,
    patience: patienceOf(row),
    checkedPercent: CHECKED_PERCENT,
    complete: (intent) => complete(row, intent),
    prepare: (intent, from, options) => prepare({ rpc, row, limits, memory }, { intent, from, options }),
    fill: (intent, from, options) => fill({ rpc, row, limits, memory }, { intent, from, options }),
    transactionCounts: (address) => readCounts(rpc, address),
    accountState: (address) => readAccountState(rpc, address),
    transactionCountAt: (at) => readCountAt(certain, at),
    withNonce: (unsigned, nonce) => ({ ...evmUnsigned(unsigned), nonce }),
    ladder: ({ unsigned, atMarket, ...request }) =>
      buildLadder({ ...request, unsigned: evmUnsigned(unsigned), atMarket: evmUnsigned(atMarket), ceilingWei }),
    lifetimeOf: () => null,
    replacement: {
      disassemble: async (raw) => ({ unsigned: disassemble(raw), from: await recoverSigner(raw) }),
      effectOf: (unsigned) => effectOf(evmUnsigned(unsigned)),
      outbid: ({ unsigned, ...input }) => outbidding({ ...input, unsigned: evmUnsigned(unsigned), ceilingWei }),
    },
    payloadOf: (unsigned) => payloadOf(evmUnsigned(unsigned)),
    callTextOf,
    assemble: (unsigned, signature) => assemble(evmUnsigned(unsigned), signature),
    offerOf: ({ raw }) => offerOf(disassemble(raw)),
    contractWallets: createContractWallets({ rpc: certain, network, chainId, limits, memory }),
    verifyMessage: (signed) => verifyMessage(certain, signed),
    broadcast: (raw) => deliver(pool.outbounds(), (outbound) => broadcast(outbound, raw)),
    status: (hash) => readStatus(certain, hash),
    failureReason: (mined) => readFailureReason({ ...asked, rpc: certain }, mined),
    statuses: (asked) => readStatuses(certain, asked),
    preview: (from, intents) => previewBundle({ ...asked, row, facts: sureFacts }, { from, intents }),
    calls: declaredCalls({ rpc: certain, memory, network, facts: sureFacts }),
    feeRules: createFeeRules({ rpc, row }),
    facts: (addresses) => readAddressFacts({ ...stored, believed: 'any' }, addresses),
    sureFacts,
    balances: (input) => readBalances({ rpc, coinContract }, input),
    names: createNames({ rpc: certain, row }),
    tokenUris: (tokens) => readTokenUris(certain, tokens),
    contractUri: (contract) => readContractUri(certain, contract),
    mintIntent: (request) => mintIntent(asked, request),
    batchMintIntent: (request) => batchMintIntent(asked, request),
    transferNftIntent: async (request) =>
      transferNftIntent(request, (await sureFacts([request.contract])).get(request.contract)),
    signerPayloads: null,
    collections: { creation: async (request) => collectionIntent(request) },
    ...createTokens(asked),
    head: createMonotonicHead(pool, readHead),
    block: (number) => readBlock(certain, number),
    blocksFrom: (from) => readBlocksFrom(certain, from),
    sendersFrom: (from) => readSendersFrom(certain, from),
    movements: (range) => readMovements({ rpc, tracing, coinContract }, range),
    eventMovements: (range) => readEventMovements({ rpc, coinContract }, range),
    checkBalances: (block, scope) => checkBalances(rpc, { block, scope }),
    history: (number) => readHistory(rpc, { number, finalDepth: row.finalDepth }),
    ...joinNodes(pool, askOpinion),
  }
}

/** Identifies a node by its chain id (EIP-155). */
export const identifyChain = (chainId: number): NodeIdentity<number> => ({
  question: question('eth_chainId', [], smallQuantity),
  right: chainId,
  word: 'chain id',
})

const NEEDED = [
  'eth_blockNumber',
  'eth_call',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_getStorageAt',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_sendRawTransaction',
]

const USES: readonly NodeUse[] = [
  ...NEEDED.map(usedAlways),
  { what: 'previews of several transactions that build on each other', methods: ['eth_simulateV1'], isNeeded: false },
  { what: 'what moves in a preview', methods: ['eth_simulateV1', 'debug_traceCall'], isNeeded: false },
  {
    what: 'coins that contracts move, in activity',
    methods: ['trace_block', 'debug_traceBlockByNumber'],
    isNeeded: false,
  },
  {
    what: 'who sent transactions of the past, in activity',
    methods: ['eth_getTransactionByBlockHashAndIndex'],
    isNeeded: false,
  },
  { what: 'the receipts of a block in one request', methods: ['eth_getBlockReceipts'], isNeeded: false },
]

const evmFamily = (chainId: number): NodeFamily<number> => ({
  identity: identifyChain(chainId),
  subscription: { method: 'eth_subscribe', params: ['newHeads'] },
  readHead: (rpc, options) => rpc.ask(question('eth_getBlockByNumber', ['latest', false], parseRef), options),
  uses: USES,
  isMethodMissing,
  isRevert,
  isLack: (error) => isBlockMissing(error) || isStateMissing(error) || isHistoryPruned(error),
})
