// Why transactions fail, in words: for the status of each, and for the table in docs/errors.md.

import type { Waiting } from '../../../db/queries/clocks.ts'
import { FAILURE_CODES, type FailureCode, type Refusal } from '../../../db/words.ts'

/** Answers show `lapsed` as `expired` (transition.ts). */
export const FAILURE_SENTENCES: Readonly<Record<FailureCode | 'lapsed', string>> = {
  execution_reverted: 'The transaction was mined, and its execution reverted.',
  expired: 'It was not mined in time; its nonce was used up by a transaction that does nothing.',
  nonce_taken: 'Another transaction of the same key took the nonce.',
  reorganised: 'It was in a final block, which a reorganisation took away; no block of the chain has it.',
  lapsed: 'No block took it before its era ended; its nonce is free again.',
  contract_wallet_not_deployed: 'The contract wallet was not deployed, so it could not execute the transaction.',
}

const REFUSAL_WORDS: Readonly<Record<Refusal, string>> = {
  gas_limit: 'its gas limit is above what a transaction or a block of the network may have',
  gas_too_low: 'its gas limit is below what it costs before anything runs',
  fee_cap: 'its fee is above the bound that the operator of the node has set for one transaction',
  size: 'it has more bytes than nodes take',
  sender: 'its sender is a contract',
  form: 'its signature, type or fees are not valid on the network',
  reverts: 'the node runs a transaction before it takes it, and this one reverts',
  other: 'they give a reason that the operator can look up',
}

/** Why nodes do not take a transaction that waits, for its status; null if they do, or if it is not known. */
export const refusalSentence = ({ reason, refusal }: Waiting): string | null => {
  if (reason === 'unpayable') return 'Nodes refuse it: its signer has too few coins for its value and its fee.'
  return refusal === null ? null : `Nodes refuse it: ${REFUSAL_WORDS[refusal]}.`
}

/** @param refusal why no node took it; null if one did. */
export const failureSentence = (outcome: FailureCode | 'lapsed', refusal: Refusal | null): string => {
  if (refusal === null) return FAILURE_SENTENCES[outcome]
  if (outcome === 'expired')
    return `Nodes refused it: ${REFUSAL_WORDS[refusal]}. Its nonce was used up by a transaction that does nothing.`
  if (outcome === 'lapsed') return `Nodes refused it: ${REFUSAL_WORDS[refusal]}. Its nonce is free again.`
  return FAILURE_SENTENCES[outcome]
}

const REMEDIES: Readonly<Record<FailureCode, string>> = {
  execution_reverted: 'Its fee is spent. Read `error`, and preview the next one.',
  contract_wallet_not_deployed: 'See [contract wallets](contract-wallets.md).',
  expired: 'If `error` says that nodes refused it, correct that; then send it again.',
  nonce_taken: 'Look at what else uses the key; then send it again.',
  reorganised: 'Ask the operator before sending it again.',
}

const LAPSED = FAILURE_SENTENCES.lapsed

const meaningOf = (code: FailureCode): string =>
  code === 'expired'
    ? `${FAILURE_SENTENCES.expired} On Polkadot and Vara: ${LAPSED.charAt(0).toLowerCase()}${LAPSED.slice(1)}`
    : FAILURE_SENTENCES[code]

/** The table of docs/errors.md, in the order of `FAILURE_CODES`. */
export const failureTable = (): string =>
  [
    '| code | meaning | what to do |',
    '|---|---|---|',
    ...FAILURE_CODES.map((code) => `| \`${code}\` | ${meaningOf(code)} | ${REMEDIES[code]} |`),
  ].join('\n')
