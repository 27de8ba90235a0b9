// One operation on the page of the API.

import { type Html, html } from '../../platform/pages/page.ts'
import { fieldItem, fieldList, prose, resolved, type Schemas, typeWords } from './fields.ts'
import { bodyOf, exampleOf, isJson, type Json, textOf, textsOf, under } from './json.ts'

// The call of an operation as a line for a shell, with the document's examples.

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
const curlOf = (input: {
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

export type Operation = {
  readonly method: string
  readonly path: string
  readonly described: Json
  /** The credentials that it needs: names of the document's security schemes. */
  readonly needs: readonly string[]
}

const PLACES = [
  ['path', 'In the path'],
  ['query', 'In the query'],
  ['header', 'In a header'],
] as const

const parametersView = (schemas: Schemas, { parameters }: Json): readonly Html[] => {
  const all = Array.isArray(parameters) ? parameters.filter(isJson) : []
  return PLACES.flatMap(([place, title]) => {
    const items = all
      .filter((each) => each.in === place)
      .map(({ name, schema, required, description }) =>
        fieldItem(schemas, { name: textOf(name), schema, description, isOptional: required !== true }),
      )
    return items.length === 0
      ? []
      : [
          html`
      <h4>${title}</h4>
      <ul class="fields">${items}
      </ul>`,
        ]
  })
}

const schemaView = (schemas: Schemas, title: string, schema: unknown): Html => html`
      <h4>${title} <span class="type">${typeWords(schemas, schema)}</span></h4>${
        isJson(schema) && schema.description !== undefined
          ? html`
      <p>${prose(schema.description)}</p>`
          : null
      }${fieldList(schemas, schema)}`

type Answer = { readonly status: string; readonly described: Json; readonly schema: unknown; readonly example: unknown }

const isFailure = (status: string): boolean => Number(status) >= 400

const answersOf = (responses: Json): readonly Answer[] =>
  Object.keys(responses)
    .filter((status) => !isFailure(status))
    .map((status) => {
      const described = under(responses, status)
      const { schema, example } = under(under(described, 'content'), 'application/json')
      return { status, described, schema, example }
    })

/** The description of an unusual answer says when it comes. */
const answerView = (schemas: Schemas, { status, described, schema }: Answer): Html =>
  status === '200'
    ? schemaView(schemas, 'Answer', schema)
    : html`${
        schema === undefined
          ? html`
      <h4>Or answer ${status}</h4>`
          : schemaView(schemas, `Or answer ${status}`, schema)
      }
      <p>${prose(described.description)}</p>`

const exampleView = ({ status, example }: Answer): Html => html`
      <h4>${status === '200' ? 'Its answer' : `Or its answer ${status}`}</h4>
      <pre><code>${JSON.stringify(example, null, 2)}</code></pre>`

const codesView = (responses: Json): Html => {
  const failures = Object.entries(responses).filter(([status]) => isFailure(status))
  const linksOf = (response: unknown): Html => {
    const { examples } = under(under(response, 'content'), 'application/json')
    return html`${Object.keys(isJson(examples) ? examples : {}).map((code) => html` <a href="#error-${code}">${code}</a>`)}`
  }
  return html`
      <h4>Errors</h4>
      <dl class="codes">${failures.map(
        ([status, response]) => html`
        <dt>${status}</dt><dd>${linksOf(response)}</dd>`,
      )}
      </dl>`
}

const needsWords = (needs: readonly string[]): string => {
  if (needs.length === 0) return 'needs no credentials'
  return needs.includes('bearer') ? 'needs project and bearer token' : 'needs the project'
}

export const idOf = ({ described }: Operation): string => textOf(described.operationId)

const callView = ({ method, path }: Operation): Html =>
  html`<span class="method ${method}">${method.toUpperCase()}</span> <code class="path">${path}</code>`

/** @param input.baseUrl of the service, for the line with curl. */
export const operationView = (
  operation: Operation,
  { schemas, baseUrl }: { readonly schemas: Schemas; readonly baseUrl: string },
): Html => {
  const { described, needs, method, path } = operation
  const responses = under(described, 'responses')
  const answers = answersOf(responses)
  const body = bodyOf(described)
  return html`
    <article id="${idOf(operation)}">
      <h3><a href="#${idOf(operation)}">${textOf(described.summary)}</a></h3>
      <p class="call">${callView(operation)} <span class="needs">${needsWords(needs)}</span></p>
      <p>${prose(described.description)}</p>
      <div class="halves">
      <div>${parametersView(schemas, described)}${body === null ? null : schemaView(schemas, body.isForm ? 'Form' : 'Body', body.schema)}${answers.map((each) => answerView(schemas, each))}${codesView(responses)}
      </div>
      <div class="examples">
      <h4>Example</h4>
      <pre><code>${curlOf({ baseUrl, method, path, operation: described, needs, schemas })}</code></pre>${answers.filter(({ example }) => example !== undefined).map(exampleView)}
      </div>
      </div>
    </article>`
}

/** The first group of an operation; each has exactly one. */
export const groupOf = ({ described }: Operation): string => textsOf(described.tags)[0] ?? ''
