// Endpoints of the interface that later work brings: they answer 501 as an ErrorResponse, after the caller is known.

import { Elysia } from 'elysia'
import type { Authentication } from '../auth/plugin.ts'
import { AppError } from '../errors.ts'

const BEHIND_AUTHENTICATION = ['/policies/revoke']

const refuse = (): never => {
  throw new AppError('not_implemented', 'This endpoint is not served yet.')
}

const hidden = { detail: { hide: true } }

export const unservedRoutes = (authentication: Authentication) => {
  const closed = new Elysia().use(authentication)
  for (const path of BEHIND_AUTHENTICATION) closed.post(path, refuse, hidden)
  return closed
}
