// Uploaded images. An image's address is the SHA-256 of its bytes, so it never changes. Its kind is read from its first bytes,
// whatever the caller says. Only these kinds are kept: browsers run nothing in them. SVG is refused, because it may have scripts
// and load other addresses.

import { createHash } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import { insertHostedImage, uploadedBytes } from '../../../db/queries/metadata.ts'
import type { ImageKind } from '../../../db/words.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'

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

export const MEDIA_TYPES: Readonly<Record<ImageKind, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
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
  return `${ctx.config.publicBaseUrl}/metadata/${digest}.${kind}`
}
