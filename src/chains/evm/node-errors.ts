// Classifies the errors of nodes. Codes differ by client and messages by version, so each class has a table of patterns with
// their sources. For an error that matches no table, the caller says that the node is unavailable.
// In a revert the message has the words of a contract, which may be any. So a revert is recognised first, and the patterns of
// the other classes are tried only on what the node says of itself: the functions here do so, in whatever order they are called.

import type { Hex } from '../chain.ts'
import type { RpcError } from '../node/rpc.ts'
import { isHex } from '../node/wire.ts'

/** The message of some clients, and where it is in their source. */
export type Pattern = readonly [pattern: RegExp, source: string]

const METHOD_MISSING: readonly Pattern[] = [
  [/method not found/i, 'JSON-RPC 2.0 §5.1; anvil, reth (jsonrpsee), nethermind, besu'],
  [/the method \S+ does not exist\/is not available/i, 'go-ethereum rpc/errors.go; bor, coreth, erigon'],
  [/unsupported method|method .*(?:not supported|unsupported)/i, 'Alchemy, Ankr'],
  [/is not available on the \S+ tier/i, 'Alchemy, trace_block on its free tier'],
  [/method .*(?:not available|not whitelisted|disabled|not allowed)/i, 'op-node proxyd, QuickNode, drpc'],
]

/** JSON-RPC 2.0 §5.1: the method does not exist. -32004 is EIP-1474's "method not supported". */
const METHOD_MISSING_CODES = [-32601, -32004]

const REVERTED: readonly Pattern[] = [
  [/execution reverted/i, 'go-ethereum core/vm/errors.go; anvil, reth, erigon, besu ("Execution reverted")'],
  [/^Reverted\b/, 'nethermind, OpenEthereum'],
  [/VM Exception while processing transaction: revert/i, 'hardhat, ganache'],
]

/** go-ethereum internal/ethapi/errors.go, revertError.ErrorCode. */
const REVERTED_CODE = 3

const NO_FUNDS: readonly Pattern[] = [
  [/insufficient funds/i, 'go-ethereum core/error.go; bor, coreth, op-geth, reth, erigon, nethermind, anvil'],
  [/insufficient (?:sender )?balance/i, 'nethermind before 1.33'],
  [/InsufficientFunds/, 'nethermind AcceptTxResult before 1.36'],
  [/overdraws from account/i, 'reth crates/transaction-pool/src/error.rs'],
  [/upfront cost exceeds account balance/i, 'besu'],
]

/** execution-apis, eth_simulateV1: the error codes for a call that cannot start. */
const NO_FUNDS_CODE = -38014
const NOT_STARTED_CODES = { lowest: -38_025, highest: -38_010 }

const HALTED: readonly Pattern[] = [
  [/out of gas/i, 'go-ethereum core/vm/errors.go; anvil'],
  [/gas required exceeds allowance/i, 'go-ethereum eth/gasestimator; anvil'],
  [/intrinsic gas too (?:low|high)/i, 'go-ethereum core/error.go; anvil'],
  [/exceeds block gas limit|block gas limit reached|gas limit reached/i, 'go-ethereum, nethermind'],
  [/transaction gas limit (?:too high|is greater)/i, 'EIP-7825 in go-ethereum and anvil'],
  [/invalid opcode|opcode .* not defined|invalid jump|bad jump/i, 'go-ethereum core/vm/errors.go'],
  [/stack (?:underflow|overflow|limit reached)/i, 'go-ethereum core/vm/errors.go'],
  [/write protection|return data out of bounds|max call depth exceeded/i, 'go-ethereum core/vm/errors.go'],
  [/max (?:init)?code size exceeded|must not begin with 0xef/i, 'go-ethereum; EIP-170, EIP-3860, EIP-3541'],
  [/contract address collision|contract creation code storage out of gas/i, 'go-ethereum core/vm/errors.go'],
  [/sender not an eoa|EIP-3607/i, 'go-ethereum core/error.go, reth'],
  [/gas uint64 overflow/i, 'go-ethereum core/error.go'],
  [/^EVM error /, 'anvil crates/anvil/src/eth/error.rs'],
  [/VM execution error/i, 'nethermind, OpenEthereum'],
  [/execution (?:failed|error|halted)/i, 'anvil eth_simulateV1, reth ("execution halted")'],
]

const RANGE_TOO_WIDE: readonly Pattern[] = [
  [/query returned more than \d+ results/i, 'Infura; zkEVM nodes'],
  [/range \d+ exceeds limit of \d+/i, 'Infura since 2026 (INFURA/infura issue 237)'],
  [/query timeout exceeded|request timed? ?out/i, 'Infura (10 s), proxies in front of erigon'],
  [/log response size exceeded|this block range should work/i, 'Alchemy (ethers.js issue 4703)'],
  [/up to a [\d,.]+k? block range/i, 'Alchemy free tier, Aurora'],
  [/limited to (?:a )?[\d,.]+k?(?: - [\d,.]+k?)? (?:blocks?|range)/i, 'QuickNode, 1RPC, BlockPI'],
  [/block range (?:is )?too (?:wide|large)|range is too large/i, 'Ankr, Base, Optimism, merkle'],
  [/block range (?:limit exceeded|exceeds|greater than)/i, 'Chainstack, erigon rpc.blockrange.limit'],
  [/max(?:imum)? (?:allowed )?(?:block )?range/i, 'Cloudflare, PublicNode'],
  [/maximum (?:allowed )?number of requested blocks/i, 'thirdweb'],
  [/requested too many blocks from \d+ to \d+/i, 'coreth eth/filters (api-max-blocks-per-request)'],
  [/limit the query to at most [\d,.]+ blocks/i, 'Coinbase (Base)'],
  [/exceeds? max (?:results|block range)/i, 'LlamaNodes, reth rpc.max-logs-per-response and rpc.max-blocks-per-filter'],
  [/exceeds the range allowed for your plan/i, 'Blast API'],
  [/logs matched by query exceeds limit/i, 'Arbitrum nitro'],
  [
    /response (?:is )?too large|response size (?:should not|is|exceeded)|backend response too large/i,
    'op-geth proxyd, 1RPC, go-ethereum batch-response-max-size',
  ],
  [/exceed maximum block range|blocks distance/i, 'bor, Ankr'],
]

const STATE_MISSING: readonly Pattern[] = [
  [/missing trie node/i, 'go-ethereum trie/errors.go, hash scheme; bor'],
  [/historical state|state .*not available|state unavailable/i, 'go-ethereum, path scheme'],
  [/no state available/i, 'nethermind'],
  [/\bpruned\b|due to pruning/i, 'reth; erigon db/state, PrunedError'],
  [/data before txNum\S* is not available/i, 'erigon 3.0 (issue 13198)'],
  [/required data unavailable|resource not found/i, 'anvil crates/anvil/src/eth/error.rs'],
]

const HISTORY_PRUNED: readonly Pattern[] = [
  [/\bpruned\b/i, 'go-ethereum core/history; besu, nethermind, reth ("pruned history unavailable")'],
  [/not available due to pruning/i, 'erigon db/state, PrunedError'],
  [/data before txNum\S* is not available/i, 'erigon 3.0 (issue 13198)'],
  [
    /receipts? not available for|receipts .*(?:unavailable|neither stored)/i,
    'nethermind LogFinder (issue 5230); reth (pull request 27002)',
  ],
  [/failed to get logs for block/i, 'go-ethereum eth/filters (issues 23875, 31939)'],
  [/archive requests require/i, 'PublicNode, for logs and blocks that are not recent'],
]

/** The code that execution-apis gives for history that was pruned (EIP-4444). */
const HISTORY_PRUNED_CODE = 4444

const PENDING_MISSING: readonly Pattern[] = [
  [/pending (?:state|block) is not available/i, 'go-ethereum eth/api_backend.go; bor where it does not mine'],
  [/pending (?:block|tag|state) .*not supported/i, 'coreth (allow-unfinalized-queries), hosted nodes'],
]

const BLOCK_MISSING: readonly Pattern[] = [
  [/BlockOutOfRange/, 'anvil crates/anvil/src/eth/error.rs'],
  [/unknown block|block (?:\S+ )?not found|header not found/i, 'go-ethereum, besu, erigon, reth'],
  [/beyond (?:the )?current head|cannot find block/i, 'go-ethereum eth/filters, erigon, nethermind'],
]

/** Whether a message matches one of the patterns. Pure. */
export const isKnown = (table: readonly Pattern[], message: string): boolean =>
  table.some(([pattern]) => pattern.test(message))

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
 * Whether the message may have the words of a contract. zkSync gives every refusal the code of a revert, and `0x` where no contract
 * returned anything (zksync-era core/node/api_server, SubmitTransactionError): that message is the node's own.
 */
export const mayQuoteContract = (error: Pick<RpcError, 'code' | 'message' | 'data'>): boolean =>
  isRevert(error) && (error.data !== '0x' || isKnown(REVERTED, error.message))

/** Whether the node says this of itself. */
const says = (error: RpcError, table: readonly Pattern[]): boolean =>
  !mayQuoteContract(error) && isKnown(table, error.message)

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

/** The node has no pending state. */
export const isPendingMissing = (error: RpcError): boolean => says(error, PENDING_MISSING)

/** The node does not have the block, or not yet. Another node behind the same URL may have it. */
export const isBlockMissing = (error: RpcError): boolean => says(error, BLOCK_MISSING)

/** The node no longer has the state of that block, so it cannot trace the block. */
export const isStateMissing = (error: RpcError): boolean => says(error, STATE_MISSING)

/** The node has pruned that block or its receipts. */
export const isHistoryPruned = (error: RpcError): boolean =>
  error.code === HISTORY_PRUNED_CODE || says(error, HISTORY_PRUNED)

const CREATION_UNSUPPORTED: readonly Pattern[] = [[/missing keys: \["to"\]/, 'anvil 1.7, eth_simulateV1']]

/** eth_simulateV1 of the node does not support contract creations. */
export const cannotSimulateCreation = (error: RpcError): boolean => says(error, CREATION_UNSUPPORTED)
