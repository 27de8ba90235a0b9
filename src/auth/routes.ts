import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { Ctx } from '../context.ts'
import { JWKS_MAX_AGE_SECONDS } from './access-token.ts'

const JwkSet = Type.Object(
  { keys: Type.Array(Type.Record(Type.String(), Type.String())) },
  { title: 'JwkSet', description: 'RFC 7517 §5; the keys are of RFC 8037.' },
)

/** Publishes the public keys of access tokens. */
export const tokenKeyRoutes = (ctx: Pick<Ctx, 'tokens'>) =>
  new Elysia({ normalize: false }).get(
    '/.well-known/jwks.json',
    async ({ set }) => {
      const { keys } = await ctx.tokens.jwks()
      // The first login creates the first key. A cached empty answer would make its token look invalid.
      set.headers['cache-control'] = keys.length === 0 ? 'no-store' : `public, max-age=${JWKS_MAX_AGE_SECONDS}`
      return { keys: keys.map((key) => ({ ...key })) }
    },
    {
      response: { 200: JwkSet },
      detail: {
        tags: ['Users'],
        summary: 'The public keys of access tokens',
        description: 'A key is published an hour before it signs, until the last token that it signed has expired.',
      },
    },
  )
