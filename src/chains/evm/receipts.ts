// Receipts and logs as the indexer needs them.

import type { Hex } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { hash, listOf, nullable, quantity, rawAddress, record, smallQuantity, toQuantity } from '../node/wire.ts'
import { parseLog, type RawLog } from './simulate.ts'

/** A log with its position in the chain. */
export type MinedLog = RawLog & {
  readonly blockHash: Hex
  readonly blockNumber: bigint
  readonly transactionHash: Hex
  readonly transactionIndex: number
  readonly logIndex: number
}

export const parseMinedLog = (value: unknown): MinedLog => {
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

/** `contractAddress` is that of the created contract. Some nodes set it for plain calls too. */
export type Receipt = {
  readonly transactionHash: Hex
  readonly blockHash: Hex
  readonly success: boolean
  readonly contractAddress: Hex | null
  readonly logs: readonly MinedLog[]
}

const parseReceipt = (value: unknown): Receipt => {
  const receipt = record(value)
  return {
    transactionHash: hash(receipt.transactionHash),
    blockHash: hash(receipt.blockHash),
    success: quantity(receipt.status) === 1n,
    contractAddress: nullable(rawAddress)(receipt.contractAddress),
    logs: listOf(parseMinedLog)(receipt.logs),
  }
}

/** All receipts of a block; null if the node does not have the block. Not every node has this method. */
export const blockReceiptsQuestion = (number: bigint): Question<readonly Receipt[] | null> =>
  question('eth_getBlockReceipts', [toQuantity(number)], nullable(listOf(parseReceipt)))

/** One receipt; null for a transaction that is not mined. */
export const receiptQuestion = (transactionHash: Hex): Question<Receipt | null> =>
  question('eth_getTransactionReceipt', [transactionHash], nullable(parseReceipt))
