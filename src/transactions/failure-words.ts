// Why transactions fail, in words: for the status of each, and for the table in docs/errors.md.

import { FAILURE_CODES, type FailureCode } from '../../db/words.ts'

/** Answers show `lapsed` as `expired` (transition.ts). */
export const FAILURE_SENTENCES: Readonly<Record<FailureCode | 'lapsed', string>> = {
  execution_reverted: 'The transaction was mined, and its execution reverted.',
  expired: 'It was not mined in time; its nonce was used up by a transaction that does nothing.',
  nonce_taken: 'Another transaction of the same key took the nonce.',
  reorganised: 'It was in a final block, which a reorganisation took away; no block of the chain has it.',
  lapsed: 'No block took it before its era ended; its nonce is free again.',
  contract_wallet_not_deployed: 'The contract wallet was not deployed, so it could not execute the transaction.',
}

const REMEDIES: Readonly<Record<FailureCode, string>> = {
  execution_reverted: 'Its fee is spent. Read `error`, and preview the next one.',
  contract_wallet_not_deployed: 'See [contract wallets](contract-wallets.md).',
  expired: 'Send it again.',
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
