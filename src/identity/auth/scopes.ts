// The scope that an API key needs for each call. Reading needs `read`. Using a wallet needs `sign`. Creating wallets,
// exporting secrets and deciding who controls a wallet need `admin`. A key can have several scopes; none implies
// another.

import type { ApiKeyScope } from '../../../db/words.ts'
import { AppError } from '../../platform/errors.ts'
import { type Caller, requireUser } from './caller.ts'

/** By path, as the route declares it. Every GET needs `read`; a POST that is not listed needs `admin`. */
const SCOPE_OF_POST: ReadonlyMap<string, ApiKeyScope> = new Map<string, ApiKeyScope>([
  ['/transactions/preview', 'read'],
  ['/transactions/preview-bundle', 'read'],
  ['/transactions/preview-typed-data', 'read'],
  ['/policies/describe', 'read'],

  ['/transactions/sign', 'sign'],
  ['/transactions/sign-and-send', 'sign'],
  ['/transactions/batch-sign-and-send', 'sign'],
  ['/transactions/speed-up', 'sign'],
  ['/transactions/cancel', 'sign'],
  ['/transactions/retry', 'sign'],
  ['/transactions/sign-message', 'sign'],
  ['/transactions/sign-payload', 'sign'],
  ['/transactions/sign-authorization', 'sign'],
  ['/transactions/sign-typed-data', 'sign'],
  ['/nfts/collections', 'sign'],
  ['/nfts/mint', 'sign'],
  ['/nfts/transfer', 'sign'],
  ['/nfts/batch-mint', 'sign'],
  ['/nfts/upload', 'sign'],
  ['/tokens', 'sign'],
  ['/tokens/mint', 'sign'],
  ['/tokens/transfer', 'sign'],
  ['/tokens/batch-transfer', 'sign'],
])

type Call = { readonly method: string; readonly route: string }

const scopeOf = ({ method, route }: Call): ApiKeyScope =>
  method === 'GET' ? 'read' : (SCOPE_OF_POST.get(route) ?? 'admin')

/** Only users themselves may call these, whatever scopes an API key has. */
const OF_USERS = /^\/users\/|^\/approvals\/|^\/wallets\/get-by-network$|^\/credentials\/wallet$/

/** Checks that the caller may make a call. Users have no scopes: they reach only what is their own. */
export const requireScope = (caller: Caller, call: Call): void => {
  if (caller.kind === 'user') return
  if (OF_USERS.test(call.route)) requireUser(caller)
  const scope = scopeOf(call)
  if (caller.scopes.includes(scope)) return
  throw new AppError('scope_required', `The API key lacks the scope "${scope}", which this call needs.`)
}
