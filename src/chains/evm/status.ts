import type { HashStatus, Hex } from '../chain.ts'
import { checksum } from './address.ts'
import { question, type Rpc } from './rpc.ts'
import { hash, type JsonRecord, nullable, quantity, rawAddress, record } from './wire.ts'

type Receipt = {
  readonly success: boolean
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly contractAddress: string | null
}

const parseReceipt = (value: unknown): Receipt => {
  const receipt = record(value)
  const created = nullable(rawAddress)(receipt.contractAddress)
  // Some nodes fill in contractAddress for plain calls too.
  const isCreation = receipt.to === null || receipt.to === undefined
  return {
    success: quantity(receipt.status) === 1n,
    blockNumber: quantity(receipt.blockNumber),
    blockHash: hash(receipt.blockHash),
    contractAddress: isCreation && created !== null ? checksum(created) : null,
  }
}

/** Where a hash stands, in one round trip. @throws NodeUnavailable. */
export const readStatus = async (rpc: Rpc, transactionHash: Hex): Promise<HashStatus> => {
  const [receipt, transaction, newest]: readonly [Receipt | null, JsonRecord | null, bigint] = await rpc.askAll([
    question('eth_getTransactionReceipt', [transactionHash], nullable(parseReceipt)),
    question('eth_getTransactionByHash', [transactionHash], nullable(record)),
    question('eth_blockNumber', [], quantity),
  ])
  if (receipt === null) return transaction === null ? { kind: 'unknown' } : { kind: 'pending' }
  const depth = Number(newest - receipt.blockNumber) + 1
  // The receipt and the newest block may come from two nodes behind one address, one of them behind.
  return { kind: 'mined', ...receipt, confirmations: Math.max(1, depth) }
}
