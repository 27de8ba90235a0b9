// How many transactions of a sender the chain has: the nonce of its next one, by three measures of certainty.

import { question, type Rpc } from '../node/rpc.ts'
import { smallQuantity, toQuantity } from '../node/wire.ts'
import { isBlockMissing, isStateMissing } from './node-errors.ts'

const countQuestion = (address: string, block: string) =>
  question('eth_getTransactionCount', [address, block], smallQuantity)

/** Mined, and mined or waiting in the node's pool; in one round trip. */
export const readCounts = async (
  rpc: Rpc,
  address: string,
): Promise<{ readonly minedCount: number; readonly pendingCount: number }> => {
  const [minedCount, pendingCount] = await rpc.askAll([
    countQuestion(address, 'latest'),
    countQuestion(address, 'pending'),
  ])
  // Two nodes behind one address may be a block apart.
  return { minedCount, pendingCount: Math.max(minedCount, pendingCount) }
}

/** Mined as of the end of a block; null where the node does not say, as it keeps no state from there. */
export const readCountAt = async (
  rpc: Rpc,
  { address, blockNumber }: { readonly address: string; readonly blockNumber: bigint },
): Promise<number | null> => {
  const count = await rpc.try(countQuestion(address, toQuantity(blockNumber)))
  return !count.ok && (isStateMissing(count.error) || isBlockMissing(count.error)) ? null : rpc.need(count)
}
