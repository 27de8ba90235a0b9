// Reading a request's body: everything about its text that no schema can say is checked here, before any effect.

import { visit } from 'jsonc-parser'
import { AppError } from './errors.ts'

/** The largest body that is looked at; 1 MB of call data is 2 MB of hex. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024
/** Read this far so that the answer can still be an ErrorResponse; the server cuts off beyond. */
export const MAX_READ_BYTES = 16 * 1024 * 1024

const NUL = String.fromCharCode(0)

/** @throws invalid_input where a text holds NUL or half a surrogate pair: PostgreSQL could not keep it as it came. */
export const checkText = (text: string, field: string): void => {
  if (text.includes(NUL)) throw new AppError('invalid_input', `Field "${field}" must not contain the NUL character.`)
  if (!text.isWellFormed()) throw new AppError('invalid_input', `Field "${field}" must be well-formed Unicode.`)
}

const MAX_DEPTH = 32

/** `null` equals absent: such properties are dropped, at every depth. */
const withoutNulls = (value: unknown, path: string, depth: number): unknown => {
  if (typeof value === 'string') checkText(value, path || 'body')
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) throw new AppError('invalid_input', `The body must not be nested deeper than ${MAX_DEPTH}.`)
  if (Array.isArray(value)) return value.map((item, index) => withoutNulls(item, `${path}.${index}`, depth + 1))
  const kept: Record<string, unknown> = Object.create(null)
  for (const [key, item] of Object.entries(value)) {
    checkText(key, 'body')
    if (item !== null) kept[key] = withoutNulls(item, path ? `${path}.${key}` : key, depth + 1)
  }
  return { ...kept }
}

/** JSON.parse keeps the last of two equal keys: what was checked elsewhere may then not be what is done here. */
const refuseDuplicateKeys = (text: string): void => {
  const open: Set<string>[] = []
  visit(text, {
    onObjectBegin: () => {
      open.push(new Set())
    },
    onObjectEnd: () => {
      open.pop()
    },
    onObjectProperty: (key) => {
      const keys = open.at(-1)
      if (keys?.has(key)) throw new AppError('invalid_input', 'The body must not name a field twice.')
      keys?.add(key)
    },
  })
}

const readBounded = async (request: Request): Promise<Uint8Array> => {
  const declared = Number(request.headers.get('content-length') ?? 0)
  const bytes = declared > MAX_READ_BYTES ? null : new Uint8Array(await request.arrayBuffer())
  if (bytes === null || bytes.byteLength > MAX_BODY_BYTES) {
    throw new AppError('body_too_large', `The body must not be larger than ${MAX_BODY_BYTES} bytes.`)
  }
  return bytes
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
  refuseDuplicateKeys(text)
  return withoutNulls(value, '', 0)
}
