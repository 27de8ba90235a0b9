// What decides whether a sender's next transaction can be mined, in one round trip.

import type { AccountState } from '../chain.ts'
import { question, type Rpc } from '../node/rpc.ts'
import { listOf, quantity, record, smallQuantity } from '../node/wire.ts'

const baseFees = (history: unknown) => listOf(quantity)(record(history).baseFeePerGas)

export const readAccountState = async (rpc: Rpc, address: string): Promise<AccountState> => {
  const [minedCount, pendingCount, balance, fees] = await rpc.askAll([
    question('eth_getTransactionCount', [address, 'latest'], smallQuantity),
    question('eth_getTransactionCount', [address, 'pending'], smallQuantity),
    question('eth_getBalance', [address, 'latest'], quantity),
    question('eth_feeHistory', ['0x1', 'latest', []], baseFees),
  ])
  // The history of one block ends with the base fee of the next.
  return {
    minedCount,
    pendingCount: Math.max(minedCount, pendingCount),
    balance,
    nextBaseFeePerGas: fees.at(-1) ?? 0n,
  }
}
