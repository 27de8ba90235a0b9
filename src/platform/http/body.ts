// Reads a request's body up to the limit of its route, and drops what no handler reads.

import { AppError, invalidInput } from '../errors.ts'
import { parseJsonText } from './json-text.ts'

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE

/** Twice the size of the longest fields of all routes that are not listed below. */
export const SMALL_BODY_BYTES = 16 * KIBIBYTE

/** 1 MB of call data, more than any network accepts in one transaction, is 2 MB of hex; a bundle has several. */
const CALL_DATA_BYTES = 4 * MEBIBYTE
/** Contracts take a few kilobytes. */
const TYPED_DATA_BYTES = MEBIBYTE
/** 50 rules with values of 1,024 characters. */
const RULES_BYTES = 256 * KIBIBYTE
/** A description of 4,096 characters, each of which may be written as two escapes of six. */
const METADATA_BYTES = 64 * KIBIBYTE
/** A contract wallet's signature of 8,192 bytes in hex, and the message that it signs. */
const SIGNATURE_BYTES = 32 * KIBIBYTE

/** 200 documents; long descriptions need several requests, as proxies are told of no larger body. */
const BATCH_METADATA_BYTES = 4 * MEBIBYTE
/** An image; proxies are told of no larger body. */
const IMAGE_BYTES = 4 * MEBIBYTE

/** By path, as the route declares it. A route that is not listed accepts a small body. */
export const LARGE_BODIES: ReadonlyMap<string, number> = new Map([
  ['/transactions/preview', CALL_DATA_BYTES],
  ['/transactions/preview-bundle', CALL_DATA_BYTES],
  ['/transactions/sign', CALL_DATA_BYTES],
  ['/transactions/sign-and-send', CALL_DATA_BYTES],
  ['/transactions/batch-sign-and-send', CALL_DATA_BYTES],
  // Messages have no limit of their own, because people also sign documents.
  ['/transactions/sign-message', CALL_DATA_BYTES],
  ['/transactions/preview-typed-data', TYPED_DATA_BYTES],
  ['/transactions/sign-typed-data', TYPED_DATA_BYTES],
  ['/policies', RULES_BYTES],
  ['/policies/describe', RULES_BYTES],
  ['/nfts/mint', METADATA_BYTES],
  ['/nfts/batch-mint', BATCH_METADATA_BYTES],
  ['/nfts/upload', IMAGE_BYTES],
  ['/users/verify-login', SIGNATURE_BYTES],
])

/** The paths whose body is a form with one file. All other paths take JSON. */
export const FILE_BODIES: ReadonlySet<string> = new Set(['/nfts/upload'])

export const bodyLimitOf = (route: string): number => LARGE_BODIES.get(route) ?? SMALL_BODY_BYTES

// Drops a body that no handler reads, because the headers already decide or it is too large. Many clients read the
// answer only after they have sent everything, so they would miss it if the connection ended earlier.
//
// If the connection stays open, Bun answers at once and then drops the rest by itself, without memory. If the client
// asked to close it, Bun closes it with the answer, so we drop the rest here first, up to a limit.

const MAX_DROPPED_BYTES = 8 * 1024 * 1024
const MAX_DROPPING_MS = 10_000

/** The header Content-Length, which the server has validated; null for a chunked body or none. */
const declaredBytes = (request: Request): number | null => {
  const declared = request.headers.get('content-length')
  return declared === null ? null : Number(declared)
}

export const hasBody = ({ headers }: Request): boolean =>
  headers.has('content-length') || headers.has('transfer-encoding')

/** Whether a request has a body and asks to close the connection after the answer. */
export const endsWithBody = (request: Request): boolean =>
  hasBody(request) && /\bclose\b/i.test(request.headers.get('connection') ?? '')

export const dropUnread = async (request: Request): Promise<void> => {
  // A body is locked if a handler has read it.
  if (request.body === null || request.body.locked) return
  const reader = request.body.getReader()
  const timer = setTimeout(() => reader.releaseLock(), MAX_DROPPING_MS)
  try {
    for (let dropped = 0; dropped <= MAX_DROPPED_BYTES; ) {
      const { done, value } = await reader.read()
      if (done) return
      dropped += value.byteLength
    }
  } catch {
    // The time is over (releasing the lock ends the read) or the client went away. Answer now in both cases.
  } finally {
    clearTimeout(timer)
  }
}

type BodyBounds = {
  readonly maxBytes: number
  /** Called with the number of bytes before they are read. It throws if the caller has sent too many. */
  readonly spend: (bytes: number) => Promise<void>
}

const tooLarge = ({ maxBytes }: BodyBounds): AppError =>
  new AppError('body_too_large', `The body of this call must not be larger than ${maxBytes} bytes.`)

const readChunks = async (body: ReadableStream<Uint8Array>, bounds: BodyBounds): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return Buffer.concat(chunks)
      length += value.byteLength
      if (length > bounds.maxBytes) throw tooLarge(bounds)
      await bounds.spend(value.byteLength)
      chunks.push(value)
    }
  } finally {
    // Do not cancel: `dropUnread` drops the rest.
    reader.releaseLock()
  }
}

const readWhole = async (request: Request, bounds: BodyBounds): Promise<Uint8Array> => {
  const declared = declaredBytes(request)
  if (declared === null) return request.body === null ? new Uint8Array() : readChunks(request.body, bounds)
  if (declared === 0) return new Uint8Array()
  if (declared > bounds.maxBytes) throw tooLarge(bounds)
  await bounds.spend(declared)
  // The server reads no more than the declared length.
  return new Uint8Array(await request.arrayBuffer())
}

const read = (request: Request, bounds: BodyBounds): Promise<Uint8Array> =>
  readWhole(request, bounds).catch((error: unknown) => {
    if (error instanceof AppError || !request.signal.aborted) throw error
    throw new AppError('body_incomplete', 'The connection ended before the whole body was received.', { cause: error })
  })

/** @throws content_encoding_unsupported, because a compressed body could expand a thousandfold. */
const refuseEncoding = (request: Request): void => {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if (encoding === '' || encoding === 'identity') return
  throw new AppError('content_encoding_unsupported', 'The body must be sent without a Content-Encoding.')
}

const readTyped = async (
  request: Request,
  bounds: BodyBounds,
  wanted: { readonly type: string; readonly refusal: string },
): Promise<Uint8Array> => {
  const contentType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  const check = () => {
    refuseEncoding(request)
    if (contentType !== wanted.type) throw new AppError('content_type_unsupported', wanted.refusal)
  }
  const declared = declaredBytes(request)
  if (declared !== null && declared > 0) check()
  const bytes = await read(request, bounds)
  if (declared === null && bytes.byteLength > 0) check()
  return bytes
}

/** The parsed body without null fields, or undefined if there is no body. */
export const readJsonBody = async (request: Request, bounds: BodyBounds): Promise<unknown> => {
  const bytes = await readTyped(request, bounds, {
    type: 'application/json',
    refusal: 'The body must be sent as Content-Type: application/json.',
  })
  if (bytes.byteLength === 0) return undefined
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalidInput('The body must be valid JSON in UTF-8.')
  }
  const value = parseJsonText(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput('The body must be a JSON object.')
  }
  return value
}

const notOneFile = (): AppError => invalidInput('The form must have exactly one part: a file with the name "file".')

/** The bytes of the one file in a form (RFC 7578); the part's type and file name are ignored. */
export const readFileBody = async (request: Request, bounds: BodyBounds): Promise<{ readonly file: Uint8Array }> => {
  const bytes = await readTyped(request, bounds, {
    type: 'multipart/form-data',
    refusal: 'The file must be sent as Content-Type: multipart/form-data.',
  })
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  const form = await new Response(Uint8Array.from(bytes), { headers }).formData().catch(() => null)
  const [part, ...others] = form === null ? [] : [...form]
  const [name, value] = part ?? []
  if (name !== 'file' || value === undefined || typeof value === 'string' || others.length > 0) throw notOneFile()
  return { file: new Uint8Array(await value.arrayBuffer()) }
}

/** The fields of an HTML form; none if there is no body. */
export const readFormBody = async (request: Request, bounds: BodyBounds): Promise<ReadonlyMap<string, string>> => {
  const bytes = await readTyped(request, bounds, {
    type: 'application/x-www-form-urlencoded',
    refusal: 'The form must be sent as application/x-www-form-urlencoded.',
  })
  return new Map(new URLSearchParams(new TextDecoder().decode(bytes)))
}
