// Classifies the answers to eth_sendRawTransaction. The first pattern of the table that matches decides. Other refusals,
// time-outs, 5xx and unreadable answers are `unknown`: the transaction may be in a pool, so its nonce stays in use.

import type { BroadcastOutcome, Hex } from '../chain.ts'
import { NodeUnavailable, question, type Rpc, type RpcError } from '../node/rpc.ts'
import { hash } from '../node/wire.ts'
import { cleanText } from '../text.ts'

const REASON_LIMIT = 200

type Row = { readonly kind: BroadcastOutcome['kind']; readonly pattern: RegExp; readonly source: string }

const TABLE: readonly Row[] = [
  {
    kind: 'accepted',
    pattern: /already known/i,
    source: 'go-ethereum core/txpool/errors.go; bor, op-geth, coreth, reth, erigon, nethermind',
  },
  {
    kind: 'accepted',
    pattern: /already imported/i,
    source: 'anvil crates/anvil/src/eth/error.rs; reth crates/transaction-pool/src/error.rs; OpenEthereum',
  },
  { kind: 'accepted', pattern: /\bAlreadyKnown\b/, source: 'nethermind AcceptTxResult before 1.36' },
  { kind: 'accepted', pattern: /existing txn with same hash/i, source: 'erigon txpoolcfg DuplicateHash' },
  { kind: 'accepted', pattern: /\bknown transaction\b/i, source: 'go-ethereum before 1.9.17; besu' },
  {
    kind: 'accepted',
    pattern: /already in (?:the )?(?:mem)?pool|already exists in (?:the )?(?:mem)?pool/i,
    source: 'proxies of hosted nodes',
  },

  {
    kind: 'nonce_too_low',
    pattern: /nonce too low|nonce is too low/i,
    source: 'go-ethereum core/error.go; all of its descendants, anvil, reth, erigon, nethermind, besu',
  },
  { kind: 'nonce_too_low', pattern: /\bOldNonce\b/, source: 'nethermind AcceptTxResult before 1.36' },

  {
    kind: 'nonce_too_high',
    pattern: /nonce too high|nonce too far in (?:the )?future|nonce too distant/i,
    source: 'go-ethereum core/error.go; anvil, coreth, nethermind, besu',
  },
  {
    kind: 'nonce_too_high',
    pattern: /\bNonceGap\b|\bNonceTooFarInFuture\b/,
    source: 'nethermind AcceptTxResult before 1.36',
  },
  {
    kind: 'nonce_too_high',
    pattern: /gapped-nonce tx from delegated|delegation nonce gap/i,
    source: 'EIP-7702 senders: go-ethereum legacypool, nethermind',
  },
  {
    kind: 'nonce_too_high',
    pattern: /in-?flight transaction limit reached/i,
    source: 'EIP-7702 senders: go-ethereum core/txpool/errors.go',
  },

  {
    kind: 'insufficient_funds',
    pattern: /insufficient funds/i,
    source: 'go-ethereum core/error.go; all of its descendants, anvil, reth, erigon, nethermind',
  },
  { kind: 'insufficient_funds', pattern: /\bInsufficientFunds\b/, source: 'nethermind AcceptTxResult before 1.36' },
  {
    kind: 'insufficient_funds',
    pattern: /overdraws? (?:from )?account|overdraft/i,
    source: 'reth crates/transaction-pool/src/error.rs',
  },
  { kind: 'insufficient_funds', pattern: /upfront cost exceeds account balance/i, source: 'besu' },

  {
    kind: 'underpriced',
    pattern: /underpriced/i,
    source: 'go-ethereum core/txpool/errors.go (new and replacement); bor, op-geth, coreth, reth, erigon, nethermind',
  },
  { kind: 'underpriced', pattern: /insufficient gas price to replace/i, source: 'anvil, reth' },
  { kind: 'underpriced', pattern: /could not replace existing tx/i, source: 'erigon txpoolcfg NotReplaced' },
  {
    kind: 'underpriced',
    pattern: /fee too low|\bFeeTooLow(?:ToCompete)?\b|\bReplacementNotAllowed\b/,
    source: 'erigon; nethermind before 1.36',
  },
  {
    kind: 'underpriced',
    pattern: /max fee per gas less than block base fee/i,
    source: 'go-ethereum core/error.go; anvil',
  },
  {
    kind: 'underpriced',
    pattern: /fee ?cap .*below (?:chain )?minimum|gas price (?:is )?(?:too low|below)/i,
    source: 'reth; besu, bor',
  },

  {
    kind: 'rejected',
    pattern: /exceeds block gas limit|gas limit (?:is )?too high|transaction gas limit is greater/i,
    source: 'go-ethereum, erigon, anvil; EIP-7825',
  },
  { kind: 'rejected', pattern: /exceeds the configured cap/i, source: 'go-ethereum rpc.txfeecap' },
  {
    kind: 'rejected',
    pattern: /intrinsic gas too (?:low|high)|insufficient gas for floor data/i,
    source: 'go-ethereum core/error.go; anvil; EIP-7623',
  },
  {
    kind: 'rejected',
    pattern: /max priority fee per gas higher than max fee per gas/i,
    source: 'go-ethereum core/error.go; anvil',
  },
  {
    kind: 'rejected',
    pattern: /invalid sender|failed to recover sender|invalid chain id|chain ?id .*mismatch/i,
    source: 'go-ethereum, nethermind, anvil, besu',
  },
  {
    kind: 'rejected',
    pattern: /transaction type not supported|unsupported transaction type/i,
    source: 'go-ethereum, nethermind',
  },
  {
    kind: 'rejected',
    pattern: /max initcode size exceeded|initcode too large|oversized data|transaction too large/i,
    source: 'go-ethereum, erigon, nethermind',
  },
  {
    kind: 'rejected',
    pattern: /failed to decode (?:signed )?transaction|^rlp: |typed transaction too short/i,
    source: 'anvil, reth; go-ethereum',
  },
  {
    kind: 'rejected',
    pattern: /sender not an eoa/i,
    source: 'go-ethereum core/error.go; nethermind, anvil (EIP-3607)',
  },
  { kind: 'rejected', pattern: /gas uint64 overflow|nonce has max value/i, source: 'go-ethereum core/error.go; anvil' },
]

/** The outcome of a refusal. Pure. */
export const classifyRefusal = (error: Pick<RpcError, 'message' | 'data'>): BroadcastOutcome => {
  // nethermind before 1.36 puts the reason into `data` and a general text into `message`.
  const said = typeof error.data === 'string' ? `${error.message} ${error.data}` : error.message
  const kind = TABLE.find(({ pattern }) => pattern.test(said))?.kind ?? 'unknown'
  const reason = cleanText(said, REASON_LIMIT)
  switch (kind) {
    case 'accepted':
    case 'nonce_too_low':
    case 'nonce_too_high':
      return { kind }
    default:
      return { kind, reason }
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
