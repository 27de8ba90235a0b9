import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Elysia } from 'elysia'
import { readCode } from '../../identity/users/session-challenge.ts'
import { AppError, ERROR_STATUS } from '../../platform/errors.ts'
import { readFormBody, SMALL_BODY_BYTES } from '../../platform/http/body.ts'
import { clientOf, subnetOf } from '../../platform/http/peer.ts'
import type { Rate } from '../../platform/http/rate.ts'
import { PAGE_HEADERS, rootOf } from '../../platform/pages/page.ts'
import { type BegunLogin, oauthPage, type Provider } from './oauth-page.ts'
import { type Answered, openLogin } from './open.ts'

const hidden = { detail: { hide: true } }
const STATE_MAX = 1_024
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** What @walletkit/react-link 0.0.30 puts into `state`, as JSON in base64. Its field `redirect_uri` is not used. */
const State = Type.Object({ project_id: Type.String(), session_challenge_code: Type.String() })

const readState = (text: string): Static<typeof State> | null => {
  if (text.length > STATE_MAX || !BASE64.test(text)) return null
  try {
    const state: unknown = JSON.parse(Buffer.from(text, 'base64').toString())
    return Value.Check(State, state) ? state : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** A stranger can make a `state`: only a known project and a well-formed code lead to a link. */
const findBegun = async (
  ctx: Parameters<typeof openLogin>[0],
  given: string | undefined,
): Promise<BegunLogin | null> => {
  const state = readState(given ?? '')
  const code = readCode(state?.session_challenge_code ?? '')
  if (state === null || code === null) return null
  try {
    return { login: await openLogin(ctx, { project_id: state.project_id }), code }
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_input') return null
    throw error
  }
}

/** The addresses to which clients let Google and Apple send people back: a page that says that we do not offer this. */
export const oauthRoutes = (ctx: Parameters<typeof openLogin>[0], bytes: Rate) => {
  const answer = async (set: Answered, provider: Provider, state: string | undefined): Promise<string> => {
    Object.assign(set.headers, PAGE_HEADERS)
    set.status = ERROR_STATUS.not_implemented
    return oauthPage({ root: rootOf(ctx.config), provider, begun: await findBegun(ctx, state) })
  }
  return new Elysia({ prefix: '/users/oauth', normalize: false })
    .onParse(({ request }) => {
      const spend = (count: number) => bytes.spend(subnetOf(clientOf(ctx.config, request).address), count)
      return readFormBody(request, { maxBytes: SMALL_BODY_BYTES, spend })
    })
    .get('/google-callback', ({ query, set }) => answer(set, 'google', query.state), hidden)
    .post(
      '/apple-callback',
      ({ body, set }) => answer(set, 'apple', body instanceof Map ? body.get('state') : undefined),
      hidden,
    )
}
