// The error codes in words: for the table in docs/errors.md, and for the examples of the OpenAPI document.

import { ERROR_STATUS, type ErrorCode } from '../../platform/errors.ts'

type Words = {
  /** A sentence that could be the answer's `error`. */
  readonly means: string
  readonly remedy: string
  /**
   * When to send the same request again; without it the request fails again until something has changed.
   * - `later`: after the header Retry-After, or after some seconds.
   * - `same key`: later, with the same `Idempotency-Key`: the first request may have had its effect.
   */
  readonly retry?: 'later' | 'same key'
}

export const ERROR_WORDS: Readonly<Record<ErrorCode, Words>> = {
  invalid_input: {
    means: 'A field, a header or the path is missing, unknown or malformed.',
    remedy: 'Correct what the sentence names.',
  },
  invalid_key: {
    means: 'The private key or the phrase to import is not valid.',
    remedy: 'Check it for typing mistakes.',
  },
  address_invalid: { means: 'An address is malformed or its checksum is wrong.', remedy: 'Copy the address again.' },
  network_mismatch: {
    means: 'An address belongs to another network.',
    remedy: 'Send an address of the network, or another network.',
  },
  network_required: { means: 'The address alone does not determine the network.', remedy: 'Send the field `network`.' },
  page_too_deep: {
    means: 'Pages this far down have no number.',
    remedy: 'Ask with `before` (activity) or `after` (NFTs), the last item seen; pages are counted from there.',
  },
  project_required: {
    means: 'The header X-WalletKit-Project-ID is missing or no UUID, or X-Project-ID names another project.',
    remedy: 'Send the id of your project.',
  },
  credential_required: {
    means: 'A needed credential is missing.',
    remedy: 'Send `developer_secret`, `user_pin` (or `user_secret`) or both, as the sentence says.',
  },
  credential_ambiguous: {
    means: 'There is a credential that does not belong here.',
    remedy: 'Send only the credential that the sentence names.',
  },
  token_source_unsupported: {
    means: 'The header X-WalletKit-Token-Source names no issuer of the project, or X-Token-Source names another.',
    remedy: 'Leave the header out, or ask the operator to add the issuer.',
  },
  passkey_domain_required: {
    means: 'No passkey domain fits the calling page.',
    remedy: "Call from a page of the project's passkey domain, or ask the operator to set it.",
  },
  pin_obvious: { means: 'The new PIN is easy to guess.', remedy: 'Let the user choose another PIN.' },
  execution_reverted: {
    means: 'The chain would refuse the transaction.',
    remedy: 'Read the reason in the sentence; preview the transaction.',
  },
  balance_insufficient: {
    means: 'The signer has too little for the value and the highest possible fee of this and its pending transactions.',
    remedy: 'Fund the address that the sentence names.',
  },
  nonce_too_low: {
    means: 'The given nonce is used already.',
    remedy: 'Leave `nonce` out, or send the one that the sentence names.',
  },
  nonce_gap: {
    means: 'The given nonce would leave a gap.',
    remedy: 'Leave `nonce` out, or send the one that the sentence names.',
  },
  fee_too_low: {
    means: 'The given fees contradict each other or are too low to replace what was sent.',
    remedy: 'Leave the fees out, or raise them as the sentence says.',
  },
  mint_unsupported: {
    means: 'No known way to mint works for this collection.',
    remedy: 'Send its own mint call with sign-and-send.',
  },
  mint_unauthorized: {
    means: 'The sending wallet may not mint from this collection.',
    remedy: 'Mint from the wallet that may, with `from`.',
  },
  mint_requires_value: {
    means: 'The collection asks for a payment to mint.',
    remedy: 'Send its own mint call with sign-and-send and a `value`.',
  },
  batch_unsupported: {
    means: 'Only a wallet of type `contract` can do several transactions at once.',
    remedy: 'Send the transactions one by one, or use a contract wallet.',
  },
  unauthorized: {
    means: 'The bearer token is missing, unknown or expired.',
    remedy: 'Send a valid API key or access token; refresh an expired access token.',
  },
  project_unknown: { means: 'No project has this id.', remedy: 'Check the header X-WalletKit-Project-ID.' },
  login_failed: { means: 'The login was not proven.', remedy: 'Begin the login again.' },
  session_ended: { means: 'The session has ended.', remedy: 'Let the user log in again.' },
  project_mismatch: {
    means: 'The bearer token belongs to another project than the header names.',
    remedy: 'Send a token and an id of the same project.',
  },
  scope_required: {
    means: 'The API key lacks the scope that this call needs.',
    remedy: 'Use another key, or ask the operator for one with the scope.',
  },
  user_session_required: {
    means: 'This call takes the access token of a user, not an API key.',
    remedy: "Send the user's access token.",
  },
  fresh_login_required: {
    means: 'The login is too long ago for this call.',
    remedy: 'Let the user log in again, then repeat the call.',
  },
  anonymous_login_off: {
    means: 'The project does not allow logins without a proof.',
    remedy: 'Use another login, or ask the operator to allow it.',
  },
  origin_not_allowed: {
    means: 'The project does not allow requests from pages of this origin.',
    remedy: 'Ask the operator to allow the origin.',
  },
  project_not_activated: {
    means: 'The project has no developer secret yet.',
    remedy: 'Ask the operator to activate the project.',
  },
  wallet_forbidden: {
    means: 'The address is of no wallet that the caller may see.',
    remedy: 'Send the address of a wallet of the project.',
  },
  INVALID_SECRET: {
    means: 'The credential is wrong.',
    remedy: 'Ask for it again. Five wrong PINs in a row lock the owner.',
  },
  TOO_MANY_FAILED_ATTEMPTS: {
    means: 'Too many wrong PINs: the owner is locked.',
    remedy:
      'Wait as long as Retry-After says; without that header only an operator can unlock the owner. A `user_secret` still works.',
    retry: 'later',
  },
  frozen: { means: 'The operator has frozen the project, owner, wallet or network.', remedy: 'Ask the operator.' },
  policy_denied: {
    means: 'No policy of the wallet allows this.',
    remedy: "Send the user's PIN, or let the wallet's owner create a policy.",
  },
  under_policies: {
    means:
      "The owner's developer-controlled wallets are under policies, and only a transaction that one allows is signed.",
    remedy: 'Ask for a transaction that a policy allows, or ask the operator to release the owner from policies.',
  },
  delegate_not_allowed: {
    means: 'The project does not allow its wallets to delegate to this contract on this network (EIP-7702).',
    remedy: 'Ask the operator to allow it for the project, if the contract is the right one.',
  },
  not_found: {
    means: 'The project has no such thing, or the path does not exist.',
    remedy: 'Check the id or address, and the path.',
  },
  transaction_not_found: {
    means: 'No such transaction is known.',
    remedy: 'Check the id or hash. A node may not know a new transaction yet.',
  },
  method_not_allowed: {
    means: 'The path exists with other methods only.',
    remedy: 'Use a method of the header Allow.',
  },
  wallet_exists: {
    means: 'The owner has a wallet on this network already, or the project has one with this address.',
    remedy: 'Look the wallet up.',
  },
  nonce_conflict: {
    means: 'A pending transaction has the given nonce.',
    remedy: 'Leave `nonce` out, or speed the pending transaction up.',
  },
  transaction_not_waiting: {
    means: 'The transaction is not waiting any more, so it can be neither sped up, given up nor sent again.',
    remedy: 'Read its status.',
  },
  credential_changed: {
    means:
      'The PIN, recovery code, passkey or developer secret was changed or removed while this request waited; nothing was done.',
    remedy: 'Send the request with the credential that is valid now.',
  },
  approval_mismatch: {
    means: 'The request is not the one that was approved.',
    remedy: 'Send the approved request unchanged, or ask for a new approval without `approval_id`.',
  },
  approval_ended: {
    means: 'The approval was used, was rejected or has expired, or its policy was revoked.',
    remedy: 'Send the request without `approval_id`, to ask for a new one.',
  },
  contract_wallet_changed: {
    means: 'The contract wallet no longer obeys its key alone.',
    remedy: "Restore the wallet's owners with other tools; see docs/contract-wallets.md.",
  },
  repeat_refused: {
    means:
      'After a restore of the database the chain had an equal transaction of this wallet that the database had lost.',
    remedy: 'Look at the hash in the error. If it is to be done once more, send the request with `allow_repeat`: true.',
  },
  passkey_exists: { means: 'The passkey is registered already.', remedy: 'Log in with it, or add another.' },
  email_exists: { means: 'The user has an e-mail address already.', remedy: 'Log in with it.' },
  email_taken: { means: 'Another user of the project has this e-mail address.', remedy: 'Log in with it instead.' },
  challenge_expired: {
    means: 'The code of the other device has expired.',
    remedy: 'Ask for a new code on the other device.',
  },
  challenge_completed: {
    means: 'The code of the other device was used already.',
    remedy: 'Ask for a new code on the other device.',
  },
  idempotency_mismatch: {
    means: 'The Idempotency-Key was used with another body.',
    remedy: 'Send the first body again, or use a new key.',
  },
  events_gone: {
    means: 'Events after this id are no longer kept.',
    remedy: 'Read what you need anew (transactions, activity), and continue with `after` 0.',
  },
  body_too_large: { means: 'The body is larger than this call accepts.', remedy: 'Send less in one request.' },
  content_type_unsupported: {
    means: 'The body is not declared as JSON, or an upload not as a form.',
    remedy: 'Send `Content-Type: application/json`; for an upload `multipart/form-data`.',
  },
  content_encoding_unsupported: { means: 'The body is compressed.', remedy: 'Send it without a Content-Encoding.' },
  rate_limited: {
    means: 'Too many requests, bytes or wrong credentials came from this caller.',
    remedy: 'Wait as long as Retry-After says.',
    retry: 'later',
  },
  body_incomplete: {
    means:
      'The client went away before it had sent its whole body. Nobody receives this; it appears in logs and metrics.',
    remedy: 'None.',
    retry: 'later',
  },
  internal: {
    means: 'An error on our side.',
    remedy: 'Give the operator the header X-Request-Id.',
    retry: 'same key',
  },
  not_implemented: {
    means: 'This deployment or network does not offer it.',
    remedy: 'Ask the operator, or use another network.',
  },
  node_unavailable: {
    means: "The network's node does not answer as it should.",
    remedy: 'Wait; tell the operator if it lasts.',
    retry: 'later',
  },
  wrong_chain: {
    means: "The network's node serves another chain.",
    remedy: 'Tell the operator.',
    retry: 'later',
  },
  fee_ceiling_reached: {
    means: "The network asks for higher fees than this service's ceiling.",
    remedy: 'Wait for lower fees, or send your own `maxFeePerGas`.',
    retry: 'later',
  },
  metadata_untrusted: {
    means: "The operator has not vouched for the runtime's metadata.",
    remedy: 'Tell the operator; see docs/substrate.md.',
    retry: 'later',
  },
  busy: {
    means: 'The service has too much to do at the moment; nothing was done.',
    remedy: 'Wait as long as Retry-After says, or some seconds.',
    retry: 'later',
  },
  unavailable: {
    means: 'A part that the service needs, such as the database, is unavailable.',
    remedy: 'Wait; tell the operator if it lasts.',
    retry: 'same key',
  },
}

export const RETRY_TEXT = { later: 'later', 'same key': 'later, with the same key' } as const

export const errorTable = (): string =>
  [
    '| code | status | meaning | what to do | again? |',
    '|---|---|---|---|---|',
    ...(Object.keys(ERROR_STATUS) as ErrorCode[]).map((code) => {
      const { means, remedy, retry } = ERROR_WORDS[code]
      return `| \`${code}\` | ${ERROR_STATUS[code]} | ${means} | ${remedy} | ${retry === undefined ? 'no' : RETRY_TEXT[retry]} |`
    }),
  ].join('\n')
