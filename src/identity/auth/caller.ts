// Who is calling. An API key acts for a whole project; an access token, or a token of the project's own
// issuer, acts for one end user of it.

import type { Reach } from '../../../db/queries/wallets.ts'
import type { ApiKeyScope } from '../../../db/words.ts'
import { AppError } from '../../platform/errors.ts'
import { subnetOf } from '../../platform/http/peer.ts'
import type { Credentials } from '../../vault/contract/required-credentials.ts'
import type { IssuerToken } from '../issuers/verify-token.ts'

/** An IP address, or '' if it is unknown. */
type From = { readonly address: string }

type ApiKeyCaller = From & {
  readonly kind: 'api_key'
  readonly projectId: string
  readonly apiKeyId: string
  readonly scopes: readonly ApiKeyScope[]
}

export type UserCaller = From & {
  readonly kind: 'user'
  readonly projectId: string
  readonly userId: string
  /** null for a caller with a token of the project's own issuer. */
  readonly sessionId: string | null
  /** When such a caller last logged in at the issuer, if their token says it. */
  readonly issuedLoginAt?: Date | null
  readonly issuerToken?: IssuerToken
}

export type Caller = ApiKeyCaller | UserCaller

/** What a caller can see: a user sees only what is their own. */
export const reachOf = (caller: Caller): Reach => ({
  projectId: caller.projectId,
  ownedBy: caller.kind === 'user' ? caller.userId : null,
})

export const actorOf = (caller: Caller): string =>
  caller.kind === 'api_key' ? `api_key:${caller.apiKeyId}` : `user:${caller.userId}`

/** On whose behalf an operation runs: what they can see, and their name in the audit. */
export type Principal = Reach & { readonly actor: string }

export const principalOf = (caller: Caller): Principal => ({ ...reachOf(caller), actor: actorOf(caller) })

export type Signatory = Principal & {
  readonly credentials: Credentials
  readonly approvalId?: string | undefined
  /** Whether what the database had lost may be done again. */
  readonly allowsRepeat?: boolean | undefined
}

export const signatoryOf = (
  caller: Caller,
  body: {
    readonly developer_secret?: string
    readonly user_pin?: string
    readonly user_secret?: string
    readonly approval_id?: string
    readonly allow_repeat?: boolean
  },
): Signatory => ({
  ...principalOf(caller),
  approvalId: body.approval_id,
  allowsRepeat: body.allow_repeat,
  credentials: {
    developerSecret: body.developer_secret,
    userPin: body.user_pin,
    userSecret: body.user_secret,
    from: subnetOf(caller.address),
  },
})

/** @throws scope_required for a user, of whom there may be any number. */
export const requireApiKey = (caller: Caller): void => {
  if (caller.kind === 'api_key') return
  throw new AppError('scope_required', 'This call takes an API key, not the access token of a user.')
}

/** @throws user_session_required for an API key. */
export const requireUser = (caller: Caller): UserCaller => {
  if (caller.kind === 'user') return caller
  throw new AppError('user_session_required', 'This call takes the access token of a user, not an API key.')
}
