// Creates the Chain of an EVM network with its nodes, from the operations in the files of this folder.

import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { Chain, ChainMemory, EvmUnsigned, Opinion, Unsigned } from '../chain.ts'
import { deliver } from '../node/deliver.ts'
import { createMonotonicHead } from '../node/monotonic-head.ts'
import { createNodePool, type NodesInput, nodesOf } from '../node/pool.ts'
import type { Rpc } from '../node/rpc.ts'
import { checkBalances } from './balance-check.ts'
import { readBalances } from './balances.ts'
import { callTextOf, readBlock, readBlocksFrom, readHead, readSendersFrom } from './blocks.ts'
import { broadcast } from './broadcast.ts'
import { declaredCalls } from './compile-function.ts'
import { readAccountState, readCountAt, readCounts } from './counts.ts'
import { assemble, disassemble, payloadOf, signerOf } from './encode.ts'
import { readAddressFacts } from './facts.ts'
import { createFeeRules } from './fee-rules.ts'
import { readHistory } from './history.ts'
import { evmFamily } from './identity.ts'
import { ladderOf, outbidding } from './ladder.ts'
import { createLimits } from './limits.ts'
import { verifyMessage } from './messages.ts'
import { batchMintIntent, mintIntent } from './mint.ts'
import { readEventMovements, readMovements } from './movements.ts'
import { createNames } from './names.ts'
import type { Tracing } from './natives.ts'
import { collectionIntent, readContractUri, readTokenUris, transferNftIntent } from './nfts.ts'
import { createNodelessEvmChain } from './nodeless.ts'
import { fill, prepare } from './prepare.ts'
import { previewBundle } from './preview.ts'
import { readFailureReason } from './replay.ts'
import { createContractWallets } from './safe/safe.ts'
import { readStatus, readStatuses } from './status.ts'
import { createTokens } from './tokens.ts'
import { complete, effectOf, offerOf } from './unsigned.ts'

/** The network's data, its nodes, and the memory that outlives the process. */
type EvmChainInput = NodesInput & { readonly row: EvmNetworkRow; readonly memory: ChainMemory }

/** Only some blocks are checked, because the receipts of one take about a megabyte. */
const CHECKED_PERCENT = 10

/** Callers pass a transaction back only to the chain that made it. */
const ours = (unsigned: Unsigned): EvmUnsigned => {
  if (unsigned.family !== 'evm') throw new Error('expected an unsigned transaction of an EVM network')
  return unsigned
}

const opinionOf = (peer: Rpc): Opinion => ({
  head: () => readHead(peer),
  statuses: (asked) => readStatuses(peer, asked),
  transactionCountAt: (at) => readCountAt(peer, at),
})

const nftTransfers =
  (sureFacts: Chain['sureFacts']): Chain['transferNftIntent'] =>
  async (request) => {
    const known = await sureFacts([request.contract])
    return transferNftIntent(request, known.get(request.contract))
  }

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
    withNonce: (unsigned, nonce) => ({ ...ours(unsigned), nonce }),
    ladder: ({ unsigned, atMarket, ...request }) =>
      ladderOf({ ...request, unsigned: ours(unsigned), atMarket: ours(atMarket), ceilingWei }),
    lifetimeOf: () => null,
    replacement: {
      disassemble: async (raw) => ({ unsigned: disassemble(raw), from: await signerOf(raw) }),
      effectOf: (unsigned) => effectOf(ours(unsigned)),
      outbid: ({ unsigned, ...input }) => outbidding({ ...input, unsigned: ours(unsigned), ceilingWei }),
    },
    payloadOf: (unsigned) => payloadOf(ours(unsigned)),
    callTextOf,
    assemble: (unsigned, signature) => assemble(ours(unsigned), signature),
    offerOf: ({ raw }) => offerOf(disassemble(raw)),
    contractWallets: createContractWallets({ rpc: certain, network, chainId, limits, memory }),
    verifyMessage: (signed) => verifyMessage(certain, signed),
    broadcast: (raw) => deliver(pool.outbounds(), (outbound) => broadcast(outbound, raw)),
    status: (hash) => readStatus(certain, hash),
    failureReason: (hash) => readFailureReason({ ...asked, rpc: certain }, hash),
    statuses: (asked) => readStatuses(certain, asked),
    preview: (from, intents) => previewBundle({ ...asked, row, facts: sureFacts }, { from, intents }),
    calls: declaredCalls({ rpc: certain, memory, network, facts: sureFacts }),
    feeRules: createFeeRules({ rpc, row, ours }),
    facts: (addresses) => readAddressFacts({ ...stored, believed: 'any' }, addresses),
    sureFacts,
    balances: (input) => readBalances({ rpc, coinContract }, input),
    names: createNames({ rpc: certain, row }),
    tokenUris: (tokens) => readTokenUris(certain, tokens),
    contractUri: (contract) => readContractUri(certain, contract),
    mintIntent: (request) => mintIntent(asked, request),
    batchMintIntent: (request) => batchMintIntent(asked, request),
    transferNftIntent: nftTransfers(sureFacts),
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
    ...nodesOf(pool, opinionOf),
  }
}
