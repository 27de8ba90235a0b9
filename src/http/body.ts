// Reading a request's body: everything about its text that no schema can say is checked here, before any effect.

import { visit } from 'jsonc-parser'
import { AppError, shownField } from '../errors.ts'

/** The largest body that is looked at; 1 MB of call data is 2 MB of hex. */
const MAX_BODY_BYTES = 4 * 1024 * 1024
/** Read this far, keeping nothing, as many a client hears an answer only when it has sent everything. */
const MAX_READ_BYTES = 16 * 1024 * 1024

const NUL = String.fromCharCode(0)

/** @throws invalid_input where a text holds NUL or half a surrogate pair: PostgreSQL could not keep it as it came. */
export const checkText = (text: string, field: string): void => {
  if (text.includes(NUL)) {
    throw new AppError('invalid_input', `${shownField(field)} must not contain the NUL character.`)
  }
  if (!text.isWellFormed()) throw new AppError('invalid_input', `${shownField(field)} must be well-formed Unicode.`)
}

const MAX_DEPTH = 32

/** `null` equals absent: such properties are dropped, at every depth. */
const withoutNulls = (value: unknown, path: string): unknown => {
  if (typeof value === 'string') checkText(value, path || 'body')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item, index) => withoutNulls(item, `${path}.${index}`))
  const kept: Record<string, unknown> = Object.create(null)
  for (const [key, item] of Object.entries(value)) {
    checkText(key, 'body')
    if (item !== null) kept[key] = withoutNulls(item, path ? `${path}.${key}` : key)
  }
  return { ...kept }
}

/**
 * JSON.parse keeps the last of two equal keys: what was checked elsewhere may then not be what is done here. It also
 * reads any depth, which whoever walks through the value afterwards would not survive.
 */
const refuseDuplicateKeysAndDepth = (text: string): void => {
  const open: Set<string>[] = []
  const begin = () => {
    if (open.push(new Set()) > MAX_DEPTH) {
      throw new AppError('invalid_input', `The body must not be nested deeper than ${MAX_DEPTH}.`)
    }
  }
  const end = () => {
    open.pop()
  }
  visit(text, {
    onObjectBegin: begin,
    onArrayBegin: begin,
    onObjectEnd: end,
    onArrayEnd: end,
    onObjectProperty: (key) => {
      const keys = open.at(-1)
      if (keys?.has(key)) throw new AppError('invalid_input', 'The body must not name a field twice.')
      keys?.add(key)
    },
  })
}

const readBounded = async (request: Request): Promise<Uint8Array> => {
  const declared = request.headers.get('content-length')
  // The server takes no more than what was declared.
  if (declared !== null && Number(declared) <= MAX_BODY_BYTES) return new Uint8Array(await request.arrayBuffer())
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength
    if (length <= MAX_BODY_BYTES) chunks.push(chunk)
    if (length > MAX_READ_BYTES) break
  }
  if (length <= MAX_BODY_BYTES) return Buffer.concat(chunks)
  throw new AppError('body_too_large', `The body must not be larger than ${MAX_BODY_BYTES} bytes.`)
}

/**
 * The parsed body, or undefined where there is none.
 * @throws body_too_large, content_type_unsupported, invalid_input.
 */
export const readJsonBody = async (request: Request): Promise<unknown> => {
  const bytes = await readBounded(request)
  if (bytes.byteLength === 0) return undefined
  const contentType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (contentType !== 'application/json') {
    throw new AppError('content_type_unsupported', 'The body must be sent as Content-Type: application/json.')
  }
  let text: string
  let value: unknown
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    value = JSON.parse(text)
  } catch {
    throw new AppError('invalid_input', 'The body must be valid JSON in UTF-8.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('invalid_input', 'The body must be a JSON object.')
  }
  refuseDuplicateKeysAndDepth(text)
  return withoutNulls(value, '')
}

/**
 * The fields of an HTML form; none where there is no body.
 * @throws body_too_large, content_type_unsupported.
 */
export const readFormBody = async (request: Request): Promise<ReadonlyMap<string, string>> => {
  const bytes = await readBounded(request)
  const contentType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (bytes.byteLength > 0 && contentType !== 'application/x-www-form-urlencoded') {
    throw new AppError('content_type_unsupported', 'The form must be sent as application/x-www-form-urlencoded.')
  }
  return new Map(new URLSearchParams(new TextDecoder().decode(bytes)))
}
