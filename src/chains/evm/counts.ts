// How many transactions of a sender the chain has. The count is also the nonce of the next transaction.

import type { AccountState, RecordedIntent, TransactionCounts } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { listOf, quantity, record, smallQuantity, toQuantity } from '../node/wire.ts'
import { isBlockMissing, isStateMissing } from './node-errors.ts'

export const countQuestion = (address: string, block: string): Question<number> =>
  question('eth_getTransactionCount', [address, block], smallQuantity)

/** Mined counts of many senders, in one round trip. */
export const readMinedCounts = async (rpc: Rpc, senders: readonly string[]): Promise<ReadonlyMap<string, number>> => {
  const asked = [...new Set(senders)]
  const counts: readonly number[] = await rpc.askAll(asked.map((sender) => countQuestion(sender, 'latest')))
  return new Map(asked.map((sender, index) => [sender, counts[index] ?? 0]))
}

/** Those of the recorded intents that are not mined yet. Mined intents have already had their effect. */
export const notYetMined = async (
  rpc: Rpc,
  recorded: readonly RecordedIntent[],
): Promise<readonly RecordedIntent[]> => {
  const minedCounts = await readMinedCounts(
    rpc,
    recorded.map(({ from }) => from),
  )
  return recorded.filter(({ from, nonce }) => nonce >= (minedCounts.get(from) ?? 0))
}

/** Two nodes behind one URL may be a block apart, so the pending count may be below the mined count. */
export const joinCounts = (minedCount: number, pendingCount: number): TransactionCounts => ({
  minedCount,
  pendingCount: Math.max(minedCount, pendingCount),
})

export const readCounts = async (rpc: Rpc, address: string): Promise<TransactionCounts> =>
  joinCounts(...(await rpc.askAll([countQuestion(address, 'latest'), countQuestion(address, 'pending')])))

/** The mined count at the end of a block; null if the node does not have that state. */
export const readCountAt = async (
  rpc: Rpc,
  { address, blockNumber }: { readonly address: string; readonly blockNumber: bigint },
): Promise<number | null> => {
  const count = await rpc.try(countQuestion(address, toQuantity(blockNumber)))
  return !count.ok && (isStateMissing(count.error) || isBlockMissing(count.error)) ? null : rpc.need(count)
}

const baseFees = (history: unknown) => listOf(quantity)(record(history).baseFeePerGas)

export const readAccountState = async (rpc: Rpc, address: string): Promise<AccountState> => {
  const [minedCount, pendingCount, balance, fees] = await rpc.askAll([
    countQuestion(address, 'latest'),
    countQuestion(address, 'pending'),
    question('eth_getBalance', [address, 'latest'], quantity),
    question('eth_feeHistory', ['0x1', 'latest', []], baseFees),
  ])
  // The history of one block ends with the base fee of the next.
  return { ...joinCounts(minedCount, pendingCount), balance, nextBaseFeePerGas: fees.at(-1) ?? 0n }
}
