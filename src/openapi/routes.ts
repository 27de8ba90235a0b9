import { createHash } from 'node:crypto'
import { openapi } from '@elysiajs/openapi'
import { Elysia } from 'elysia'
import type { Ctx } from '../context.ts'
import { ASSET_NAMES, CONTENT_SECURITY_POLICY, PAGE, SCRIPT, viewerAsset } from './page.ts'

const hidden = { detail: { hide: true } }
const scriptDigest = createHash('sha256').update(SCRIPT).digest('base64')

const documentation = (ctx: Pick<Ctx, 'config'>) => ({
  info: {
    title: 'Strongroom',
    version: '0.0.1',
    description: [
      'Wallet custody, transaction preview and submission, NFTs and activity.',
      'Press **Authorize** and enter your project id and an API key; then each call below can be tried.',
      'Every failure is an `ErrorResponse`: one sentence for people, one `code` for programs.',
    ].join(' '),
  },
  servers: [{ url: ctx.config.publicBaseUrl }],
  tags: [
    { name: 'Wallets', description: 'Addresses and who controls them.' },
    { name: 'Transactions', description: 'Preview, sign, send, and what became of it.' },
    { name: 'NFTs', description: 'Collections, minting, transfers, holdings.' },
    { name: 'Activity', description: 'What happened to an address.' },
    { name: 'Health', description: 'For operators and load balancers.' },
  ],
  components: {
    securitySchemes: {
      project: {
        type: 'apiKey' as const,
        in: 'header' as const,
        name: 'X-WalletKit-Project-ID',
        description: 'Your project id.',
      },
      bearer: { type: 'http' as const, scheme: 'bearer', description: 'An API key of the project.' },
    },
  },
  security: [{ project: [], bearer: [] }],
})

/** The machine-readable description at /openapi/json, from the routes' own schemas, and a page that tries each call. */
export const openapiRoutes = (ctx: Pick<Ctx, 'config'>) => {
  const viewer = new Elysia({ prefix: '/openapi' }).get(
    '/',
    ({ set }) => {
      set.headers['content-type'] = 'text/html; charset=utf-8'
      set.headers['content-security-policy'] = CONTENT_SECURITY_POLICY.replace('SCRIPT_DIGEST', scriptDigest)
      return PAGE
    },
    hidden,
  )
  for (const name of ASSET_NAMES) {
    viewer.get(
      `/${name}`,
      async () => {
        const asset = await viewerAsset(name)
        if (asset === null) throw new Error(`the viewer's ${name} is missing`)
        return new Response(asset.bytes.slice().buffer, {
          headers: { 'content-type': asset.type, 'cache-control': 'max-age=3600' },
        })
      },
      hidden,
    )
  }
  return new Elysia()
    .use(viewer)
    .use(openapi({ provider: null, path: '/openapi', specPath: '/openapi/json', documentation: documentation(ctx) }))
}
