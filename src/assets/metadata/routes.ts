import { Elysia } from 'elysia'
import type { HasDb } from '../../../db/client.ts'
import { describedAs } from '../../platform/http/schema.ts'
import { getHosted } from './host.ts'
import { NftMetadata } from './schema.ts'

/** The address is the digest of the text, so the text never changes. */
const CACHE_FOR_EVER = 'public, max-age=31536000, immutable'

/** RFC 9110 §13.1.2, with the weak comparison. */
const isKnown = (digest: string, ifNoneMatch: string | null): boolean =>
  ifNoneMatch?.trim() === '*' ||
  (ifNoneMatch?.split(',').some((each) => /^\s*(?:W\/)?"([0-9a-f]{64})"\s*$/.exec(each)?.[1] === digest) ?? false)

const { detail, withHeaders } = describedAs('NFTs')

/** Public, because wallets and marketplaces read the metadata of NFTs. */
export const metadataRoutes = (ctx: HasDb) =>
  new Elysia({ prefix: '/metadata', normalize: false }).get(
    '/:file',
    async ({ params, request, set }) => {
      set.headers['access-control-allow-origin'] = '*'
      set.headers['x-content-type-options'] = 'nosniff'
      const { digest, body, mediaType } = await getHosted(ctx, params.file)
      // Answer with a Response, so that exactly the bytes of the digest are sent.
      const headers = { 'cache-control': CACHE_FOR_EVER, etag: `"${digest}"` }
      if (isKnown(digest, request.headers.get('if-none-match'))) return new Response(null, { status: 304, headers })
      const sent = typeof body === 'string' ? body : Uint8Array.from(body)
      return new Response(sent, { headers: { ...headers, 'content-type': mediaType } })
    },
    {
      response: { 200: NftMetadata },
      ...withHeaders(
        'kept for ever',
        detail(
          'Get hosted metadata',
          'The EIP-721 metadata of an NFT that was minted here, under its token URI; or an uploaded image, with its own media type. Public.',
          ['not_found', 'rate_limited'],
        ),
      ),
    },
  )
