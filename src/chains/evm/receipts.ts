// Receipts and logs as the indexer needs them.

import type { Hex } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { hash, listOf, nullable, quantity, rawAddress, record, smallQuantity, toQuantity } from '../node/wire.ts'
import { parseLog } from './simulate.ts'

export const parseMinedLog = (value: unknown) => {
  const log = record(value)
  return {
    ...parseLog(value),
    blockHash: hash(log.blockHash),
    blockNumber: quantity(log.blockNumber),
    transactionHash: hash(log.transactionHash),
    transactionIndex: smallQuantity(log.transactionIndex),
    logIndex: smallQuantity(log.logIndex),
  }
}

export type MinedLog = ReturnType<typeof parseMinedLog>

const parseReceipt = (value: unknown) => {
  const receipt = record(value)
  return {
    transactionHash: hash(receipt.transactionHash),
    blockHash: hash(receipt.blockHash),
    success: quantity(receipt.status) === 1n,
    // Of the created contract. Some nodes set it for plain calls too.
    contractAddress: nullable(rawAddress)(receipt.contractAddress),
    logs: listOf(parseMinedLog)(receipt.logs),
  }
}

export type Receipt = ReturnType<typeof parseReceipt>

/** All receipts of a block; null if the node does not have the block. Not every node has this method. */
export const blockReceiptsQuestion = (number: bigint): Question<readonly Receipt[] | null> =>
  question('eth_getBlockReceipts', [toQuantity(number)], nullable(listOf(parseReceipt)))

/** One receipt; null for a transaction that is not mined. */
export const receiptQuestion = (transactionHash: Hex): Question<Receipt | null> =>
  question('eth_getTransactionReceipt', [transactionHash], nullable(parseReceipt))
