// What an API key must be allowed to for each call. Looking at things takes `read`; using a wallet takes `sign`; what makes
// wallets, lets secrets out or decides who controls a wallet takes `admin`. A key may have several; none implies another.

import type { ApiKeyScope } from '../../db/words.ts'
import { AppError } from '../errors.ts'
import type { Caller } from './caller.ts'

/** By path, as the route declares it. Every GET takes `read`; a POST that is not listed takes `admin`. */
export const SCOPE_OF_POST: ReadonlyMap<string, ApiKeyScope> = new Map<string, ApiKeyScope>([
  ['/transactions/preview', 'read'],
  ['/transactions/preview-bundle', 'read'],

  ['/transactions/sign', 'sign'],
  ['/transactions/sign-and-send', 'sign'],
  ['/transactions/batch-sign-and-send', 'sign'],
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

/** @throws scope_required */
export const requireScope = (caller: Caller, call: Call): void => {
  const scope = scopeOf(call)
  if (caller.scopes.includes(scope)) return
  throw new AppError('scope_required', `The API key lacks the scope "${scope}", which this call needs.`)
}
