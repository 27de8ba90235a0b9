// Hosted EIP-721 metadata. A document's address is the SHA-256 of its text, so it never changes. The text is canonical
// (fixed key order, no spaces), so equal metadata is one document. If an IPFS node pins it, the URI holds the same
// digest as a CID; the text is stored here too, for lists.

import { createHash } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import {
  findHostedImage,
  findMetadataDocument,
  insertHostedImage,
  uploadedBytes,
} from '../../../db/queries/metadata.ts'
import { IMAGE_KINDS, type ImageKind } from '../../../db/words.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { Config, HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { CID_IN_HEX, cidOf, digestOfCid } from './pin.ts'
import type { NftMetadata } from './schema.ts'

/** `digest` is lower-case hex. */
export type MetadataDocument = { readonly digest: string; readonly body: string; readonly uri: string }

const FOLDER = '/metadata/'
const SUFFIX = '.json'
const IPFS = 'ipfs://'
const DIGEST = /^[0-9a-f]{64}$/

/** With the document's future URI. Pure. */
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
export const describeDigestUri = (config: Pick<Config, 'publicBaseUrl' | 'ipfsApiUrl'>) =>
  config.ipfsApiUrl === null
    ? { prefix: `${config.publicBaseUrl}${FOLDER}`, suffix: SUFFIX }
    : { prefix: `${IPFS}${CID_IN_HEX}`, suffix: '' }

const digestOfFile = (file: string): string | null => {
  const digest = file.slice(0, -SUFFIX.length)
  return file.endsWith(SUFFIX) && DIGEST.test(digest) ? digest : null
}

/** The digest in the URI of one of our documents, pinned or not; else null. Pure. */
export const parseDigest = (config: Pick<Config, 'publicBaseUrl'>, uri: string): string | null => {
  if (uri.startsWith(IPFS)) return digestOfCid(uri.slice(IPFS.length))
  const folder = `${config.publicBaseUrl}${FOLDER}`
  return uri.startsWith(folder) ? digestOfFile(uri.slice(folder.length)) : null
}

type HostedFile = { readonly digest: string; readonly body: string | Uint8Array; readonly mediaType: string }

const MEDIA_TYPES: Readonly<Record<ImageKind, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

const IMAGE_FILE = new RegExp(`^([0-9a-f]{64})\\.(${IMAGE_KINDS.join('|')})$`)

const findImage = async ({ db }: HasDb, file: string): Promise<HostedFile | null> => {
  const [, digest = '', suffix] = IMAGE_FILE.exec(file) ?? []
  const kind = IMAGE_KINDS.find((each) => each === suffix)
  const body = kind === undefined ? null : await findHostedImage(db, { digest, kind })
  return kind === undefined || body === null ? null : { digest, body, mediaType: MEDIA_TYPES[kind] }
}

const findDocument = async ({ db }: HasDb, file: string): Promise<HostedFile | null> => {
  const digest = digestOfFile(file)
  const body = digest === null ? null : await findMetadataDocument(db, digest)
  return digest === null || body === null ? null : { digest, body, mediaType: 'application/json; charset=utf-8' }
}

/** @param file null if the framework could not decode the path. @throws not_found, also for a malformed file name. */
export const getHosted = async (ctx: HasDb, file: string | null): Promise<HostedFile> => {
  const found = file === null ? null : ((await findDocument(ctx, file)) ?? (await findImage(ctx, file)))
  if (found === null) throw new AppError('not_found', 'There is no such metadata document or image.')
  return found
}

// Uploaded images. An image's address is the SHA-256 of its bytes, so it never changes. Its kind is read from its first
// bytes, whatever the caller says. Only these kinds are kept: browsers run nothing in them. SVG is refused, because it
// may have scripts and load other addresses.

/** How many bytes of new images one project may upload in 24 hours. */
const BYTES_A_DAY_MAX = 256 * 1024 * 1024
const DAY_MS = 24 * 60 * 60 * 1000
const RETRY_AFTER_SECONDS = 3_600

const ascii = (text: string): readonly number[] => [...Buffer.from(text, 'latin1')]

/** The first bytes of each kind; null is any byte. */
const SIGNATURES: readonly (readonly [ImageKind, readonly (number | null)[]])[] = [
  // PNG specification §5.2, and the chunk that comes first.
  ['png', [0x89, ...ascii('PNG\r\n\x1a\n'), 0, 0, 0, 13, ...ascii('IHDR')]],
  // ITU-T T.81, B.1.1.3: start of image, and the next marker.
  ['jpg', [0xff, 0xd8, 0xff]],
  // GIF89a specification §17.
  ['gif', ascii('GIF87a')],
  ['gif', ascii('GIF89a')],
  // WebP container specification: RIFF, the length, WEBP.
  ['webp', [...ascii('RIFF'), null, null, null, null, ...ascii('WEBP')]],
]

/** The kind of an image by its first bytes; null for anything else. Pure. */
const kindOfImage = (image: Uint8Array): ImageKind | null => {
  const begins = (signature: readonly (number | null)[]) =>
    signature.every((byte, index) => image[index] === (byte ?? image[index]) && index < image.length)
  return SIGNATURES.find(([, signature]) => begins(signature))?.[0] ?? null
}

/** Hosts an image. The same image again changes nothing. @returns its URL. */
export const hostImage = async (
  ctx: HasDb & HasConfig & HasClock,
  { projectId, image }: { readonly projectId: string; readonly image: Uint8Array },
): Promise<string> => {
  const kind = kindOfImage(image)
  if (kind === null) throw new AppError('invalid_input', 'Field "file" must be a PNG, JPEG, GIF or WebP image.')
  const since = new Date(ctx.now().getTime() - DAY_MS)
  if ((await uploadedBytes(ctx.db, { projectId, since })) + image.length > BYTES_A_DAY_MAX) {
    throw new AppError('rate_limited', `A project can upload at most ${BYTES_A_DAY_MAX} bytes of images in 24 hours.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  const digest = createHash('sha256').update(image).digest('hex')
  await insertHostedImage(ctx.db, { digest, kind, body: image, sizeBytes: image.length, projectId })
  return `${ctx.config.publicBaseUrl}${FOLDER}${digest}.${kind}`
}
