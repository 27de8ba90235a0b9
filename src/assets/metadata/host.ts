// Hosted EIP-721 metadata. A document's address is the SHA-256 of its text, so it never changes. The text is canonical (fixed
// key order, no spaces), so equal metadata is one document. If an IPFS node pins it, the URI holds the same digest as a CID;
// the text is stored here too, for lists.

import { createHash } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import { findHostedImage, findMetadataDocument } from '../../../db/queries/metadata.ts'
import { IMAGE_KINDS } from '../../../db/words.ts'
import type { Config } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { MEDIA_TYPES } from './images.ts'
import { CID_IN_HEX, cidOf, digestOfCid } from './pin.ts'
import type { NftMetadata } from './schema.ts'

/** `digest` is lower-case hex. */
export type MetadataDocument = { readonly digest: string; readonly body: string; readonly uri: string }

const FOLDER = '/metadata/'
const SUFFIX = '.json'
const IPFS = 'ipfs://'
const DIGEST = /^[0-9a-f]{64}$/

/** The document of some metadata, with its future URI. Pure. */
export const describeMetadata = (
  config: Pick<Config, 'publicBaseUrl' | 'ipfsApiUrl'>,
  metadata: NftMetadata,
): MetadataDocument => {
  const { name, description, image } = metadata
  const body = JSON.stringify({ name, description, image })
  const digest = createHash('sha256').update(body, 'utf8').digest('hex')
  const uri =
    config.ipfsApiUrl === null ? `${config.publicBaseUrl}${FOLDER}${digest}${SUFFIX}` : `${IPFS}${cidOf(digest)}`
  return { digest, body, uri }
}

/** What is written before and behind the digest of a document to make its URI. Pure. */
export const digestUriOf = (config: Pick<Config, 'publicBaseUrl' | 'ipfsApiUrl'>) =>
  config.ipfsApiUrl === null
    ? { prefix: `${config.publicBaseUrl}${FOLDER}`, suffix: SUFFIX }
    : { prefix: `${IPFS}${CID_IN_HEX}`, suffix: '' }

/** The digest in a document's file name, or null. Pure. */
const digestOfFile = (file: string): string | null => {
  const digest = file.slice(0, -SUFFIX.length)
  return file.endsWith(SUFFIX) && DIGEST.test(digest) ? digest : null
}

/** The digest in the URI of one of our documents, pinned or not; else null. Pure. */
export const digestOfUri = (config: Pick<Config, 'publicBaseUrl'>, uri: string): string | null => {
  if (uri.startsWith(IPFS)) return digestOfCid(uri.slice(IPFS.length))
  const folder = `${config.publicBaseUrl}${FOLDER}`
  return uri.startsWith(folder) ? digestOfFile(uri.slice(folder.length)) : null
}

/** A hosted document or image. */
type HostedFile = { readonly digest: string; readonly body: string | Uint8Array; readonly mediaType: string }

const IMAGE_FILE = new RegExp(`^([0-9a-f]{64})\\.(${IMAGE_KINDS.join('|')})$`)

const imageIn = async ({ db }: HasDb, file: string): Promise<HostedFile | null> => {
  const [, digest = '', suffix] = IMAGE_FILE.exec(file) ?? []
  const kind = IMAGE_KINDS.find((each) => each === suffix)
  const body = kind === undefined ? null : await findHostedImage(db, { digest, kind })
  return kind === undefined || body === null ? null : { digest, body, mediaType: MEDIA_TYPES[kind] }
}

const documentIn = async ({ db }: HasDb, file: string): Promise<HostedFile | null> => {
  const digest = digestOfFile(file)
  const body = digest === null ? null : await findMetadataDocument(db, digest)
  return digest === null || body === null ? null : { digest, body, mediaType: 'application/json; charset=utf-8' }
}

/**
 * The exact text of a hosted document, or the bytes of a hosted image.
 * @param file null if the framework could not decode the path.
 * @throws not_found, also for a malformed file name.
 */
export const getHosted = async (ctx: HasDb, file: string | null): Promise<HostedFile> => {
  const found = file === null ? null : ((await documentIn(ctx, file)) ?? (await imageIn(ctx, file)))
  if (found === null) throw new AppError('not_found', 'There is no such metadata document or image.')
  return found
}
