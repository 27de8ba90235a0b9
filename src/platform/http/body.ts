// Reads a request's body and checks, before any effect, what schemas cannot express.

import { AppError } from '../errors.ts'
import { parseJsonText } from './json-text.ts'
import { declaredBytes } from './unread.ts'

type BodyBounds = {
  /** See limits.ts. */
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
    // Do not cancel: unread.ts drops the rest.
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
    throw new AppError('invalid_input', 'The body must be valid JSON in UTF-8.')
  }
  const value = parseJsonText(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('invalid_input', 'The body must be a JSON object.')
  }
  return value
}

const notOneFile = (): AppError =>
  new AppError('invalid_input', 'The form must have exactly one part: a file with the name "file".')

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
