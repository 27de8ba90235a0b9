// Endpoints of the interface that later work brings: they answer 501 as an ErrorResponse, after the caller is known.

import { Elysia } from 'elysia'
import type { Authentication } from '../auth/plugin.ts'
import { AppError } from '../errors.ts'

const BEHIND_AUTHENTICATION = ['/policies/revoke', '/users/passkey/begin-registration', '/users/logout']
const OPEN = [
  ['POST', '/users/verify-login'],
  ['GET', '/users/session-challenge'],
  ['POST', '/users/login-with-discoverable-passkey'],
] as const

const refuse = (): never => {
  throw new AppError('not_implemented', 'This endpoint is not served yet.')
}

const hidden = { detail: { hide: true } }

export const unservedRoutes = (authentication: Authentication) => {
  const open = new Elysia()
  for (const [method, path] of OPEN) open.route(method, path, refuse, hidden)
  const closed = new Elysia().use(authentication)
  for (const path of BEHIND_AUTHENTICATION) closed.post(path, refuse, hidden)
  return new Elysia().use(open).use(closed)
}
