// What nodes mean by their refusals. Codes differ by client and messages by version, so each class is a table of patterns
// with the source of each. What no table knows stays unknown: the caller then says that the node is unavailable.

import type { Hex } from '../chain.ts'
import type { RpcError } from '../node/rpc.ts'
import { isHex } from '../node/wire.ts'

/** One spelling, and where it is from. */
export type Pattern = { readonly pattern: RegExp; readonly source: string }

const METHOD_MISSING: readonly Pattern[] = [
  { pattern: /method not found/i, source: 'JSON-RPC 2.0 §5.1; anvil, reth (jsonrpsee), nethermind, besu' },
  {
    pattern: /the method \S+ does not exist\/is not available/i,
    source: 'go-ethereum rpc/errors.go; bor, coreth, erigon',
  },
  { pattern: /unsupported method|method .*(?:not supported|unsupported)/i, source: 'Alchemy, Ankr' },
  { pattern: /is not available on the \S+ tier/i, source: 'Alchemy, trace_block on its free tier' },
  {
    pattern: /method .*(?:not available|not whitelisted|disabled|not allowed)/i,
    source: 'op-node proxyd, QuickNode, drpc',
  },
]

/** JSON-RPC 2.0 §5.1: the method does not exist. -32004 is EIP-1474's "method not supported". */
const METHOD_MISSING_CODES = [-32601, -32004]

const REVERTED: readonly Pattern[] = [
  {
    pattern: /execution reverted/i,
    source: 'go-ethereum core/vm/errors.go; anvil, reth, erigon, besu ("Execution reverted")',
  },
  { pattern: /^Reverted\b/, source: 'nethermind, OpenEthereum' },
  { pattern: /VM Exception while processing transaction: revert/i, source: 'hardhat, ganache' },
]

/** go-ethereum internal/ethapi/errors.go, revertError.ErrorCode. */
const REVERTED_CODE = 3

const NO_FUNDS: readonly Pattern[] = [
  {
    pattern: /insufficient funds/i,
    source: 'go-ethereum core/error.go; bor, coreth, op-geth, reth, erigon, nethermind, anvil',
  },
  { pattern: /insufficient (?:sender )?balance/i, source: 'nethermind before 1.33' },
  { pattern: /InsufficientFunds/, source: 'nethermind AcceptTxResult before 1.36' },
  { pattern: /overdraws from account/i, source: 'reth crates/transaction-pool/src/error.rs' },
  { pattern: /upfront cost exceeds account balance/i, source: 'besu' },
]

/** execution-apis, eth_simulateV1: the codes of a call that cannot even start, from nonce to init code size. */
const NO_FUNDS_CODE = -38014
const NOT_STARTED_CODES = { lowest: -38_025, highest: -38_010 }

const HALTED: readonly Pattern[] = [
  { pattern: /out of gas/i, source: 'go-ethereum core/vm/errors.go; anvil' },
  { pattern: /gas required exceeds allowance/i, source: 'go-ethereum eth/gasestimator; anvil' },
  { pattern: /intrinsic gas too (?:low|high)/i, source: 'go-ethereum core/error.go; anvil' },
  { pattern: /exceeds block gas limit|block gas limit reached|gas limit reached/i, source: 'go-ethereum, nethermind' },
  { pattern: /transaction gas limit (?:too high|is greater)/i, source: 'EIP-7825 in go-ethereum and anvil' },
  { pattern: /invalid opcode|opcode .* not defined|invalid jump|bad jump/i, source: 'go-ethereum core/vm/errors.go' },
  { pattern: /stack (?:underflow|overflow|limit reached)/i, source: 'go-ethereum core/vm/errors.go' },
  {
    pattern: /write protection|return data out of bounds|max call depth exceeded/i,
    source: 'go-ethereum core/vm/errors.go',
  },
  {
    pattern: /max (?:init)?code size exceeded|must not begin with 0xef/i,
    source: 'go-ethereum; EIP-170, EIP-3860, EIP-3541',
  },
  {
    pattern: /contract address collision|contract creation code storage out of gas/i,
    source: 'go-ethereum core/vm/errors.go',
  },
  { pattern: /sender not an eoa|EIP-3607/i, source: 'go-ethereum core/error.go, reth' },
  { pattern: /gas uint64 overflow/i, source: 'go-ethereum core/error.go' },
  { pattern: /^EVM error /, source: 'anvil crates/anvil/src/eth/error.rs' },
  { pattern: /VM execution error/i, source: 'nethermind, OpenEthereum' },
  { pattern: /execution (?:failed|error|halted)/i, source: 'anvil eth_simulateV1, reth ("execution halted")' },
]

const RANGE_TOO_WIDE: readonly Pattern[] = [
  { pattern: /query returned more than \d+ results/i, source: 'Infura; zkEVM nodes' },
  { pattern: /range \d+ exceeds limit of \d+/i, source: 'Infura since 2026 (INFURA/infura issue 237)' },
  { pattern: /query timeout exceeded|request timed? ?out/i, source: 'Infura (10 s), proxies in front of erigon' },
  { pattern: /log response size exceeded|this block range should work/i, source: 'Alchemy (ethers.js issue 4703)' },
  { pattern: /up to a [\d,.]+k? block range/i, source: 'Alchemy free tier, Aurora' },
  { pattern: /limited to (?:a )?[\d,.]+k?(?: - [\d,.]+k?)? (?:blocks?|range)/i, source: 'QuickNode, 1RPC, BlockPI' },
  { pattern: /block range (?:is )?too (?:wide|large)|range is too large/i, source: 'Ankr, Base, Optimism, merkle' },
  {
    pattern: /block range (?:limit exceeded|exceeds|greater than)/i,
    source: 'Chainstack, erigon rpc.blockrange.limit',
  },
  { pattern: /max(?:imum)? (?:allowed )?(?:block )?range/i, source: 'Cloudflare, PublicNode' },
  { pattern: /maximum (?:allowed )?number of requested blocks/i, source: 'thirdweb' },
  { pattern: /requested too many blocks from \d+ to \d+/i, source: 'coreth eth/filters (api-max-blocks-per-request)' },
  { pattern: /limit the query to at most [\d,.]+ blocks/i, source: 'Coinbase (Base)' },
  {
    pattern: /exceeds? max (?:results|block range)/i,
    source: 'LlamaNodes, reth rpc.max-logs-per-response and rpc.max-blocks-per-filter',
  },
  { pattern: /exceeds the range allowed for your plan/i, source: 'Blast API' },
  { pattern: /logs matched by query exceeds limit/i, source: 'Arbitrum nitro' },
  {
    pattern: /response (?:is )?too large|response size (?:should not|is|exceeded)|backend response too large/i,
    source: 'op-geth proxyd, 1RPC, go-ethereum batch-response-max-size',
  },
  { pattern: /exceed maximum block range|blocks distance/i, source: 'bor, Ankr' },
]

const STATE_MISSING: readonly Pattern[] = [
  { pattern: /missing trie node/i, source: 'go-ethereum trie/errors.go, hash scheme; bor' },
  { pattern: /historical state|state .*not available|state unavailable/i, source: 'go-ethereum, path scheme' },
  { pattern: /no state available/i, source: 'nethermind' },
  { pattern: /\bpruned\b|due to pruning/i, source: 'reth; erigon db/state, PrunedError' },
  { pattern: /data before txNum\S* is not available/i, source: 'erigon 3.0 (issue 13198)' },
  { pattern: /required data unavailable|resource not found/i, source: 'anvil crates/anvil/src/eth/error.rs' },
]

const HISTORY_PRUNED: readonly Pattern[] = [
  { pattern: /\bpruned\b/i, source: 'go-ethereum core/history; besu, nethermind, reth ("pruned history unavailable")' },
  { pattern: /not available due to pruning/i, source: 'erigon db/state, PrunedError' },
  { pattern: /data before txNum\S* is not available/i, source: 'erigon 3.0 (issue 13198)' },
  {
    pattern: /receipts? not available for|receipts .*(?:unavailable|neither stored)/i,
    source: 'nethermind LogFinder (issue 5230); reth (pull request 27002)',
  },
  { pattern: /failed to get logs for block/i, source: 'go-ethereum eth/filters (issues 23875, 31939)' },
  { pattern: /archive requests require/i, source: 'PublicNode, for logs and blocks that are not recent' },
]

/** EIP-4444, in execution-apis' and the clients' words. */
const HISTORY_PRUNED_CODE = 4444

const PENDING_MISSING: readonly Pattern[] = [
  {
    pattern: /pending (?:state|block) is not available/i,
    source: 'go-ethereum eth/api_backend.go; bor where it does not mine',
  },
  {
    pattern: /pending (?:block|tag|state) .*not supported/i,
    source: 'coreth (allow-unfinalized-queries), hosted nodes',
  },
]

const BLOCK_MISSING: readonly Pattern[] = [
  { pattern: /BlockOutOfRange/, source: 'anvil crates/anvil/src/eth/error.rs' },
  { pattern: /unknown block|block (?:\S+ )?not found|header not found/i, source: 'go-ethereum, besu, erigon, reth' },
  { pattern: /beyond (?:the )?current head|cannot find block/i, source: 'go-ethereum eth/filters, erigon, nethermind' },
]

const knows = (table: readonly Pattern[], message: string): boolean =>
  table.some(({ pattern }) => pattern.test(message))

/** The node has no such method, or sells it separately. */
export const isMethodMissing = (error: RpcError): boolean =>
  METHOD_MISSING_CODES.includes(error.code) || knows(METHOD_MISSING, error.message)

/**
 * The bytes that a reverted execution returned; null where the node did not send any.
 * go-ethereum: `data` is hex; nethermind: `Reverted 0x…`; hardhat: an object with a `data` of its own.
 */
export const revertData = (error: RpcError): Hex | null => {
  const data =
    typeof error.data === 'object' && error.data !== null && 'data' in error.data ? error.data.data : error.data
  if (typeof data !== 'string') return null
  const hex = data.replace(/^Reverted\s+/, '')
  return isHex(hex) ? hex : null
}

/** A contract said no. */
export const isRevert = (error: RpcError): boolean =>
  error.code === REVERTED_CODE ||
  knows(REVERTED, error.message) ||
  (typeof error.data === 'string' && error.data.startsWith('Reverted'))

/** The sender cannot pay the value (or, where fees were named, the gas). */
export const isNoFunds = (error: RpcError): boolean => error.code === NO_FUNDS_CODE || knows(NO_FUNDS, error.message)

/** The execution ended in another way: out of gas, an invalid instruction, code too large. */
const isHalt = (error: RpcError): boolean => {
  if (isRevert(error) || isNoFunds(error)) return false
  const { lowest, highest } = NOT_STARTED_CODES
  return (error.code >= lowest && error.code <= highest) || knows(HALTED, error.message)
}

/** Whether the node ran the call and told its end; everything else is a refusal to run it. */
export const isExecutionFailure = (error: RpcError): boolean => isRevert(error) || isNoFunds(error) || isHalt(error)

/** Told of a failure: the node starts nothing that a contract sends (EIP-3607), not even for a question. */
export const isContractSenderRefused = (failure: string): boolean =>
  /^execution failed: .*(?:sender not an eoa|EIP-3607)/i.test(failure)

/** Too many blocks or too many results. */
export const isRangeTooWide = (error: RpcError): boolean => knows(RANGE_TOO_WIDE, error.message)

/** The node has no pending state of its own. */
export const isPendingMissing = (error: RpcError): boolean => knows(PENDING_MISSING, error.message)

/** The node does not have the block (yet): another behind the same address may. */
export const isBlockMissing = (error: RpcError): boolean => knows(BLOCK_MISSING, error.message)

/** The node keeps no state from that long ago, so it cannot trace it. */
export const isStateMissing = (error: RpcError): boolean => knows(STATE_MISSING, error.message)

/** The node keeps no blocks, or no receipts, from that long ago. */
export const isHistoryPruned = (error: RpcError): boolean =>
  error.code === HISTORY_PRUNED_CODE || knows(HISTORY_PRUNED, error.message)

/** anvil 1.7: eth_simulateV1 builds its transactions in a way that knows no creation. */
export const cannotSimulateCreation = (error: RpcError): boolean => /missing keys: \["to"\]/.test(error.message)
