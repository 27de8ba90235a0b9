import type { HasDb } from '../../../db/client.ts'
import { readTokenUris, writeTokenUris } from '../../../db/queries/facts.ts'
import { readMetadataDocuments } from '../../../db/queries/metadata.ts'
import type { Chain } from '../../chains/chain.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasLog } from '../../platform/process/log.ts'
import { MAX_URI_CHARACTERS, metadataInUri } from './data-uri.ts'
import { parseDigest } from './host.ts'
import type { NftMetadata } from './schema.ts'

/**
 * From documents hosted here and from the URIs themselves, in the order of the URIs. null for all other URIs: the
 * service never fetches an address that the creator of a token chose.
 */
export const readMetadata = async (
  ctx: HasDb & HasConfig,
  uris: readonly (string | null)[],
): Promise<readonly (NftMetadata | null)[]> => {
  const digests = uris.map((uri) => (uri === null ? null : parseDigest(ctx.config, uri)))
  const wanted = new Set(digests.filter((digest) => digest !== null))
  const documents = await readMetadataDocuments(ctx.db, [...wanted])
  return uris.map((uri, index) => {
    if (uri === null) return null
    const body = documents.get(digests[index] ?? '')
    return body === undefined ? metadataInUri(uri) : (JSON.parse(body) as NftMetadata)
  })
}

type TokenRef = { readonly contract: string; readonly tokenId: bigint }
type UriQuery = { readonly chain: Pick<Chain, 'network' | 'tokenUris'>; readonly tokens: readonly TokenRef[] }

const NUL = String.fromCharCode(0)
const keyOf = (token: TokenRef): string => `${token.contract}/${token.tokenId}`

/** See `readMetadata`. URIs are read once and then cached; without a node only uncached ones are missing. */
export const readTokenMetadata = async (
  ctx: HasDb & HasConfig & HasLog,
  { chain, tokens }: UriQuery,
): Promise<readonly (NftMetadata | null)[]> => {
  const { network } = chain
  const uris = new Map(await readTokenUris(ctx.db, { network, tokens }))
  const unknown = new Map(tokens.filter((token) => !uris.has(keyOf(token))).map((token) => [keyOf(token), token]))
  const read = await readFromChain(ctx, { chain, tokens: [...unknown.values()] })
  for (const { uri, ...token } of read) uris.set(keyOf(token), uri)
  await writeTokenUris(ctx.db, { network, uris: read })
  return readMetadata(
    ctx,
    tokens.map((token) => uris.get(keyOf(token)) ?? null),
  )
}

const readFromChain = async (
  ctx: HasLog,
  { chain, tokens }: UriQuery,
): Promise<readonly (TokenRef & { readonly uri: string })[]> => {
  if (tokens.length === 0) return []
  try {
    const uris = await chain.tokenUris(tokens)
    return tokens.flatMap(({ contract, tokenId }, index) => {
      const uri = uris[index] ?? ''
      return isStorable(uri) ? [{ contract, tokenId, uri }] : []
    })
  } catch (err) {
    if (!(err instanceof AppError) || err.status !== 503) throw err
    ctx.log.warn({ err, network: chain.network, tokens: tokens.length }, 'token URIs could not be read')
    return []
  }
}

/** Whether to cache a URI: an empty one may still be set later, and PostgreSQL must be able to store it. */
const isStorable = (uri: string): boolean =>
  uri !== '' && uri.length <= MAX_URI_CHARACTERS && !uri.includes(NUL) && uri.isWellFormed()
