import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { describedAs } from '../../platform/http/schema.ts'
import { type HasTokens, JWKS_MAX_AGE_SECONDS } from './access-token.ts'

const JwkSet = Type.Object(
  { keys: Type.Array(Type.Record(Type.String(), Type.String())) },
  {
    title: 'JwkSet',
    description: 'RFC 7517 §5; the keys are of RFC 8037.',
    examples: [
      {
        keys: [
          {
            kty: 'OKP',
            crv: 'Ed25519',
            alg: 'EdDSA',
            use: 'sig',
            kid: '0b5a9c1e-2f4d-4a6b-8c7d-9e0f1a2b3c4d',
            x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
          },
        ],
      },
    ],
  },
)

const { detail, withHeaders } = describedAs('Users')

export const tokenKeyRoutes = (ctx: HasTokens) =>
  new Elysia({ normalize: false }).get(
    '/.well-known/jwks.json',
    async ({ set }) => {
      set.headers['access-control-allow-origin'] = '*'
      const { keys } = await ctx.tokens.jwks()
      // The first login creates the first key. A cached empty answer would make its token look invalid.
      if (keys.length > 0) set.headers['cache-control'] = `public, max-age=${JWKS_MAX_AGE_SECONDS}`
      return { keys: keys.map((key) => ({ ...key })) }
    },
    {
      response: { 200: JwkSet },
      ...withHeaders(
        'kept a while',
        detail(
          'The public keys of access tokens',
          'Pages of any origin may read them. A key is published from an hour before its first signature until its last token has expired.',
          ['rate_limited'],
        ),
      ),
    },
  )
