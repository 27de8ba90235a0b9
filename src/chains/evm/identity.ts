import type { NodeIdentity } from '../node/identity.ts'
import type { NodeFamily } from '../node/member.ts'
import { question } from '../node/rpc.ts'
import { smallQuantity } from '../node/wire.ts'
import { type NodeUse, usedAlways } from '../nodes.ts'
import { parseRef } from './blocks.ts'
import { isBlockMissing, isHistoryPruned, isMethodMissing, isRevert, isStateMissing } from './node-errors.ts'

/** Identifies a node by its chain id (EIP-155). */
export const identityOf = (chainId: number): NodeIdentity<number> => ({
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

/** The questions about the state of an EVM node. */
export const evmFamily = (chainId: number): NodeFamily<number> => ({
  identity: identityOf(chainId),
  subscription: { method: 'eth_subscribe', params: ['newHeads'] },
  readHead: (rpc, options) => rpc.ask(question('eth_getBlockByNumber', ['latest', false], parseRef), options),
  uses: USES,
  isMethodMissing,
  isRevert,
  isLack: (error) => isBlockMissing(error) || isStateMissing(error) || isHistoryPruned(error),
})
