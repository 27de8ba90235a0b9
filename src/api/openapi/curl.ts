// The call of an operation as a line for a shell, with the document's examples.

import { exampleOf } from './example.ts'
import { resolved, type Schemas } from './fields.ts'
import { bodyOf, isJson, type Json, textOf } from './json.ts'

/** Where a list goes on. The example begins at the first page. */
const PLACES_IN_LIST = ['page', 'page_size', 'before', 'after']

/** The required parameters and the first optional one, as some calls need one of several. */
const queryOf = (schemas: Schemas, parameters: readonly Json[]): string => {
  const inQuery = parameters.filter((each) => each.in === 'query')
  const required = inQuery.filter((each) => each.required === true)
  const optional = inQuery.find((each) => each.required !== true && !PLACES_IN_LIST.includes(textOf(each.name)))
  const given = optional === undefined ? required : [...required, optional]
  const pairs = given.map(({ name, schema }) => [textOf(name), String(exampleOf(resolved(schemas, schema)))])
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

/** Within single quotes a shell reads everything as it is, except for a single quote. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const HEADERS: Readonly<Record<string, string>> = {
  project: '-H "X-WalletKit-Project-ID: $project"',
  bearer: '-H "Authorization: Bearer $key"',
}

/** The words for the body of an operation as the document shows it first; none if it has none. */
const bodyWords = (schemas: Schemas, operation: Json): readonly string[] => {
  const body = bodyOf(operation)
  if (body === null) return []
  if (body.isForm) return ['-F file=@image.png']
  const example = JSON.stringify(exampleOf(resolved(schemas, body.schema)), null, 2)
  return [`-H 'Content-Type: application/json'`, `-d ${quoted(example).replaceAll('\n', '\n  ')}`]
}

/** @param input.needs names of the document's security schemes. */
export const curlOf = (input: {
  readonly baseUrl: string
  readonly method: string
  readonly path: string
  readonly operation: Json
  readonly needs: readonly string[]
  readonly schemas: Schemas
}): string => {
  const { schemas, operation } = input
  const parameters = Array.isArray(operation.parameters) ? operation.parameters.filter(isJson) : []
  const body = bodyWords(schemas, operation)
  const url = `"${input.baseUrl}${input.path}${queryOf(schemas, parameters)}"`
  return [
    `curl -sS ${input.method === 'post' && body.length === 0 ? '-X POST ' : ''}${url}`,
    ...input.needs.map((name) => HEADERS[name] ?? ''),
    ...body,
  ].join(' \\\n  ')
}
