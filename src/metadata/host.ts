// Hosted EIP-721 metadata: a document is addressed by the SHA-256 of its text, so it can be served for ever and never
// change. The text is canonical (fixed order of keys, no spaces), so equal metadata is one document.

import { createHash } from 'node:crypto'
import type { Queryable } from '../../db/client.ts'
import { insertMetadataDocument } from '../../db/queries/metadata.ts'
import type { Config } from '../config.ts'
import type { NftMetadata } from './schema.ts'

/** `digest` is lower-case hex. */
export type MetadataDocument = { readonly digest: string; readonly body: string; readonly uri: string }

const FOLDER = '/metadata/'
const SUFFIX = '.json'
const DIGEST = /^[0-9a-f]{64}$/

/** The document of some metadata, and where it will be found once it is hosted. Pure. */
export const describeMetadata = (config: Pick<Config, 'publicBaseUrl'>, metadata: NftMetadata): MetadataDocument => {
  const { name, description, image } = metadata
  const body = JSON.stringify({ name, description, image })
  const digest = createHash('sha256').update(body, 'utf8').digest('hex')
  return { digest, body, uri: `${config.publicBaseUrl}${FOLDER}${digest}${SUFFIX}` }
}

/** Hosts a document; idempotent. */
export const hostMetadata = async (db: Queryable, document: MetadataDocument): Promise<void> =>
  insertMetadataDocument(db, document)

/** The digest in a document's file name, or null where it is none. Pure. */
export const digestOfFile = (file: string): string | null => {
  const digest = file.slice(0, -SUFFIX.length)
  return file.endsWith(SUFFIX) && DIGEST.test(digest) ? digest : null
}

/** The digest in a URI of a document of ours, or null where it is none. Pure. */
export const digestOfUri = (config: Pick<Config, 'publicBaseUrl'>, uri: string): string | null => {
  const folder = `${config.publicBaseUrl}${FOLDER}`
  return uri.startsWith(folder) ? digestOfFile(uri.slice(folder.length)) : null
}
