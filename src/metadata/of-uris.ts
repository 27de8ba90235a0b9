import { readMetadataDocuments } from '../../db/queries/metadata.ts'
import type { Ctx } from '../context.ts'
import { metadataInUri } from './data-uri.ts'
import { digestOfUri } from './host.ts'
import type { NftMetadata } from './schema.ts'

/**
 * The metadata at some URIs, in their order: of documents hosted here and of those that a URI itself carries; null for
 * all others, since nothing is ever fetched from an address that a stranger wrote.
 */
export const metadataOfUris = async (
  ctx: Pick<Ctx, 'db' | 'config'>,
  uris: readonly (string | null)[],
): Promise<readonly (NftMetadata | null)[]> => {
  const digests = uris.map((uri) => (uri === null ? null : digestOfUri(ctx.config, uri)))
  const wanted = new Set(digests.filter((digest) => digest !== null))
  const documents = await readMetadataDocuments(ctx.db, [...wanted])
  return uris.map((uri, index) => {
    if (uri === null) return null
    const body = documents.get(digests[index] ?? '')
    return body === undefined ? metadataInUri(uri) : (JSON.parse(body) as NftMetadata)
  })
}
