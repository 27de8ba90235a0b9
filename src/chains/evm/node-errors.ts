// Classifies the errors of nodes. Codes differ by client and messages by version, so known-messages.json has a table of
// patterns for each class, and beside each pattern the clients and where it is in their source. A pattern is written as
// a literal of JavaScript. For an error that matches no table, the caller says that the node is unavailable.
//
// In a revert the message has the words of a contract, which may be any. So a revert is recognised first, and the
// patterns of the other classes are tried only on what the node says of itself: the functions here do so, in any order.

import type { Hex } from '../chain.ts'
import type { RpcError } from '../node/rpc.ts'
import { isHex } from '../node/wire.ts'
import messages from './known-messages.json' with { type: 'json' }

/** Patterns of messages, each with its source. */
export type Messages = Readonly<Record<string, string>>

export const patternsIn = (table: Messages): readonly RegExp[] =>
  Object.keys(table).map((literal) => {
    const end = literal.lastIndexOf('/')
    return new RegExp(literal.slice(1, end), literal.slice(end + 1))
  })

const METHOD_MISSING = patternsIn(messages.errors.method_missing)

/** JSON-RPC 2.0 §5.1: the method does not exist. -32004 is EIP-1474's "method not supported". */
const METHOD_MISSING_CODES = [-32601, -32004]

const REVERTED = patternsIn(messages.errors.reverted)

/** go-ethereum internal/ethapi/errors.go, revertError.ErrorCode. */
const REVERTED_CODE = 3

const NO_FUNDS = patternsIn(messages.errors.no_funds)

/** execution-apis, eth_simulateV1: the error codes for a call that cannot start. */
const NO_FUNDS_CODE = -38014
const NOT_STARTED_CODES = { lowest: -38_025, highest: -38_010 }

const HALTED = patternsIn(messages.errors.halted)
const RANGE_TOO_WIDE = patternsIn(messages.errors.range_too_wide)
const STATE_MISSING = patternsIn(messages.errors.state_missing)
const HISTORY_PRUNED = patternsIn(messages.errors.history_pruned)

/** The code that execution-apis gives for history that was pruned (EIP-4444). */
const HISTORY_PRUNED_CODE = 4444

const PENDING_MISSING = patternsIn(messages.errors.pending_missing)
const BLOCK_MISSING = patternsIn(messages.errors.block_missing)
const CREATION_UNSUPPORTED = patternsIn(messages.errors.creation_unsupported)

export const isKnown = (patterns: readonly RegExp[], message: string): boolean =>
  patterns.some((pattern) => pattern.test(message))

/**
 * The bytes that a reverted execution returned; null if the node did not send any.
 * go-ethereum: `data` is hex; nethermind: `Reverted 0x…`; hardhat: an object with a `data` of its own.
 */
export const revertData = (error: Pick<RpcError, 'data'>): Hex | null => {
  const data =
    typeof error.data === 'object' && error.data !== null && 'data' in error.data ? error.data.data : error.data
  if (typeof data !== 'string') return null
  const hex = data.replace(/^Reverted\s+/, '')
  return isHex(hex) ? hex : null
}

/** The execution ended in a revert: by the code, the words or the returned bytes. */
export const isRevert = (error: Pick<RpcError, 'code' | 'message' | 'data'>): boolean =>
  error.code === REVERTED_CODE ||
  isKnown(REVERTED, error.message) ||
  (typeof error.data === 'string' && error.data.startsWith('Reverted')) ||
  (revertData(error) ?? '0x') !== '0x'

/**
 * Whether the message may have the words of a contract. zkSync gives every refusal the code of a revert, and `0x` where
 * no contract returned anything (zksync-era core/node/api_server, SubmitTransactionError): that is the node's own.
 */
export const mayQuoteContract = (error: Pick<RpcError, 'code' | 'message' | 'data'>): boolean =>
  isRevert(error) && (error.data !== '0x' || isKnown(REVERTED, error.message))

/** Whether the node says this of itself. */
const says = (error: RpcError, patterns: readonly RegExp[]): boolean =>
  !mayQuoteContract(error) && isKnown(patterns, error.message)

/** The node does not have the method, or the provider's plan does not include it. */
export const isMethodMissing = (error: RpcError): boolean =>
  METHOD_MISSING_CODES.includes(error.code) || says(error, METHOD_MISSING)

/** The sender cannot pay the value, or the gas if the question named fees. */
export const isNoFunds = (error: RpcError): boolean => error.code === NO_FUNDS_CODE || says(error, NO_FUNDS)

/** The execution ended in another way: out of gas, an invalid instruction, code too large. */
const isHalt = (error: RpcError): boolean => {
  const { lowest, highest } = NOT_STARTED_CODES
  return (error.code >= lowest && error.code <= highest) || says(error, HALTED)
}

/** The node ran the call, and it failed. Any other error is a refusal to run it. */
export const isExecutionFailure = (error: RpcError): boolean => isRevert(error) || isNoFunds(error) || isHalt(error)

/** From the text of a failure: the node applies EIP-3607 to simulations too, so it runs no call from a contract. */
export const isContractSenderRefused = (failure: string): boolean =>
  /^execution failed: .*(?:sender not an eoa|EIP-3607)/i.test(failure)

/** Too many blocks or too many results. */
export const isRangeTooWide = (error: RpcError): boolean => says(error, RANGE_TOO_WIDE)

export const isPendingMissing = (error: RpcError): boolean => says(error, PENDING_MISSING)

/** The node does not have the block, or not yet. Another node behind the same URL may have it. */
export const isBlockMissing = (error: RpcError): boolean => says(error, BLOCK_MISSING)

/** The node no longer has the state of that block, so it cannot trace the block. */
export const isStateMissing = (error: RpcError): boolean => says(error, STATE_MISSING)

export const isHistoryPruned = (error: RpcError): boolean =>
  error.code === HISTORY_PRUNED_CODE || says(error, HISTORY_PRUNED)

/** eth_simulateV1 of the node does not support contract creations. */
export const cannotSimulateCreation = (error: RpcError): boolean => says(error, CREATION_UNSUPPORTED)
