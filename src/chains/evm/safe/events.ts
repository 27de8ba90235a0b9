// What a Safe's logs tell of a transaction: that it did what it was told, and which contract it created. The receipt alone
// does not: execTransaction may end well where what it was told to do failed.

import { parseAbi, toEventSelector } from 'viem'
import type { Hex } from '../../chain.ts'
import { rawAddress } from '../../node/wire.ts'
import { checksum } from '../address.ts'
import type { RawLog } from '../simulate.ts'
import { SAFE_ADDRESSES } from './settings.ts'

const EVENTS = parseAbi([
  'event ExecutionSuccess(bytes32 indexed txHash, uint256 payment)',
  'event ExecutionFailure(bytes32 indexed txHash, uint256 payment)',
  'event ContractCreation(address indexed newContract)',
])
const [EXECUTION_SUCCESS, EXECUTION_FAILURE, CONTRACT_CREATION] = EVENTS.map(toEventSelector)

/** Safes before 1.4 did not index the hash: it then comes before the payment. */
const isExecution = ({ topics, data }: RawLog, event: Hex | undefined): boolean => {
  const words = topics.length + (data.length - 2) / 64
  return topics[0] === event && topics.length <= 2 && words === 3
}

const emittersOf = (event: Hex | undefined, logs: readonly RawLog[]): readonly string[] => [
  ...new Set(logs.filter((log) => isExecution(log, event)).map(({ address }) => checksum(address))),
]

/** The Safes that did what they were told, each once, checksummed. Pure. */
export const executedBy = (logs: readonly RawLog[]): readonly string[] => emittersOf(EXECUTION_SUCCESS, logs)

/** Those of these Safes that a transaction to this address tells what to do: other contracts may say what they like. */
const toldBy = (to: string | null, safes: readonly string[]): readonly string[] =>
  to === SAFE_ADDRESSES.multiSendCallOnly ? safes : safes.filter((safe) => safe === to)

/** Whether a Safe used the signature up and did not do what the transaction told it (safeTxGas above 0). Pure. */
export const isFailedWithin = (to: string | null, logs: readonly RawLog[]): boolean =>
  toldBy(to, emittersOf(EXECUTION_FAILURE, logs)).length > 0

/**
 * The contract that a Safe created as the transaction told it, through CreateCall, which logs in the Safe's name; null for
 * none or several. Pure.
 */
export const createdBy = (to: string | null, logs: readonly RawLog[]): string | null => {
  const safes = toldBy(to, executedBy(logs))
  const created = logs.filter(
    ({ address, topics }) =>
      topics[0] === CONTRACT_CREATION && topics.length === 2 && safes.includes(checksum(address)),
  )
  const topic = created[0]?.topics[1]
  if (created.length !== 1 || topic === undefined) return null
  return checksum(rawAddress(`0x${topic.slice(26)}`))
}
