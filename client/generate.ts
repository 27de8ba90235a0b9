// Writes what the client knows of the service from its OpenAPI document: all types, and a table of the operations.

import openapiTS, { astToString } from 'openapi-typescript'

type Schema = Readonly<Record<string, unknown>>

type Parameter = { readonly name: string; readonly in: string; readonly schema: Schema }

type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Schema
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: unknown }>>
}

/** As much of an OpenAPI document as is read here. */
type ApiDocument = {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const MADE = '// Made of the OpenAPI document by client/generate.ts. Do not edit it.\n\n'

const schemaOf = (content: unknown): unknown =>
  typeof content === 'object' && content !== null && 'application/json' in content
    ? Object(content['application/json']).schema
    : undefined

/** What a schema says itself, or the one that it refers to. */
const resolved = ({ components }: ApiDocument, schema: unknown): Schema => {
  const { $ref, ...own } = Object(schema)
  return typeof $ref === 'string' ? (components.schemas[$ref.replace('#/components/schemas/', '')] ?? {}) : own
}

/** An operation's successful answers. Errors have one form, and their codes a type of their own. */
const answersOf = ({ responses }: Operation) =>
  Object.fromEntries(
    Object.entries(responses)
      .filter(([status]) => status.startsWith('2'))
      .map(([status, { description, content }]) => [
        status,
        { description, content: { 'application/json': { schema: schemaOf(content) } } },
      ]),
  )

const mapValues = <From, To>(values: Readonly<Record<string, From>>, change: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))

/**
 * A schema without its list of credentials, of which one is required: a type cannot say that, and a union with a
 * schema that has no type is `unknown`.
 */
const withoutRequiredLists = (schema: Schema): Schema => {
  const isRequiredList = (value: unknown): boolean =>
    Array.isArray(value) && value.every((each) => Object.keys(Object(each)).toSorted().join() === 'required,title')
  return Object.fromEntries(
    Object.entries(schema).filter(([name, value]) => !['anyOf', 'oneOf'].includes(name) || !isRequiredList(value)),
  )
}

/** The types of the document. A deployment can have further networks, and later versions further codes. */
const typesOf = async ({ openapi, info, paths, components }: ApiDocument): Promise<string> => {
  const read = {
    openapi,
    info,
    paths: mapValues(paths, (methods) =>
      mapValues(methods, (operation) => ({
        operationId: operation.operationId,
        parameters: operation.parameters ?? [],
        ...(operation.requestBody === undefined ? {} : { requestBody: operation.requestBody }),
        responses: answersOf(operation),
      })),
    ),
    components: { schemas: mapValues(components.schemas, withoutRequiredLists) },
  }
  const text = astToString(await openapiTS(JSON.stringify(read), { exportType: true }))
  return text.replace(/^( +(?:Network|ErrorCode): )(.*);$/gm, '$1$2 | (string & {});')
}

const camelCase = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

type Entry = { readonly group: string; readonly name: string; readonly id: string; readonly operation: Operation } & {
  readonly method: string
  readonly path: string
  readonly document: ApiDocument
}

/** `wallets_get_by_id` is `wallets.getById`; what has one word is a method of the client itself. */
const entriesOf = (document: ApiDocument): readonly Entry[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const id = operation.operationId
      const [group = '', ...rest] = id.split('_')
      const named = rest.length === 0 ? { group: '', name: group } : { group, name: camelCase(rest.join('_')) }
      return { ...named, id, operation, method: method.toUpperCase(), path, document }
    }),
  )

const takesKey = ({ operation }: Entry): boolean =>
  operation.parameters?.some(({ name }) => name === 'Idempotency-Key') === true

/** A POST only because its input is long: it changes nothing. */
const READING_POST = /^(?:transactions_preview|policies_describe$)/

const contentOf = (part: unknown): Readonly<Record<string, unknown>> => Object(Object(part).content)

/** By what an answer is known to be the service's: the first field that all its forms have. */
const givesOf = ({ operation, document }: Entry): string => {
  const schema = schemaOf(contentOf(operation.responses['200']))
  const forms = [schema].flatMap((each) => Object(each).anyOf ?? each).map((each) => resolved(document, each))
  const types = new Set(forms.map(({ type }) => type))
  if (types.size !== 1) return ''
  if (types.has('string')) return "'text'"
  if (types.has('array')) return "'list'"
  const [first = [], ...others] = forms.map(({ required }) => (Array.isArray(required) ? required : []))
  const field = first.find((name) => others.every((each) => each.includes(name)))
  return field === undefined ? '' : `{ field: '${field}' }`
}

const rowOf = (entry: Entry): string => {
  const gives = givesOf(entry)
  const facts = [
    `method: '${entry.method}'`,
    `path: '${entry.path}'`,
    ...(takesKey(entry) ? ['takesKey: true'] : []),
    ...(entry.method === 'POST' && READING_POST.test(entry.id) ? ['reads: true'] : []),
    ...('multipart/form-data' in contentOf(entry.operation.requestBody) ? ['takesForm: true'] : []),
    ...(gives === '' ? [] : [`gives: ${gives}`]),
  ]
  return `  ${entry.name}: { ${facts.join(', ')} },`
}

const methodOf = ({ operation: { summary, description }, name, id }: Entry): string =>
  `  /** ${summary}. ${description.replaceAll('*/', '* /')} */\n  ${name}: Method<'${id}'>`

/** Lines of all groups; `lineOf` writes a member. */
const groupsOf = (entries: readonly Entry[], lineOf: (entry: Entry) => string, end: string): string =>
  [...Map.groupBy(entries, ({ group }) => group)]
    .map(([group, ours]) => {
      const lines = ours.map(lineOf).join('\n')
      return group === '' ? lines : `  ${group}: {\n${lines.replaceAll(/^/gm, '  ')}\n  }${end}`
    })
    .join('\n')

const operationsOf = (document: ApiDocument): string => {
  const entries = entriesOf(document)
  return [
    "import type { Method, Operation } from './operation.ts'",
    '',
    'export const OPERATIONS: Readonly<Record<string, Operation | Readonly<Record<string, Operation>>>> = {',
    groupsOf(entries, rowOf, ','),
    '}',
    '',
    '/** The operations of the service, by resource. */',
    'export type Operations = {',
    groupsOf(entries, methodOf, ''),
    '}',
    '',
  ].join('\n')
}

/** The one that is not committed: 9,000 lines, which only the compiler reads. */
export const TYPES_FILE = 'document.generated.ts' as const

/** The generated files of client/src, by name. */
export const generatedFiles = async (document: ApiDocument) => ({
  [TYPES_FILE]: MADE + (await typesOf(document)),
  'operations.generated.ts': MADE + operationsOf(document),
})
