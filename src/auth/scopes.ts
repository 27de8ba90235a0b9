// What an API key must be allowed to for each call. Looking at things takes `read`; using a wallet takes `sign`; what makes
// wallets, lets secrets out or decides who controls a wallet takes `admin`. A key may have several; none implies another.

import type { ApiKeyScope } from '../../db/words.ts'
import { AppError } from '../errors.ts'
import { type Caller, requireUser } from './caller.ts'

/** By path, as the route declares it. Every GET takes `read`; a POST that is not listed takes `admin`. */
export const SCOPE_OF_POST: ReadonlyMap<string, ApiKeyScope> = new Map<string, ApiKeyScope>([
  ['/transactions/preview', 'read'],
  ['/transactions/preview-bundle', 'read'],

  ['/transactions/sign', 'sign'],
  ['/transactions/sign-and-send', 'sign'],
  ['/transactions/batch-sign-and-send', 'sign'],
  ['/transactions/speed-up', 'sign'],
  ['/transactions/sign-message', 'sign'],
  ['/nfts/collections', 'sign'],
  ['/nfts/mint', 'sign'],
  ['/nfts/transfer', 'sign'],

  ['/wallets', 'admin'],
  ['/wallets/import', 'admin'],
  ['/wallets/export', 'admin'],
  ['/wallets/change-user-pin', 'admin'],
  ['/policies', 'admin'],
  ['/policies/revoke', 'admin'],
])

export type Call = { readonly method: string; readonly route: string }

const scopeOf = ({ method, route }: Call): ApiKeyScope =>
  method === 'GET' ? 'read' : (SCOPE_OF_POST.get(route) ?? 'admin')

/** Who a user is and how they log in is theirs alone, whatever an API key may do. */
const OF_USERS = /^\/users\/|^\/wallets\/get-by-network$/

/**
 * A user has no scopes: what an access token reaches is decided by whose things they are.
 * @throws scope_required, user_session_required
 */
export const requireScope = (caller: Caller, call: Call): void => {
  if (caller.kind === 'user') return
  if (OF_USERS.test(call.route)) requireUser(caller)
  const scope = scopeOf(call)
  if (caller.scopes.includes(scope)) return
  throw new AppError('scope_required', `The API key lacks the scope "${scope}", which this call needs.`)
}
