// Turns any thrown value into an ErrorResponse, without values of the caller and without messages of unknown errors.

import type { TSchema } from '@sinclair/typebox'
import { ValueErrorType } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'
import { databaseTrouble } from '../../../db/trouble.ts'
import { NotWritten } from '../../../db/written.ts'
import { AppError, ERROR_STATUS, type ErrorCode, NotYet, type SecurityEvent, shownName } from '../errors.ts'

type ErrorBody = { readonly error: string; readonly code: ErrorCode }

type Answer = {
  readonly status: number
  readonly body: ErrorBody | (NotYet['body'] & { readonly code?: never })
  readonly retryAfterSeconds: number | null
  readonly event: SecurityEvent | null
  /** Our own mistake, which belongs in the log. */
  readonly unexpected: boolean
}

const answer = (code: ErrorCode, error: string, unexpected = false): Answer => ({
  status: ERROR_STATUS[code],
  body: { error, code },
  retryAfterSeconds: null,
  event: null,
  unexpected,
})

/** The only place where an error becomes an HTTP answer. */
export const describeError = (thrown: unknown): Answer => {
  if (thrown instanceof NotYet) {
    return { status: 202, body: thrown.body, retryAfterSeconds: null, event: null, unexpected: false }
  }
  const known = appErrorIn(thrown)
  if (known !== null) {
    // Metrics count those that are refused as busy: a line for each would add to what there is to do.
    const unexpected = known.status >= 500 && known.code !== 'not_implemented' && known.code !== 'busy'
    const { retryAfterSeconds, event } = known
    return { ...answer(known.code, known.message, unexpected), retryAfterSeconds, event }
  }
  if (thrown instanceof NotWritten) return notWrittenAnswer(thrown)
  switch (codeOf(thrown)) {
    case 'VALIDATION':
      return validationAnswer(thrown)
    case 'INVALID_COOKIE_SIGNATURE':
      return answer('invalid_input', 'The cookies must be as they were set.')
    case 'NOT_FOUND':
      return answer('not_found', 'There is no such path.')
    default:
      return (
        databaseAnswer(thrown) ??
        answer('internal', 'An error on our side: the operator finds the cause by the header X-Request-Id.', true)
      )
  }
}

const CHALLENGE = 'Bearer realm="Strongroom"'
const BEARER = /^Bearer +\S/i

/** The header of an answer 401 (RFC 9110 §11.6.1). Only a refused bearer token has an error code (RFC 6750 §3.1). */
export const challengeFor = (headers: Headers, code: ErrorCode | undefined): string => {
  const isAboutToken = code === 'unauthorized' || code === 'session_ended'
  const isRefused = isAboutToken && BEARER.test(headers.get('authorization') ?? '')
  return isRefused ? `${CHALLENGE}, error="invalid_token"` : CHALLENGE
}

/** Until another server has taken the place of one that is lost, or a lock is free. */
const RETRY_AFTER_SECONDS = 5

const notWrittenAnswer = ({ message, table, projectId, subject }: NotWritten): Answer => ({
  ...answer('internal', `${message} Nothing was done.`, true),
  event: { kind: 'row_forged', projectId, subject, details: { table } },
})

const databaseAnswer = (thrown: unknown): Answer | null => {
  const trouble = databaseTrouble(thrown)
  const later = (code: ErrorCode, error: string): Answer => ({
    ...answer(code, error, true),
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
  switch (trouble) {
    case 'away':
      return later('unavailable', 'The database was unavailable: it is unknown whether this was done.')
    case 'busy':
      return later('busy', 'The database took too long; nothing was done. Try again in a few seconds.')
    case 'full':
      return later('unavailable', 'The database has no space or memory left; nothing was done.')
    case null:
      return null
    default:
      return trouble satisfies never
  }
}

const codeOf = (thrown: unknown): unknown =>
  typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : null

/** The framework wraps errors of a parser. */
const appErrorIn = (thrown: unknown): AppError | null => {
  for (let at = thrown, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth += 1) {
    if (at instanceof AppError) return at
  }
  return null
}

type Finding = { readonly type: number; readonly path: string; readonly schema: Record<string, unknown> }

const findingOf = (thrown: unknown): { readonly part: string; readonly finding: Finding | null } => {
  // Use only the first finding: collecting all of them costs more than checking the body.
  const { type: on, valueError: first } = thrown as { type?: unknown; valueError?: unknown }
  const part = typeof on === 'string' ? on : 'body'
  if (typeof first !== 'object' || first === null) return { part, finding: null }
  const { type, path, schema } = first as { type?: unknown; path?: unknown; schema?: unknown }
  if (typeof type !== 'number' || typeof path !== 'string' || typeof schema !== 'object' || schema === null) {
    return { part, finding: null }
  }
  return { part, finding: { type, path, schema: schema as Record<string, unknown> } }
}

const validationAnswer = (thrown: unknown): Answer => {
  const { part, finding } = findingOf(thrown)
  // If our own answer does not fit its schema, the caller made no mistake.
  if (part === 'response') return answer('internal', 'An error on our side.', true)
  if (finding === null) return answer('invalid_input', `The ${part} is not valid.`)
  return answer('invalid_input', sentenceOf(part, finding))
}

const sentenceOf = (part: string, { type, path, schema }: Finding): string => {
  const field = path.slice(1).replaceAll('/', '.')
  const name = shownName(field)
  if (name === null) return field === '' ? `The ${part} must be an object.` : `The ${part} has an unknown field.`
  switch (type) {
    case ValueErrorType.ObjectAdditionalProperties:
      return `Field ${name} is unknown here${knownIn(schema)}.`
    case ValueErrorType.ObjectRequiredProperty:
      return `Field ${name} is required.`
    case ValueErrorType.String:
      return `Field ${name} must be ${textRuleOf(schema)}.`
    default:
      return `Field ${name} must be ${ruleOf(schema)}.`
  }
}

/** What is wrong with an object that does not fit a schema, as one sentence. */
export const mistakeIn = (schema: TSchema, value: unknown): string => {
  const finding = Value.Errors(schema, value).First()
  if (finding === undefined) throw new Error('expected a value that does not fit')
  return sentenceOf('object', finding)
}

const knownIn = ({ properties }: Record<string, unknown>): string => {
  const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
  return names.length === 0 ? '' : `; known are ${names.join(', ')}`
}

/** For a value that is not a text: to say only "digits" would not help a caller who sent the number 1. */
const textRuleOf = (schema: Record<string, unknown>): string =>
  typeof schema.rule === 'string' ? `a text: ${schema.rule}` : 'a text'

const ruleOf = (schema: Record<string, unknown>): string => {
  if (typeof schema.rule === 'string') return schema.rule
  switch (schema.type) {
    case 'object':
      return 'an object'
    case 'array':
      return 'a list'
    case 'string':
      return 'a text'
    default:
      return 'of another form'
  }
}

type Route = { readonly method: string; readonly path: string }

/** The answer 405 with the allowed methods, if the path exists with other methods. */
export const methodNotAllowed = (
  routes: readonly Route[],
  request: Request,
): { readonly allow: string; readonly body: Answer['body'] } | null => {
  const path = new URL(request.url).pathname.replace(/(.)\/+$/, '$1')
  const methods = routes.filter((route) => matches(route.path, path)).map((route) => route.method)
  if (methods.length === 0 || methods.includes(request.method)) return null
  const allow = [...new Set(methods)].sort().join(', ')
  return { allow, body: answer('method_not_allowed', `This path accepts ${allow}.`).body }
}

const matches = (pattern: string, path: string): boolean => {
  const wanted = pattern.replace(/(.)\/+$/, '$1').split('/')
  const given = path.split('/')
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(':') || part === given[index])
}
