// Classifies the answers to eth_sendRawTransaction. The first kind with a matching pattern decides. Other refusals, time-outs,
// 5xx and unreadable answers are `unknown`: the transaction may be in a pool, so its nonce stays in use. A node that simulates
// before it accepts may answer with the words of a contract, which say nothing about the pool.

import { REFUSALS, type Refusal } from '../../../db/words.ts'
import { unreachable } from '../../platform/errors.ts'
import type { BroadcastOutcome, Hex } from '../chain.ts'
import { NodeUnavailable, question, type Rpc, type RpcError } from '../node/rpc.ts'
import { hash } from '../node/wire.ts'
import { cleanText } from '../text.ts'
import { isKnown, mayQuoteContract, type Pattern } from './node-errors.ts'

const REASON_LIMIT = 200

const KINDS = ['accepted', 'nonce_too_low', 'nonce_too_high', 'insufficient_funds', 'underpriced'] as const

const PATTERNS: Readonly<Record<(typeof KINDS)[number], readonly Pattern[]>> = {
  accepted: [
    [/already known/i, 'go-ethereum core/txpool/errors.go; bor, op-geth, coreth, reth, erigon, nethermind'],
    [
      /already imported/i,
      'anvil crates/anvil/src/eth/error.rs; reth crates/transaction-pool/src/error.rs; OpenEthereum',
    ],
    [/\bAlreadyKnown\b/, 'nethermind AcceptTxResult before 1.36'],
    [/existing txn with same hash/i, 'erigon txpoolcfg DuplicateHash'],
    [/\bknown transaction\b/i, 'go-ethereum before 1.9.17; besu'],
    [/already in (?:the )?(?:mem)?pool|already exists in (?:the )?(?:mem)?pool/i, 'proxies of hosted nodes'],
  ],
  nonce_too_low: [
    [
      /nonce too low|nonce is too low/i,
      'go-ethereum core/error.go; all of its descendants, anvil, reth, erigon, nethermind, besu',
    ],
    [/\bOldNonce\b/, 'nethermind AcceptTxResult before 1.36'],
  ],
  nonce_too_high: [
    [
      /nonce too high|nonce too far in (?:the )?future|nonce too distant/i,
      'go-ethereum core/error.go; anvil, coreth, nethermind, besu',
    ],
    [/\bNonceGap\b|\bNonceTooFarInFuture\b/, 'nethermind AcceptTxResult before 1.36'],
    [/gapped-nonce tx from delegated|delegation nonce gap/i, 'EIP-7702 senders: go-ethereum legacypool, nethermind'],
    [/in-?flight transaction limit reached/i, 'EIP-7702 senders: go-ethereum core/txpool/errors.go'],
  ],
  insufficient_funds: [
    [/insufficient funds/i, 'go-ethereum core/error.go; all of its descendants, anvil, reth, erigon, nethermind'],
    [/\bInsufficientFunds\b/, 'nethermind AcceptTxResult before 1.36'],
    [/overdraws? (?:from )?account|overdraft/i, 'reth crates/transaction-pool/src/error.rs'],
    [/upfront cost exceeds account balance/i, 'besu'],
  ],
  underpriced: [
    [
      /underpriced/i,
      'go-ethereum core/txpool/errors.go (new and replacement); bor, op-geth, coreth, reth, erigon, nethermind',
    ],
    [/insufficient gas price to replace/i, 'anvil, reth'],
    [/could not replace existing tx/i, 'erigon txpoolcfg NotReplaced'],
    [/fee too low|\bFeeTooLow(?:ToCompete)?\b|\bReplacementNotAllowed\b/, 'erigon; nethermind before 1.36'],
    [/max fee per gas less than block base fee/i, 'go-ethereum core/error.go; anvil'],
    [/fee ?cap .*below (?:chain )?minimum|gas price (?:is )?(?:too low|below)/i, 'reth; besu, bor'],
  ],
}

const REFUSED: Readonly<Partial<Record<Refusal, readonly Pattern[]>>> = {
  gas_limit: [
    [
      /exceeds block gas limit|gas limit (?:is )?too high|transaction gas limit is greater/i,
      'go-ethereum, erigon, anvil; EIP-7825',
    ],
    [/tx\.gas_limit > env\.cfg\.tx_gas_limit_cap/, 'anvil 1.7 with --enable-tx-gas-limit'],
    [/gas uint64 overflow/i, 'go-ethereum core/error.go'],
  ],
  gas_too_low: [
    [/intrinsic gas too (?:low|high)|insufficient gas for floor data/i, 'go-ethereum core/error.go; anvil; EIP-7623'],
  ],
  fee_cap: [[/exceeds the configured cap/i, 'go-ethereum rpc.txfeecap']],
  size: [
    [
      /max initcode size exceeded|initcode too large|oversized data|transaction too large/i,
      'go-ethereum, erigon, nethermind',
    ],
  ],
  sender: [[/sender not an eoa/i, 'go-ethereum core/error.go; nethermind, anvil (EIP-3607)']],
  form: [
    [/max priority fee per gas higher than max fee per gas/i, 'go-ethereum core/error.go; anvil'],
    [
      /invalid sender|failed to recover sender|invalid chain id|chain ?id .*mismatch/i,
      'go-ethereum, nethermind, anvil, besu',
    ],
    [/transaction type not supported|unsupported transaction type/i, 'go-ethereum, nethermind'],
    [/failed to decode (?:signed )?transaction|^rlp: |typed transaction too short/i, 'anvil, reth; go-ethereum'],
    [/nonce has max value/i, 'go-ethereum core/error.go; anvil'],
  ],
}

const refusalIn = (error: Pick<RpcError, 'code' | 'message' | 'data'>, said: string): Refusal | null => {
  if (mayQuoteContract(error)) return 'reverts'
  return REFUSALS.find((refusal) => isKnown(REFUSED[refusal] ?? [], said)) ?? null
}

/** The outcome of a refusal. Pure. */
export const classifyRefusal = (error: Pick<RpcError, 'code' | 'message' | 'data'>): BroadcastOutcome => {
  // nethermind before 1.36 puts the reason into `data` and a general text into `message`.
  const said = typeof error.data === 'string' ? `${error.message} ${error.data}` : error.message
  const kind = mayQuoteContract(error) ? undefined : KINDS.find((each) => isKnown(PATTERNS[each], said))
  const reason = cleanText(said, REASON_LIMIT)
  switch (kind) {
    case 'accepted':
    case 'nonce_too_low':
    case 'nonce_too_high':
      return { kind }
    case 'insufficient_funds':
    case 'underpriced':
      return { kind, reason }
    case undefined: {
      const refusal = refusalIn(error, said)
      return refusal === null ? { kind: 'unknown', reason } : { kind: 'rejected', refusal, reason }
    }
    default:
      return unreachable(kind)
  }
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
