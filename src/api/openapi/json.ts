export type Json = { readonly [key: string]: unknown }

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object under a name; an empty one if there is none. */
export const under = (value: unknown, name: string): Json => {
  const found = isJson(value) ? value[name] : undefined
  return isJson(found) ? found : {}
}

/** The schema of an operation's body, and whether it is a form with a file; null if it has none. */
export const bodyOf = (operation: Json): { readonly schema: Json; readonly isForm: boolean } | null => {
  const content = under(under(operation, 'requestBody'), 'content')
  const [type] = Object.keys(content)
  if (type === undefined) return null
  return { schema: under(under(content, type), 'schema'), isForm: type === 'multipart/form-data' }
}

/** The texts of a list; none if it is not a list. */
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []

/** A text of the document, or an empty one. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined)

const notNull = (choices: unknown): unknown =>
  Array.isArray(choices) ? choices.find((each) => isJson(each) && each.type !== 'null') : undefined

/** An object whose names are free must bring an example of its own. */
const exampleOfObject = ({ properties }: Json): Json =>
  Object.fromEntries(
    Object.entries(isJson(properties) ? properties : {}).map(([name, field]) => [name, exampleOf(field, name)]),
  )

/** A whole example of a schema: its own, or one made of its parts' examples, with all optional fields. */
export const exampleOf = (schema: unknown, name = 'a schema'): unknown => {
  if (!isJson(schema)) throw new Error(`${name} has no schema`)
  const own = first(schema.examples) ?? schema.const ?? first(schema.enum)
  if (own !== undefined) return own
  const choice = notNull(schema.anyOf)
  if (choice !== undefined) return exampleOf(choice, name)
  switch (schema.type) {
    case 'object':
      return exampleOfObject(schema)
    case 'array':
      return [exampleOf(schema.items, name)]
    case 'boolean':
      return false
    case 'integer':
      return schema.minimum ?? 0
    default:
      throw new Error(`${name} needs an example`)
  }
}
