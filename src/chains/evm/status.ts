import type { AskedHash, HashStatus, Hex } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { hash, listOf, nullable, quantity, rawAddress, record } from '../node/wire.ts'
import { checksum } from './address.ts'
import { createdBy, executedBy, isFailedWithin } from './safe/events.ts'
import { parseLog } from './simulate.ts'

type Receipt = Omit<Extract<HashStatus, { kind: 'mined' }>, 'kind' | 'confirmations'>

const parseReceipt = (value: unknown): Receipt => {
  const receipt = record(value)
  const created = nullable(rawAddress)(receipt.contractAddress)
  // Some nodes set contractAddress for plain calls too.
  const isCreation = receipt.to === null || receipt.to === undefined
  const to = isCreation ? null : checksum(rawAddress(receipt.to))
  const logs = nullable(listOf(parseLog))(receipt.logs) ?? []
  return {
    success: quantity(receipt.status) === 1n,
    // A receipt does not contain the reason.
    reason: null,
    blockNumber: quantity(receipt.blockNumber),
    blockHash: hash(receipt.blockHash),
    contractAddress: isCreation ? created && checksum(created) : createdBy(to, logs),
    executedBy: executedBy(logs),
    failedWithin: isFailedWithin(to, logs),
  }
}

const receiptQuestion = (transactionHash: Hex): Question<Receipt | null> =>
  question('eth_getTransactionReceipt', [transactionHash], nullable(parseReceipt))

const isKnownQuestion = (transactionHash: Hex): Question<boolean> =>
  question('eth_getTransactionByHash', [transactionHash], (value) => nullable(record)(value) !== null)

const newestQuestion: Question<bigint> = question('eth_blockNumber', [], quantity)

const mined = (receipt: Receipt, newest: bigint): HashStatus => {
  const depth = Number(newest - receipt.blockNumber) + 1
  // Receipt and newest block may come from two nodes behind one URL that are at different blocks.
  return { kind: 'mined', ...receipt, confirmations: Math.max(1, depth) }
}

const unmined = (isKnown: boolean | undefined): HashStatus => ({ kind: isKnown === true ? 'pending' : 'unknown' })

/** Reads the status of a transaction in one round trip. */
export const readStatus = async (rpc: Rpc, transactionHash: Hex): Promise<HashStatus> => {
  const [receipt, isKnown, newest]: readonly [Receipt | null, boolean, bigint] = await rpc.askAll([
    receiptQuestion(transactionHash),
    isKnownQuestion(transactionHash),
    newestQuestion,
  ])
  return receipt === null ? unmined(isKnown) : mined(receipt, newest)
}

/** Reads all receipts, then asks whether the node knows the transactions without a receipt. */
export const readStatuses = async (rpc: Rpc, asked: readonly AskedHash[]): Promise<readonly HashStatus[]> => {
  const hashes = asked.map(({ hash }) => hash)
  if (hashes.length === 0) return []
  const [newest, ...receipts]: readonly [bigint, ...(Receipt | null)[]] = await rpc.askAll([
    newestQuestion,
    ...hashes.map(receiptQuestion),
  ])
  const withoutReceipt = hashes.filter((_, index) => receipts[index] === null)
  const answers: readonly boolean[] = await rpc.askAll(withoutReceipt.map(isKnownQuestion))
  const isKnown = new Map(withoutReceipt.map((hash, index) => [hash, answers[index]]))
  return hashes.map((hash, index) => {
    const receipt = receipts[index] ?? null
    return receipt === null ? unmined(isKnown.get(hash)) : mined(receipt, newest)
  })
}
