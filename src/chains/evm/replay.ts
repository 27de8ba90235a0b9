// Why a mined transaction failed. A receipt does not say it, so the transaction's call is made again: on the state
// before its block, and, if that succeeds, on the state after it. Neither has exactly the earlier transactions of the
// block.

import type { Hex } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { bytes, nullable, quantity, rawAddress, record, toQuantity, unlessUnavailable } from '../node/wire.ts'
import { checksum } from './address.ts'
import { transactionObject } from './call.ts'
import { describeFailures, type Failed, failedBy } from './failures.ts'
import type { NodeContext } from './limits.ts'
import { isBlockMissing, isExecutionFailure, isNoFunds, isRevert, isStateMissing } from './node-errors.ts'

const STATE_GONE = 'the node no longer has the state that would show why'
const SUCCEEDS =
  'its call alone succeeds on the states before and after its block, so it depended on others in the block'

const parseCall = (value: unknown) => {
  const transaction = record(value)
  const to = nullable(rawAddress)(transaction.to)
  return {
    from: rawAddress(transaction.from),
    call: {
      to: to && checksum(to),
      value: quantity(transaction.value),
      input: bytes(transaction.input),
      gasLimit: quantity(transaction.gas),
    },
  }
}

type Call = ReturnType<typeof parseCall>

type Mined = { readonly hash: Hex; readonly blockNumber: bigint }

const failureAt = async (
  { rpc }: NodeContext,
  { from, call }: Call,
  blockNumber: bigint,
): Promise<Failed | 'succeeds' | 'poor' | 'state_gone'> => {
  const answer = await rpc.try(question('eth_call', [transactionObject(from, call), toQuantity(blockNumber)], bytes))
  if (answer.ok) return 'succeeds'
  if (isRevert(answer.error)) return failedBy(answer.error)
  // It was mined, so its sender had the coins: another transaction of the block brought or took them.
  if (isNoFunds(answer.error)) return 'poor'
  if (isStateMissing(answer.error) || isBlockMissing(answer.error)) return 'state_gone'
  if (!isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
  return failedBy(answer.error)
}

/** A node may still say "pending" of a transaction whose receipt it has, so its answer is not asked for the block. */
const findReason = async (context: NodeContext, { hash, blockNumber }: Mined): Promise<string | null> => {
  const sent = await context.rpc.ask(question('eth_getTransactionByHash', [hash], nullable(parseCall)))
  if (sent === null || blockNumber === 0n) return null
  const before = await failureAt(context, sent, blockNumber - 1n)
  const found = before === 'succeeds' || before === 'poor' ? await failureAt(context, sent, blockNumber) : before
  if (found === 'state_gone') return STATE_GONE
  if (found === 'poor' || (found === 'succeeds' && before === 'poor')) return null
  if (found === 'succeeds') return SUCCEEDS
  const [reason] = await describeFailures(context, [{ to: sent.call.to, failed: found }])
  return reason ?? found.failure
}

/** See `Delivery.failureReason`. A result must not wait for its reason. */
export const readFailureReason = (context: NodeContext, mined: Mined): Promise<string | null> =>
  unlessUnavailable(findReason(context, mined))
