// Sends transactions, and reads their status.

import { parseAbi, toEventSelector } from 'viem/utils'
import { REFUSALS, type Refusal } from '../../../db/words.ts'
import type { AskedHash, BroadcastOutcome, HashStatus, Hex } from '../chain.ts'
import { NodeUnavailable, type Question, question, type Rpc, type RpcError } from '../node/rpc.ts'
import { hash, listOf, nullable, quantity, rawAddress, record } from '../node/wire.ts'
import { cleanText } from '../text.ts'
import { checksum } from './address.ts'
import messages from './known-messages.json' with { type: 'json' }
import { isKnown, type Messages, mayQuoteContract, patternsIn } from './node-errors.ts'
import { SAFE_ADDRESSES } from './safe/settings.ts'
import { parseLog, type RawLog } from './simulate.ts'

// Reads the logs of Safes: whether an execution succeeded, and which contract it created. The receipt does not show
// this, because execTransaction can succeed although the inner call failed.

const EVENTS = parseAbi([
  'event ExecutionSuccess(bytes32 indexed txHash, uint256 payment)',
  'event ExecutionFailure(bytes32 indexed txHash, uint256 payment)',
  'event ContractCreation(address indexed newContract)',
])
const [EXECUTION_SUCCESS, EXECUTION_FAILURE, CONTRACT_CREATION] = EVENTS.map(toEventSelector)

/** Safes before 1.4 did not index the hash, so it is in the data, before the payment. */
const isExecution = ({ topics, data }: RawLog, event: Hex | undefined): boolean => {
  const words = topics.length + (data.length - 2) / 64
  return topics[0] === event && topics.length <= 2 && words === 3
}

const findEmitters = (event: Hex | undefined, logs: readonly RawLog[]): readonly string[] => [
  ...new Set(logs.filter((log) => isExecution(log, event)).map(({ address }) => checksum(address))),
]

/** The Safes whose execution succeeded, each once, checksummed. Pure. */
export const executedBy = (logs: readonly RawLog[]): readonly string[] => findEmitters(EXECUTION_SUCCESS, logs)

/** The Safes that a transaction to this address calls. Any contract can emit such logs, so only these Safes count. */
const calledBy = (to: string | null, safes: readonly string[]): readonly string[] =>
  to === SAFE_ADDRESSES.multiSendCallOnly ? safes : safes.filter((safe) => safe === to)

/** Whether a Safe's execution failed and used up the signature (safeTxGas above 0). Pure. */
export const isFailedWithin = (to: string | null, logs: readonly RawLog[]): boolean =>
  calledBy(to, findEmitters(EXECUTION_FAILURE, logs)).length > 0

/**
 * The contract that the transaction's Safe created through CreateCall, which emits its log from the Safe's address;
 * null for none or several. Pure.
 */
export const createdBy = (to: string | null, logs: readonly RawLog[]): string | null => {
  const safes = calledBy(to, executedBy(logs))
  const created = logs.filter(
    ({ address, topics }) =>
      topics[0] === CONTRACT_CREATION && topics.length === 2 && safes.includes(checksum(address)),
  )
  const topic = created[0]?.topics[1]
  if (created.length !== 1 || topic === undefined) return null
  return checksum(rawAddress(`0x${topic.slice(26)}`))
}

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
  const known = new Map(withoutReceipt.map((hash, index) => [hash, answers[index]]))
  return hashes.map((hash, index) => {
    const receipt = receipts[index] ?? null
    return receipt === null ? unmined(known.get(hash)) : mined(receipt, newest)
  })
}

// Classifies the answers to eth_sendRawTransaction. The first kind with a matching pattern decides. All other refusals,
// time-outs, 5xx and unreadable answers are `unknown`: the transaction may be in a pool, so its nonce stays in use. A
// node that simulates before it accepts may answer with the words of a contract, which say nothing about the pool.

const REASON_LIMIT = 200

const KINDS = ['accepted', 'nonce_too_low', 'nonce_too_high', 'insufficient_funds', 'underpriced'] as const
const PATTERNS = KINDS.map((kind) => ({ kind, patterns: patternsIn(messages.broadcast[kind]) }))

const REFUSED: Readonly<Partial<Record<Refusal, Messages>>> = messages.refused
const REFUSAL_PATTERNS = REFUSALS.map((refusal) => ({ refusal, patterns: patternsIn(REFUSED[refusal] ?? {}) }))

export const classifyRefusal = (error: Pick<RpcError, 'code' | 'message' | 'data'>): BroadcastOutcome => {
  // nethermind before 1.36 puts the reason into `data` and a general text into `message`.
  const text = typeof error.data === 'string' ? `${error.message} ${error.data}` : error.message
  const reason = cleanText(text, REASON_LIMIT)
  if (mayQuoteContract(error)) return { kind: 'rejected', refusal: 'reverts', reason }
  const { kind } = PATTERNS.find(({ patterns }) => isKnown(patterns, text)) ?? {}
  if (kind === 'insufficient_funds' || kind === 'underpriced') return { kind, reason }
  if (kind !== undefined) return { kind }
  const { refusal } = REFUSAL_PATTERNS.find(({ patterns }) => isKnown(patterns, text)) ?? {}
  return refusal === undefined ? { kind: 'unknown', reason } : { kind: 'rejected', refusal, reason }
}

/** Sends once. Any refusal or failure of the node is an outcome and not thrown. */
export const broadcast = async (rpc: Rpc, raw: Hex): Promise<BroadcastOutcome> => {
  try {
    const answer = await rpc.try(question('eth_sendRawTransaction', [raw], hash))
    return answer.ok ? { kind: 'accepted' } : classifyRefusal(answer.error)
  } catch (error) {
    if (error instanceof NodeUnavailable) return { kind: 'unknown', reason: error.message }
    throw error
  }
}
