// The error codes that an operation can answer. A route names its own codes beside its schemas, from the groups below;
// `codesOf` adds those of the steps that every request passes. The tests' client refuses an answer with another code.

import type { ErrorCode } from '../errors.ts'

type Codes = readonly ErrorCode[]

export const ADDRESS = ['address_invalid', 'network_mismatch'] as const satisfies Codes

/** A network of the request, which this deployment may not serve. */
export const NETWORK = ['not_implemented'] as const satisfies Codes

export const NODE = [...NETWORK, 'node_unavailable', 'wrong_chain', 'metadata_untrusted'] as const satisfies Codes

/** Reading from the chain about one of the caller's wallets. */
export const OWN_WALLET = [...ADDRESS, ...NODE, 'wallet_forbidden'] as const satisfies Codes

export const CREDENTIAL = [
  'credential_required',
  'credential_ambiguous',
  'credential_changed',
  'INVALID_SECRET',
  'TOO_MANY_FAILED_ATTEMPTS',
  'project_not_activated',
  'frozen',
  'under_policies',
] as const satisfies Codes

/** One of the caller's wallets, named by its address and perhaps the network. */
export const NAMED_WALLET = [...ADDRESS, 'network_required', 'not_found'] as const satisfies Codes

export const POLICY = ['policy_denied', 'approval_mismatch', 'approval_ended'] as const satisfies Codes

export const SIGNING = [
  ...CREDENTIAL,
  ...NODE,
  'execution_reverted',
  'balance_insufficient',
  'fee_ceiling_reached',
  ...POLICY,
  'contract_wallet_changed',
] as const satisfies Codes

export const SENDING = [...SIGNING, 'repeat_refused'] as const satisfies Codes

export const NONCE = ['nonce_too_low', 'nonce_gap', 'nonce_conflict'] as const satisfies Codes

export const USER = ['user_session_required'] as const satisfies Codes

/** A call for which the user must have logged in a short while ago. */
export const FRESH_USER = [...USER, 'fresh_login_required', 'session_ended'] as const satisfies Codes

const ANY: Codes = ['invalid_input', 'busy', 'unavailable', 'internal']
const BODY: Codes = ['body_too_large', 'content_type_unsupported', 'content_encoding_unsupported']
const PROJECT: Codes = ['project_required', 'project_unknown', 'origin_not_allowed', 'rate_limited']
const BEARER: Codes = [
  'unauthorized',
  'session_ended',
  'project_mismatch',
  'token_source_unsupported',
  'scope_required',
]

export const codesOf = (operation: {
  readonly own: Codes
  readonly hasBody: boolean
  readonly hasIdempotencyKey: boolean
  readonly caller: 'none' | 'project' | 'bearer'
}): Codes => {
  const { own, hasBody, hasIdempotencyKey, caller } = operation
  return [
    ...new Set([
      ...ANY,
      ...(caller === 'none' ? [] : PROJECT),
      ...(caller === 'bearer' ? BEARER : []),
      ...(hasBody ? BODY : []),
      ...(hasIdempotencyKey ? (['idempotency_mismatch'] as const) : []),
      ...own,
    ]),
  ]
}
