// Reads the logs of Safes: whether an execution succeeded, and which contract it created. The receipt does not show this,
// because execTransaction can succeed although the inner call failed.

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

/** Safes before 1.4 did not index the hash, so it is in the data, before the payment. */
const isExecution = ({ topics, data }: RawLog, event: Hex | undefined): boolean => {
  const words = topics.length + (data.length - 2) / 64
  return topics[0] === event && topics.length <= 2 && words === 3
}

const emittersOf = (event: Hex | undefined, logs: readonly RawLog[]): readonly string[] => [
  ...new Set(logs.filter((log) => isExecution(log, event)).map(({ address }) => checksum(address))),
]

/** The Safes whose execution succeeded, each once, checksummed. Pure. */
export const executedBy = (logs: readonly RawLog[]): readonly string[] => emittersOf(EXECUTION_SUCCESS, logs)

/** The Safes that a transaction to this address calls. The logs of others do not count, because any contract can emit them. */
const calledBy = (to: string | null, safes: readonly string[]): readonly string[] =>
  to === SAFE_ADDRESSES.multiSendCallOnly ? safes : safes.filter((safe) => safe === to)

/** Whether a Safe's execution failed and used up the signature (safeTxGas above 0). Pure. */
export const isFailedWithin = (to: string | null, logs: readonly RawLog[]): boolean =>
  calledBy(to, emittersOf(EXECUTION_FAILURE, logs)).length > 0

/**
 * The contract that the transaction's Safe created through CreateCall, which emits its log from the Safe's address; null for
 * none or several. Pure.
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
