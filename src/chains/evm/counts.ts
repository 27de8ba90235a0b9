// How many transactions of a sender the chain has: the nonce of its next one, by three measures of certainty.

import { question, type Rpc } from '../node/rpc.ts'
import { quantity, smallQuantity, toQuantity } from '../node/wire.ts'
import { isStateMissing } from './nodeErrors.ts'

const countQuestion = (address: string, block: string) =>
  question('eth_getTransactionCount', [address, block], smallQuantity)

/** Mined, and mined or waiting in the node's pool; in one round trip. @throws NodeUnavailable. */
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

/**
 * Mined as of the newest final block: the node's word, else `finalDepth` blocks down.
 * @throws NodeUnavailable, also where the node keeps no state from that block: then nothing can be said.
 */
export const readFinalCount = async (
  rpc: Rpc,
  input: { readonly address: string; readonly finalDepth: number },
): Promise<number> => {
  const { address, finalDepth } = input
  const [finalized, newest] = await rpc.tryAll([
    countQuestion(address, 'finalized'),
    question('eth_blockNumber', [], quantity),
  ])
  if (finalized.ok) return finalized.value
  if (isStateMissing(finalized.error)) throw rpc.refusal(finalized.error)
  const final = rpc.need(newest) - BigInt(finalDepth)
  return final < 0n ? 0 : rpc.ask(countQuestion(address, toQuantity(final)))
}
