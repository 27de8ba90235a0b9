// What the document says of answers: statuses, headers, error codes and examples.

import { ERROR_STATUS, type ErrorCode, unreachable } from '../../platform/errors.ts'
import type { HeaderSet } from '../../platform/http/schema.ts'
import { ERROR_WORDS } from './error-words.ts'
import { exampleOf, type Json } from './json.ts'

const MEANING: Readonly<Record<number, string>> = {
  400: 'The input is not valid.',
  401: 'The caller is unknown: the bearer token or the project is wrong, or the login failed.',
  403: 'The caller or the credential may not do this.',
  404: 'The project has no such thing.',
  409: 'It conflicts with what exists.',
  410: 'It is no longer kept.',
  413: 'The body is too large.',
  415: 'The body is not of the type that the call takes.',
  429: 'Too many requests.',
  500: 'An error on our side.',
  501: 'This deployment does not offer it.',
  503: 'A required part is unavailable at the moment; try again.',
}

const CODES = Object.keys(ERROR_STATUS) as ErrorCode[]

export const ERROR_SCHEMAS = {
  ErrorCode: {
    type: 'string',
    description: 'A stable word for programs. It is never renamed; later versions may have further codes.',
    enum: CODES,
  },
  ErrorResponse: {
    type: 'object',
    required: ['error', 'code'],
    properties: {
      error: { type: 'string', description: 'One sentence: what was wrong, and what would be right.' },
      code: { anyOf: [{ $ref: '#/components/schemas/ErrorCode' }, { type: 'null' }] },
    },
    examples: [{ error: 'Field "user_pin" must be exactly 6 digits.', code: 'invalid_input' }],
  },
} as const

/** By code, of those that an operation answers; the sentence of an answer says more. */
export const errorExamplesOf = (answered: ReadonlySet<ErrorCode>): Json =>
  Object.fromEntries(
    CODES.filter((code) => answered.has(code)).map((code) => {
      const { means, remedy } = ERROR_WORDS[code]
      return [code, { summary: remedy, value: { error: means, code } }]
    }),
  )

export const HEADERS = {
  RequestId: {
    description:
      "Names the request in the service's log; tell it to the operator after an error. It is the request's own `X-Request-Id`, if it had one of 1 to 128 letters, digits and `_.:+/=-`.",
    required: true,
    schema: { type: 'string', maxLength: 128, examples: ['0b5a9c1e-2f4d-4a6b-8c7d-9e0f1a2b3c4d'] },
  },
  CacheControl: {
    description: '`no-store`: no cache may keep the answer.',
    required: true,
    schema: { type: 'string', examples: ['no-store'] },
  },
  ForAWhile: {
    description: 'How long a cache may keep the answer; `no-store` while it is empty.',
    required: true,
    schema: { type: 'string', examples: ['public, max-age=300'] },
  },
  ForEver: {
    description: 'A cache may keep the answer: what is at this path never changes.',
    required: true,
    schema: { type: 'string', examples: ['public, max-age=31536000, immutable'] },
  },
  ETag: {
    description:
      'Identifies the content. A request with this value in `If-None-Match` is answered with 304 without a body.',
    required: true,
    schema: {
      type: 'string',
      examples: ['"9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b"'],
    },
  },
  ExpiredCookies: {
    description: 'Once for each session cookie that a client of a hosted service may have.',
    required: true,
    schema: { type: 'string', examples: ['wk-session-id=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax'] },
  },
  RetryAfter: {
    description: 'After how many whole seconds to try again.',
    required: true,
    schema: { type: 'integer', minimum: 1, examples: [1] },
  },
  /** The same, where only some answers have it. */
  MayRetryAfter: {
    description: 'If it is known: after how many whole seconds to try again.',
    schema: { type: 'integer', minimum: 1, examples: [1] },
  },
  Challenge: {
    description:
      'How to authenticate (RFC 6750 §3). With `error="invalid_token"` if a bearer token was sent and is refused.',
    required: true,
    schema: { type: 'string', examples: ['Bearer realm="Strongroom", error="invalid_token"'] },
  },
  AcceptEncoding: {
    description: 'Only with the code `content_encoding_unsupported`.',
    schema: { type: 'string', examples: ['identity'] },
  },
} as const

const headerRef = (name: keyof typeof HEADERS) => ({ $ref: `#/components/headers/${name}` })

const OWN_HEADERS: Readonly<Record<number, Json>> = {
  401: { 'WWW-Authenticate': headerRef('Challenge') },
  403: { 'Retry-After': headerRef('MayRetryAfter') },
  415: { 'Accept-Encoding': headerRef('AcceptEncoding') },
  429: { 'Retry-After': headerRef('RetryAfter') },
  503: { 'Retry-After': headerRef('MayRetryAfter') },
}

type Answers = {
  readonly success: unknown
  readonly accepted: unknown
  readonly codes: readonly ErrorCode[]
  readonly headerSet: HeaderSet | null
}

const headersOfSet = (headerSet: HeaderSet | null): Json => {
  switch (headerSet) {
    case null:
      return { 'Cache-Control': headerRef('CacheControl') }
    case 'expired cookies':
      return { 'Cache-Control': headerRef('CacheControl'), 'Set-Cookie': headerRef('ExpiredCookies') }
    case 'kept a while':
      return { 'Cache-Control': headerRef('ForAWhile') }
    case 'kept for ever':
      return { 'Cache-Control': headerRef('ForEver'), ETag: headerRef('ETag') }
    default:
      return unreachable(headerSet)
  }
}

const headersOf = (status: number, { headerSet, codes }: Answers): Json => ({
  'X-Request-Id': headerRef('RequestId'),
  ...headersOfSet(status < 400 ? headerSet : null),
  ...(status === 403 && !codes.includes('TOO_MANY_FAILED_ATTEMPTS') ? {} : OWN_HEADERS[status]),
})

const errorContent = (codes: readonly ErrorCode[]): Json => ({
  schema: {
    allOf: [
      { $ref: '#/components/schemas/ErrorResponse' },
      { type: 'object', properties: { code: { type: 'string', enum: codes } } },
    ],
  },
  examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
})

const waitingOf = (answers: Answers): Json => {
  const { accepted } = answers
  if (accepted === null) return {}
  const content = { 'application/json': { schema: accepted, example: exampleOf(accepted) } }
  const description = 'It waits for approvers: nothing was done yet.'
  return { 202: { description, headers: headersOf(202, answers), content } }
}

const unchangedOf = (answers: Answers): Json =>
  answers.headerSet === 'kept for ever'
    ? { 304: { description: 'Not modified: the caller has it already.', headers: headersOf(304, answers) } }
    : {}

/** @param answers.success the schema of the 200 answer. @param answers.accepted that of 202, or null. */
export const responsesOf = (answers: Answers): Json => {
  const { success, codes } = answers
  const statuses = [...new Set(codes.map((code) => ERROR_STATUS[code]))].sort((one, other) => one - other)
  const ok = {
    description: 'Success.',
    headers: headersOf(200, answers),
    content: { 'application/json': { schema: success, example: exampleOf(success) } },
  }
  const errors = statuses.map((status) => [
    String(status),
    {
      description: MEANING[status] ?? String(status),
      headers: headersOf(status, answers),
      content: { 'application/json': errorContent(codes.filter((code) => ERROR_STATUS[code] === status)) },
    },
  ])
  return { 200: ok, ...waitingOf(answers), ...unchangedOf(answers), ...Object.fromEntries(errors) }
}
