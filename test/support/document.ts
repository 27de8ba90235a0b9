// The OpenAPI document is a contract: no answer that a test gets may be missing in it.

import type { AnyElysia } from 'elysia'
import type { Ctx } from '../../src/context.ts'
import { documentOf } from '../../src/openapi/routes.ts'

type Answer = { readonly status: number; readonly headers: Headers; readonly json: unknown }

// biome-ignore lint/suspicious/noExplicitAny: the document as a client sees it, without types
type Json = any

const matches = (template: string, path: string): boolean => {
  const [wanted, given] = [template.split('/'), path.split('/')]
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith('{') || part === given[index])
}

/** The operation that a path and method reach, or undefined: other paths and methods are in no document. */
const operationOf = (document: Json, method: string, path: string): Json => {
  const pathname = path.split('?', 1)[0] ?? ''
  const template = Object.keys(document.paths).find((each) => matches(each, pathname))
  return template === undefined ? undefined : document.paths[template][method.toLowerCase()]
}

const requiredHeaders = (document: Json, declared: Json): string[] =>
  Object.entries<Json>(declared.headers)
    .filter(([, { $ref }]) => document.components.headers[$ref.split('/').at(-1)].required === true)
    .map(([name]) => name)

/** @returns what the document lacks for an answer, in one sentence, or null. */
export const lackFor = (
  document: Json,
  { method, path, answer }: { readonly method: string; readonly path: string; readonly answer: Answer },
): string | null => {
  const operation = operationOf(document, method, path)
  if (operation === undefined || answer.status === 304) return null
  const at = `${method} ${path.split('?', 1)[0]} answered ${answer.status}`
  const declared = operation.responses[answer.status]
  const code = (answer.json as Json)?.code
  if (declared === undefined) return `${at} ${code ?? ''}, and the document has no such status`
  const missing = requiredHeaders(document, declared).filter((name) => !answer.headers.has(name))
  if (missing.length > 0) return `${at} without the header ${missing.join(', ')} of the document`
  if (answer.status === 200 || answer.status === 202) return null
  const codes: string[] = declared.content['application/json'].schema.allOf[1].properties.code.enum
  return codes.includes(code) ? null : `${at} ${code}, and the document has only ${codes.join(', ')}`
}

/** Fails for an answer that the document lacks. */
export const documentCheck = (ctx: Ctx, app: AnyElysia) => {
  let document: Json = null
  return (seen: Parameters<typeof lackFor>[1]): void => {
    document ??= JSON.parse(JSON.stringify(documentOf(ctx, app)))
    const lack = lackFor(document, seen)
    if (lack !== null) throw new Error(`${lack}: see src/http/codes.ts.`)
  }
}
