// What the node alone can do: transactions that are signed beforehand, pushed at it as fast as it takes them, and the
// questions that a submission asks.

import type { TestChain } from '../test/support/chains.ts'
import { callInBatches } from './rpc-batches.ts'
import { createSigners, RECIPIENT } from './signers.ts'

/** Found best for the local node: larger batches and more at once give no more. */
const BATCH = 50
const AT_ONCE = 4
const QUESTIONS = 5
const MINE_DEADLINE_MS = 20_000

/** Pushes with accounts of its own, beside those of the service. */
export const createRawSender = async (chain: TestChain, input: { readonly signers: number }) => {
  const { addresses, sign } = await createSigners(chain, { count: input.signers })
  const { rpcUrl } = chain
  let sent = 0

  const minedCount = async (): Promise<number> => {
    const calls = addresses.map((address) => ({ method: 'eth_getTransactionCount', params: [address, 'latest'] }))
    const counts = await callInBatches(rpcUrl, { calls, batch: BATCH, atOnce: AT_ONCE })
    return counts.reduce<number>((sum, count) => sum + Number(count), 0)
  }

  return {
    /** Transactions a second until the last is mined; a block is made as soon as all are sent. */
    push: async (count: number): Promise<number> => {
      const calls = sign(count).map(({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] }))
      sent += count
      const begun = performance.now()
      const deadline = begun + MINE_DEADLINE_MS
      await callInBatches(rpcUrl, { calls, batch: BATCH, atOnce: AT_ONCE })
      do {
        if (performance.now() > deadline) throw new Error('the node did not mine what was pushed')
        await chain.mine()
      } while ((await minedCount()) < sent)
      return (count / (performance.now() - begun)) * 1000
    },
    /** Submissions a second whose questions the node could answer, one batch each. */
    ask: async (count: number): Promise<number> => {
      const calls = Array.from({ length: count }, (_, index) => {
        const from = addresses[index % addresses.length]
        return [
          { method: 'eth_getTransactionCount', params: [from, 'latest'] },
          { method: 'eth_getTransactionCount', params: [from, 'pending'] },
          { method: 'eth_getBalance', params: [from, 'latest'] },
          { method: 'eth_feeHistory', params: ['0x5', 'latest', [50]] },
          { method: 'eth_estimateGas', params: [{ from, to: RECIPIENT, value: '0x1' }, 'pending'] },
        ]
      }).flat()
      const begun = performance.now()
      await callInBatches(rpcUrl, { calls, batch: QUESTIONS, atOnce: AT_ONCE })
      return (count / (performance.now() - begun)) * 1000
    },
  }
}
