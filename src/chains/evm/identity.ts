import type { NodeIdentity } from '../node/identity.ts'
import type { NodeFamily } from '../node/member.ts'
import { question } from '../node/rpc.ts'
import { smallQuantity } from '../node/wire.ts'
import { parseRef } from './blocks.ts'
import { isBlockMissing, isHistoryPruned, isStateMissing } from './node-errors.ts'

/** Identifies a node by its chain id (EIP-155). */
export const identityOf = (chainId: number): NodeIdentity<number> => ({
  question: question('eth_chainId', [], smallQuantity),
  right: chainId,
  word: 'chain id',
})

/** How EVM nodes are asked how they are. */
export const evmFamily = (chainId: number): NodeFamily<number> => ({
  identity: identityOf(chainId),
  subscription: { method: 'eth_subscribe', params: ['newHeads'] },
  readHead: (rpc, options) => rpc.ask(question('eth_getBlockByNumber', ['latest', false], parseRef), options),
  isLack: (error) => isBlockMissing(error) || isStateMissing(error) || isHistoryPruned(error),
})
