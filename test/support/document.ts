// The OpenAPI document is a contract: no answer that a test gets may be missing in it.

import type { AnyElysia } from 'elysia'
import type { ApiCtx } from '../../src/api/ctx.ts'
import { documentOf } from '../../src/api/openapi/routes.ts'

/** Headers of every HTTP server, and those for browsers: of CORS (Fetch Standard §3.3) and against a guessed type. */
const UNTOLD =
  /^(?:date|content-type|content-length|connection|keep-alive|transfer-encoding|vary|access-control-.*|x-content-type-options)$/

/** Optional headers that come with one code, and always then. */
const OF_A_CODE: Readonly<Record<string, string>> = { 'Accept-Encoding': 'content_encoding_unsupported' }

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

/** What is wrong with the headers of an answer, or null. */
const headerLack = (document: Json, { declared, answer }: { declared: Json; answer: Answer }): string | null => {
  const isRequired = (name: string, $ref: string): boolean =>
    document.components.headers[$ref.split('/').at(-1) ?? ''].required === true ||
    OF_A_CODE[name] === (answer.json as Json)?.code
  const missing = Object.entries<Json>(declared.headers)
    .filter(([name, { $ref }]) => isRequired(name, $ref) && !answer.headers.has(name))
    .map(([name]) => name)
  if (missing.length > 0) return `without the header ${missing.join(', ')} of the document`
  const told = new Set(Object.keys(declared.headers).map((name) => name.toLowerCase()))
  const untold = [...answer.headers.keys()].filter((name) => !told.has(name) && !UNTOLD.test(name))
  return untold.length > 0 ? `with the header ${untold.join(', ')}, which the document lacks` : null
}

/** @returns what the document lacks for an answer, in one sentence, or null. */
export const lackFor = (
  document: Json,
  { method, path, answer }: { readonly method: string; readonly path: string; readonly answer: Answer },
): string | null => {
  const operation = operationOf(document, method, path)
  if (operation === undefined) return null
  const at = `${method} ${path.split('?', 1)[0]} answered ${answer.status}`
  const declared = operation.responses[answer.status]
  const code = (answer.json as Json)?.code
  if (declared === undefined) return `${at} ${code ?? ''}, and the document has no such status`
  const lack = headerLack(document, { declared, answer })
  if (lack !== null) return `${at} ${lack}`
  if (answer.status < 400) return null
  const codes: string[] = declared.content['application/json'].schema.allOf[1].properties.code.enum
  return codes.includes(code) ? null : `${at} ${code}, and the document has only ${codes.join(', ')}`
}

/** By the routes: what is compared depends on nothing else, and to make a document takes 60 ms of CPU. */
const documents = new Map<string, Json>()

/** Fails for an answer that the document lacks. */
export const documentCheck = (ctx: ApiCtx, app: AnyElysia) => {
  const routes = app.routes.map(({ method, path }) => `${method} ${path}`).join('\n')
  return (seen: Parameters<typeof lackFor>[1]): void => {
    const document = documents.get(routes) ?? JSON.parse(JSON.stringify(documentOf(ctx, app)))
    documents.set(routes, document)
    const lack = lackFor(document, seen)
    if (lack !== null) throw new Error(`${lack}: see src/platform/http/codes.ts.`)
  }
}
