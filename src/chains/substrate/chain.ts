// Implements Chain for a Substrate network. Each verb is in a file of this folder; this file puts them together.

import type { BlockRef, Chain, Head, MintRequest, Opinion, Submission, SubstrateUnsigned, Unsigned } from '../chain.ts'
import { deliver } from '../delivery.ts'
import { createMonotonicHead } from '../node/new-heads.ts'
import { joinNodes } from '../node/pool.ts'
import { notProvided } from '../provided.ts'
import type { FeeRules } from '../submission.ts'
import { accountQuestion, readBalances, readCounts } from './account.ts'
import { checkBalances } from './balance-check.ts'
import {
  createFinalBlocks,
  createRecentState,
  type FinalBlocks,
  type FinalState,
  readFinalHead,
  readFinalState,
  readSendersFrom,
} from './blocks.ts'
import { readCall, readMessage } from './calls.ts'
import { assemble, payloadOf } from './extrinsic.ts'
import { readFacts } from './facts.ts'
import { isMessage } from './gear.ts'
import { readEventMovements, readHistory, readMovements } from './movements.ts'
import * as palletNfts from './nfts.ts'
import { createSubstrateNode, type SubstrateChainInput, type SubstrateNode } from './node.ts'
import { createNodelessSubstrateChain } from './nodeless.ts'
import { buildUnsigned, fill, prepare, withMargin } from './prepare.ts'
import { previewBundle } from './preview.ts'
import { feeQuestion } from './query-fee.ts'
import { createSignerPayloads } from './signer-payload.ts'
import { gasPaidBy } from './spending.ts'
import { broadcast, createSearch, findStatus, readStatuses } from './status.ts'
import { unlessPruned } from './storage.ts'
import { createTokens } from './tokens.ts'
import * as vnft from './vnft.ts'

/** 31 years. A mortal extrinsic expires by itself, so it needs no time-out here. */
const NEVER_SECONDS = 1_000_000_000
/** Every block is checked: its events are only some kilobytes. */
const CHECKED_PERCENT = 100

/** A chain only gets back the unsigned transactions that it made. */
const requireSubstrate = (unsigned: Unsigned): SubstrateUnsigned => {
  if (unsigned.family !== 'substrate') throw new Error('expected an extrinsic of a Substrate network')
  return unsigned
}

const refusePieces = (
  { network }: { readonly network: string },
  mints: readonly Pick<MintRequest, 'pieces'>[],
): void => {
  if (mints.every(({ pieces }) => pieces === undefined)) return
  throw notProvided(`NFTs of ${network} have no pieces, so "token_id" and "amount" must be absent.`)
}

/** The number of transactions of an account up to a final block; null if the node does not have that block. */
const readCountAt = async (
  { rpc, runtimes }: Pick<SubstrateNode, 'rpc' | 'runtimes'>,
  finalBlocks: FinalBlocks,
  { address, blockNumber }: { readonly address: string; readonly blockNumber: bigint },
): Promise<number | null> => {
  const block = await finalBlocks.block(blockNumber)
  if (block === null) return null
  const runtime = await runtimes.at(block.hash)
  return (await rpc.ask(accountQuestion(runtime, address, block.hash))).nonce
}

/** Only final blocks are read, so the newest final block is the newest block. */
const headOf = (ref: BlockRef): Head => ({ latest: ref, finalized: ref, baseFeePerGas: null })

/** The runtime sets the fees; a caller adds a tip, or chooses the gas of a message. */
const createFeeRules = (node: SubstrateNode, recentState: () => Promise<FinalState>): FeeRules => {
  const feeOf = async (unsigned: SubstrateUnsigned): Promise<bigint> =>
    withMargin(await node.rpc.ask(feeQuestion(unsigned, unsigned.blockHash)))
  return {
    isWithinFeeCap: ({ maxPriorityFeePerGas = 0n }) => maxPriorityFeePerGas <= node.row.feeCapPlanck,
    feesOf: () => null,
    gasFee: () => 0n,
    excess: async ({ intent, ordinary, times }) => {
      const mostGas = times * requireSubstrate(ordinary).gasLimit
      if ((intent.gasLimit ?? 0n) > mostGas) return { field: 'gasLimit', most: mostGas }
      const { maxPriorityFeePerGas: tip } = intent
      if (tip === undefined || tip === 0n) return null
      // Fee and tip together must be at most `times` the fee.
      const mostTip = (times - 1n) * (await feeOf(requireSubstrate(ordinary)))
      return tip > mostTip ? { field: 'maxPriorityFeePerGas', most: mostTip } : null
    },
    surcharge: async (unsigned) => {
      const { call, tip, blockHash } = requireSubstrate(unsigned)
      const [fee, runtime] = await Promise.all([feeOf(requireSubstrate(unsigned)), node.runtimes.at(blockHash)])
      return fee + tip + gasPaidBy(runtime, call)
    },
    ordinaryFee: async () => {
      const { nobody, era } = node.row
      const intent = { to: nobody, value: 1n, input: '0x' } as const
      const state = await recentState()
      return feeOf(buildUnsigned(node, { ...state, intent, from: nobody, nonce: 0, eraBlocks: era.least }))
    },
  }
}

const createSubmission = (
  node: SubstrateNode,
  finalBlocks: FinalBlocks,
): Submission & Pick<Chain, 'signerPayloads'> => {
  const { rpc } = node
  const recentState = createRecentState(node)
  const countsAsOf = (address: string, { head, runtime }: FinalState) =>
    readCounts(rpc, { runtime, address, blockHash: head.hash })
  return {
    prepare: (intent, from, { pending }) => prepare(node, { intent, from, pending }),
    complete: () => null,
    fill: async (intent, from, { nonce: wanted }) => {
      // A fee asset is looked up in the state, and may be new.
      const state = await (intent.feeAsset === undefined ? recentState() : readFinalState(node))
      const nonce = typeof wanted === 'number' ? wanted : await wanted(await countsAsOf(from, state))
      return fill(node, { intent, from, nonce, ...state })
    },
    transactionCounts: async (address) => countsAsOf(address, await recentState()),
    // The caller compares the balance with current amounts, so read a fresh head and not a remembered one.
    accountState: async (address) => {
      const { minedCount, pendingCount, account } = await countsAsOf(address, await readFinalState(node))
      return { minedCount, pendingCount, balance: account.transferable, nextBaseFeePerGas: null }
    },
    transactionCountAt: (at) => unlessPruned(readCountAt({ ...node, rpc: node.certain }, finalBlocks, at)),
    withNonce: (unsigned, nonce) => ({ ...requireSubstrate(unsigned), nonce }),
    // A mortal extrinsic expires by itself, so no higher tip has to replace it in the pool.
    ladder: ({ unsigned }) => ({ rungs: [unsigned], cancel: null, isFixed: false, isCutByFunds: false }),
    patience: {
      climbAfterSeconds: NEVER_SECONDS,
      expireAfterSeconds: NEVER_SECONDS,
      stalledAfterSeconds: node.row.stalledAfterSeconds,
    },
    replacement: null,
    lifetimeOf: (unsigned) => {
      const { era, validUntilBlock } = requireSubstrate(unsigned)
      return era === null || validUntilBlock === null ? null : { bornAtBlock: BigInt(era.current), validUntilBlock }
    },
    payloadOf: (unsigned) => payloadOf(requireSubstrate(unsigned)),
    callTextOf: (unsigned) => requireSubstrate(unsigned).call.slice(2),
    assemble: (unsigned, signature) => assemble(requireSubstrate(unsigned), signature),
    // An extrinsic states its tip, but not its fee and deposits: the runtime sets those.
    offerOf: ({ recordedCost }) => ({
      maxFeePerGas: null,
      maxPriorityFeePerGas: null,
      worstCost: recordedCost,
      isBound: false,
    }),
    feeRules: createFeeRules(node, recentState),
    signerPayloads: createSignerPayloads({ node, requireSubstrate, recentState }),
  }
}

const opinionOf = (peer: SubstrateNode): Opinion => ({
  head: async () => headOf((await readFinalHead(peer)).ref),
  statuses: (asked) => readStatuses(peer, asked),
  transactionCountAt: (at) => unlessPruned(readCountAt(peer, createFinalBlocks(peer), at)),
})

/** Creates the chain of a network. It holds no keys, and connects to the node only when a verb is called. */
export const createSubstrateChain = (input: SubstrateChainInput): Chain => {
  const { row } = input
  const node = createSubstrateNode(input)
  const certain = { ...node, rpc: node.certain }
  const search = createSearch(certain)
  const finalBlocks = createFinalBlocks(certain)
  // On a network with programs, NFTs belong to VNFT programs; elsewhere to a pallet of the runtime.
  const nfts = row.hasPrograms ? vnft : palletNfts
  return {
    ...createNodelessSubstrateChain(row),
    ...createSubmission(node, finalBlocks),
    names: null,
    broadcast: (raw) => deliver(node.outbounds(), (outbound) => broadcast(outbound, raw)),
    status: (hash) => findStatus(certain, { hash, search }),
    failureReason: async () => null,
    statuses: (asked) => readStatuses(certain, asked),
    preview: (from, intents) => previewBundle(node, { from, intents }),
    // An intent with a recipient is a plain transfer or a message to a program; without one it is a SCALE-encoded call.
    calls: {
      by: 'metadata',
      read: async ({ to, value, input }) => {
        const isMessageTo = row.hasPrograms && isMessage({ to, input })
        if (to !== null && !isMessageTo) return null
        const { runtime } = await readFinalState(node)
        return to === null ? readCall(runtime, input) : readMessage(runtime, { to, value, input })
      },
    },
    mintIntent: async (request) => {
      refusePieces(row, [request])
      return nfts.mintIntent(node, request)
    },
    batchMintIntent: row.hasPrograms
      ? null
      : async (request) => {
          refusePieces(row, request.mints)
          return palletNfts.batchMintIntent(node, request)
        },
    transferNftIntent: (request) => nfts.transferIntent(node, request),
    // A VNFT collection is a program. This service does not create it.
    collections: row.hasPrograms ? null : { creation: (request) => palletNfts.collectionIntent(node, request) },
    ...createTokens(node),
    tokenUris: (tokens) => nfts.tokenUris(certain, tokens),
    // A VNFT program has no metadata of the collection.
    contractUri: async (contract) => (row.hasPrograms ? null : palletNfts.contractUri(certain, contract)),
    facts: (texts) => readFacts(certain, { texts, believed: 'any' }),
    sureFacts: (texts) => readFacts(certain, { texts, believed: 'own' }),
    balances: (input) => readBalances(node, input),
    // Only final blocks are read.
    depth: { confirmations: 1, final: 1 },
    // Backfill reads every block, because a node has no index from an address to its blocks.
    wholeBackfillBlocks: Number.MAX_SAFE_INTEGER,
    checkedPercent: CHECKED_PERCENT,
    pollIntervalMs: row.pollIntervalMs,
    head: createMonotonicHead(node, async () => headOf(await finalBlocks.head())),
    block: finalBlocks.block,
    blocksFrom: finalBlocks.blocksFrom,
    sendersFrom: (from) => readSendersFrom(node, from),
    movements: (range) => readMovements(node, range),
    eventMovements: (input) => readEventMovements(node, input),
    checkBalances: (block, scope) => checkBalances(node, { block, scope }),
    history: (number) => readHistory(node, number),
    ...joinNodes(node, (rpc) => opinionOf({ ...node, rpc })),
  }
}
