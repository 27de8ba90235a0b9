// Sends an extrinsic to the node and maps the node's errors (sc_rpc_api::author::error, sc_transaction_pool_api::error).
// Nothing is retried here.

import type { BroadcastOutcome, Hex } from '../chain.ts'
import { NodeUnavailable, question, type Rpc, type RpcError } from '../node/rpc.ts'
import { hash } from '../node/wire.ts'

const INVALID = 1010
const UNKNOWN_VALIDITY = 1011
const TEMPORARILY_BANNED = 1012
const ALREADY_IMPORTED = 1013
const TOO_LOW_PRIORITY = 1014
const IMMEDIATELY_DROPPED = 1016

/** Nodes give the reason in the error's message or in its data: "Transaction is outdated", "… { Stale }". */
const textOf = ({ message, data }: RpcError): string => `${message} ${typeof data === 'string' ? data : ''}`.trim()

const outcomeOf = (error: RpcError): BroadcastOutcome => {
  const reason = textOf(error)
  switch (error.code) {
    case ALREADY_IMPORTED:
      return { kind: 'accepted' }
    case TOO_LOW_PRIORITY:
      return { kind: 'underpriced', reason }
    // The extrinsic itself may be valid: the pool may be full, for example.
    case IMMEDIATELY_DROPPED:
    case TEMPORARILY_BANNED:
    case UNKNOWN_VALIDITY:
      return { kind: 'unknown', reason }
    case INVALID:
      if (/outdated|stale/i.test(reason)) return { kind: 'nonce_too_low' }
      if (/in the future|future/i.test(reason)) return { kind: 'nonce_too_high' }
      if (/pay some fees|payment|balance/i.test(reason)) return { kind: 'insufficient_funds', reason }
      return { kind: 'rejected', refusal: 'other', reason }
    default:
      return /already imported/i.test(reason) ? { kind: 'accepted' } : { kind: 'rejected', refusal: 'other', reason }
  }
}

/** Sends an extrinsic. An error of the node, or a node that cannot be reached, is an outcome and not an exception. */
export const broadcast = async (outbound: Rpc, raw: Hex): Promise<BroadcastOutcome> => {
  try {
    const answer = await outbound.try(question('author_submitExtrinsic', [raw], hash))
    return answer.ok ? { kind: 'accepted' } : outcomeOf(answer.error)
  } catch (error) {
    if (error instanceof NodeUnavailable) return { kind: 'unknown', reason: error.message }
    throw error
  }
}
