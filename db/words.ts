// The closed lists of the domain, each defined once for the wire, the tables and the code.

/** The name of a network. src/chains/networks and the operator define them; the table `networks` has those in use. */
export type Network = string

export const CHAIN_FAMILIES = ['evm', 'substrate'] as const
export type ChainFamily = (typeof CHAIN_FAMILIES)[number]

export const ENVIRONMENTS = ['testnet', 'mainnet'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

export const CONTROL_MODES = ['developer', 'user'] as const
export type ControlMode = (typeof CONTROL_MODES)[number]

export const WALLET_TYPES = ['eoa', 'contract'] as const
export type WalletType = (typeof WALLET_TYPES)[number]

/** `seed`: the owner's own phrase; `phrase`: a further, imported one; `key`: one imported private key. */
export const KEYRING_KINDS = ['seed', 'phrase', 'key'] as const
export type KeyringKind = (typeof KEYRING_KINDS)[number]

/** What opens a user key beside the PIN: a recovery code, or what a passkey computes with the extension `prf`. */
export const USER_SECRET_KINDS = ['recovery_code', 'passkey'] as const
export type UserSecretKind = (typeof USER_SECRET_KINDS)[number]
/** What opens user-controlled wallets. */
export const CHANGED_SECRETS = ['pin', ...USER_SECRET_KINDS] as const
export type ChangedSecret = (typeof CHANGED_SECRETS)[number]

export const API_KEY_SCOPES = ['read', 'sign', 'admin'] as const
export type ApiKeyScope = (typeof API_KEY_SCOPES)[number]

/** `submitted` and `pending` are live. Only a reorganisation changes `success` or `failed`. */
export const TRANSACTION_STATUSES = ['submitted', 'pending', 'success', 'failed'] as const
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number]

/** The endpoint that recorded the intent, or `deployment` of a contract wallet, which precedes its first intent. */
export const TRANSACTION_KINDS = [
  'send',
  'batch',
  'mint',
  'transfer',
  'collection',
  'token',
  'token_mint',
  'token_transfer',
  'deployment',
] as const
export type TransactionKind = (typeof TRANSACTION_KINDS)[number]

/** `former_cancel`: a cancel that may have been sent before a speed-up. */
export const ATTEMPT_KINDS = ['rung', 'cancel', 'former_cancel'] as const
export type AttemptKind = (typeof ATTEMPT_KINDS)[number]

/** The `last_error` of an attempt in no block whose nonce is used on the chain. The operators' views read it. */
export const NONCE_USED = 'the nonce is used on the chain'

/**
 * The reasons that callers see for a transaction in no block: blocks ask for more; another transaction used its nonce;
 * its signer cannot pay it; nodes refuse it for another reason.
 */
export const WAITS_FOR = ['waiting_for_fees', 'nonce_used', 'unpayable', 'refused'] as const
export type WaitsFor = (typeof WAITS_FOR)[number]

/** Why nodes refuse a transaction for good. src/signing/transactions/failure-words.ts has them in words. */
export const REFUSALS = ['gas_limit', 'gas_too_low', 'fee_cap', 'size', 'sender', 'form', 'reverts', 'other'] as const
export type Refusal = (typeof REFUSALS)[number]

/** Why a transaction is given up: not mined in time, by an operator, or its contract wallet was not deployed. */
export const GIVE_UPS = ['expired', 'cancelled', 'contract_wallet_not_deployed'] as const
export type GiveUp = (typeof GIVE_UPS)[number]

/**
 * Why a transaction failed. The first two were mined: the call reverted, or the contract wallet had no code, so that
 * the call did nothing. `reorganised`: it was final and is no longer on the chain; only an operator records that
 * (repair.ts).
 */
export const FAILURE_CODES = [
  'execution_reverted',
  'contract_wallet_not_deployed',
  'expired',
  'nonce_taken',
  'reorganised',
] as const
export type FailureCode = (typeof FAILURE_CODES)[number]

export const ASSET_STANDARDS = ['native', 'erc20', 'erc721', 'erc1155', 'other'] as const
export type AssetStandard = (typeof ASSET_STANDARDS)[number]

/** Uploaded images, by the suffixes of their files. */
export const IMAGE_KINDS = ['png', 'jpg', 'gif', 'webp'] as const
export type ImageKind = (typeof IMAGE_KINDS)[number]

/** The ABI items that are kept: they decode calls and reverts. */
export const ABI_ITEM_KINDS = ['function', 'error'] as const
export type AbiItemKind = (typeof ABI_ITEM_KINDS)[number]

/** A follower of blocks has one cursor for each purpose and network. */
export const CURSOR_PURPOSES = ['track', 'index'] as const
export type CursorPurpose = (typeof CURSOR_PURPOSES)[number]

/**
 * Why a backfill waits. `pruned`: the node no longer has the blocks. `behind`: it does not have them yet, or has other
 * ones than the indexer saw. `refused`: it answers, but not this request. `away`: it does not answer.
 */
export const BACKFILL_HINDRANCES = ['pruned', 'behind', 'refused', 'away'] as const
export type BackfillHindrance = (typeof BACKFILL_HINDRANCES)[number]

/** Refusals of the vault that may be part of an attack. The vault itself counts and writes them. */
export const VAULT_EVENTS = [
  'wrong_pin',
  'owner_locked',
  'locked_owner_tried',
  'guess_count_forged',
  'policy_forged',
  'wallet_forged',
  'delegates_forged',
  'write_undone',
  'freezes_forged',
  'wrong_pins_spent',
  'wrong_user_secret',
  'user_secret_forged',
  'wrong_developer_secret',
  'wrong_secrets_spent',
  'catalogue_changed',
] as const
export type VaultEventKind = (typeof VAULT_EVENTS)[number]

/** Refusals of APIs that may be part of an attack. */
export const API_EVENTS = [
  'bearer_malformed',
  'api_key_unknown',
  'access_token_forged',
  'issuer_token_refused',
  'session_mismatch',
  'project_mismatch',
  'login_failed',
  'login_throttled',
  'wrong_email_code',
  'refresh_token_forged',
  'refresh_token_reused',
  'origin_refused',
  'metrics_token_wrong',
  'row_forged',
] as const

/** Refusals that workers also write: of mails, and of their own metrics. */
export const WORKER_EVENTS = ['metrics_token_wrong', 'row_forged'] as const

/** Refusals that may be part of an attack. They are counted, and many share one audit row. */
export const SECURITY_EVENTS = [...VAULT_EVENTS, ...API_EVENTS] as const
export type SecurityEventKind = (typeof SECURITY_EVENTS)[number]

/** Audit rows about a signature. */
export const SIGNING_ACTIONS = [
  'transaction_signed',
  'transaction_submitted',
  'transaction_signed_anew',
  'message_signed',
] as const

/** Actions that only the vault writes, under a key that other programs do not have. */
export const VAULT_ACTIONS = [
  'project_created',
  'project_activated',
  'developer_secret_changed',
  'wallet_created',
  'wallet_imported',
  'wallet_exported',
  'control_shared',
  'put_under_policies',
  'released_from_policies',
  'user_pin_changed',
  'user_secret_added',
  'user_secret_removed',
  'owner_unlocked',
  ...SIGNING_ACTIONS,
  'authorization_signed',
  'delegates_changed',
  'frozen',
  'unfrozen',
  'root_key_rotated',
  'project_key_rotated',
  'policy_created',
  'policy_revoked',
  'vault_connection_refused',
  ...VAULT_EVENTS,
] as const
export type VaultAction = (typeof VAULT_ACTIONS)[number]

/** Actions that APIs and the command line write, under the identity key. */
const API_ACTIONS = [
  'api_key_created',
  'api_key_revoked',
  'transaction_retried',
  'transaction_cancelled',
  'lost_transaction_settled',
  'job_retried',
  'abi_added',
  'abi_removed',
  'token_list_imported',
  'token_list_removed',
  'session_revoked',
  'issuer_tokens_ended',
  'passkey_added',
  'passkey_removed',
  'email_added',
  'token_key_rotated',
  'identity_key_rotated',
  'service_key_rotated',
  'origins_changed',
  'return_addresses_changed',
  'passkey_domain_changed',
  'anonymous_login_changed',
  'issuer_added',
  'issuer_removed',
  'user_created',
  'approval_requested',
  'approval_decided',
  'operator_invited',
  'operator_logged_in',
  'operator_passkey_added',
  'operator_removed',
  'webhook_created',
  'webhook_changed',
  'webhook_secret_rotated',
  'webhook_enabled',
  'webhook_disabled',
  'webhook_removed',
  'webhook_replayed',
  ...API_EVENTS,
] as const
export type ApiAction = (typeof API_ACTIONS)[number]

/** Actions that workers write, under the service key. */
export const WORKER_ACTIONS = ['final_blocks_lost', 'webhook_given_up'] as const
export type WorkerAction = (typeof WORKER_ACTIONS)[number] | (typeof WORKER_EVENTS)[number]

/**
 * Rows of which nothing else depends: they may be archived. `audit verify` compares all other rows with the tables, and
 * also a session's end by a token that was used twice.
 */
export const ARCHIVED_ACTIONS: ReadonlySet<AuditAction> = new Set([
  ...SIGNING_ACTIONS,
  'authorization_signed' as const,
  'vault_connection_refused' as const,
  'transaction_retried' as const,
  'transaction_cancelled' as const,
  'job_retried' as const,
  ...SECURITY_EVENTS.filter((event) => event !== 'refresh_token_reused'),
])

/** Every act that leaves an audit row. Its list says whose key proves the row. */
export const AUDIT_ACTIONS = [...VAULT_ACTIONS, ...API_ACTIONS, ...WORKER_ACTIONS] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export const APPROVAL_DECISIONS = ['approve', 'reject'] as const
export type ApprovalDecision = (typeof APPROVAL_DECISIONS)[number]

/** How a policy's rule compares a transaction's argument with the rule's value. */
export const RULE_OPERATORS = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'] as const
export type RuleOperator = (typeof RULE_OPERATORS)[number]

/** What an operator can freeze: the vault then opens none of its keys. */
export const FREEZE_SCOPES = ['project', 'owner', 'wallet', 'network'] as const
export type FreezeScope = (typeof FREEZE_SCOPES)[number]

/** How a session challenge is completed: on another device, behind a mailed link, or at an issuer. */
export const CHALLENGE_WAYS = ['session_challenge', 'magic_link', 'issuer'] as const
export type ChallengeWay = (typeof CHALLENGE_WAYS)[number]

/** How a session began. */
export const LOGIN_WAYS = ['email_code', 'wallet', 'passkey', 'anonymous', ...CHALLENGE_WAYS] as const
export type LoginWay = (typeof LOGIN_WAYS)[number]

/** What a mailed code is for: to log in, or to give a user who is logged in an e-mail address. */
export const EMAIL_CODE_PURPOSES = ['login', 'add_email'] as const

/** The two secrets of a deployment that open no wallet. */
export const SECRETS = ['SERVICE_KEY', 'IDENTITY_KEY'] as const
export type Secret = (typeof SECRETS)[number]

/** The algorithms (JWA) with which an issuer may sign. None has a shared secret: a published key signs nothing. */
export const ISSUER_ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const
export type IssuerAlgorithm = (typeof ISSUER_ALGORITHMS)[number]

/** What must sign a login's nonce. */
export const NONCE_KINDS = ['wallet', 'passkey_login', 'passkey_registration', 'issuer'] as const

/**
 * Why a session ended. `logout`: in the session itself. `user`: by its user from another session. `reuse`: a refresh
 * token was used twice. `pin_changed`, `passkey_removed`: its user did that in another session. `operator`: by the
 * command line.
 */
export const SESSION_ENDS = ['logout', 'user', 'reuse', 'pin_changed', 'passkey_removed', 'operator'] as const
export type SessionEnd = (typeof SESSION_ENDS)[number]

/** What an operator may do at the console: a viewer only reads. */
export const OPERATOR_ROLES = ['viewer', 'operator'] as const
export type OperatorRole = (typeof OPERATOR_ROLES)[number]

/** A project, an operator, three days without a success or an answer 410 disable an endpoint. */
export const WEBHOOK_STATES = ['enabled', 'disabled'] as const

/** `wallet`: an event waits until the earlier ones of the same wallet are taken. `none`: it waits for no other one. */
export const WEBHOOK_ORDERS = ['wallet', 'none'] as const
export type WebhookOrder = (typeof WEBHOOK_ORDERS)[number]

/** `failed`: it was not taken within three days. */
export const DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** What a hash in `operator_tokens` is of. */
export const OPERATOR_TOKEN_KINDS = ['link', 'session', 'challenge'] as const
export type OperatorTokenKind = (typeof OPERATOR_TOKEN_KINDS)[number]

/** What a project is told, by its type. db/events.ts writes each of them. */
export const EVENT_TYPES = [
  'transaction.updated',
  'activity.created',
  'activity.removed',
  'wallet.created',
  'user.created',
  'policy.created',
  'policy.revoked',
  'approval.requested',
  'approval.decided',
  'approval.expired',
  'credential.locked',
  'credential.added',
  'credential.removed',
  'project.changed',
  'security.refused',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Why a node was unavailable. `too_large`: our limit on an answer, or the node's limit on a question (HTTP 413). */
export const NODE_TROUBLES = [
  'unreachable',
  'timeout',
  'http',
  'unreadable',
  'too_large',
  'refused',
  'wrong_chain',
] as const
export type NodeTrouble = (typeof NODE_TROUBLES)[number]

/** Why a webhook's request was not taken. */
export const POST_FAILURES = [
  'address_not_allowed',
  'name_not_found',
  'connection_failed',
  'certificate_refused',
  'timed_out',
  'redirected',
  'status',
] as const
export type PostFailure = (typeof POST_FAILURES)[number]

/**
 * The settings that say what a statement means. They win over `alter role` and `alter database`. PostgreSQL searches
 * pg_catalog before this path, and temporary tables last. A query that row-level security would filter fails.
 */
export const MEANING = { search_path: 'public,pg_temp', row_security: 'off' } as const
