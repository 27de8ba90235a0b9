import { isJson, type Json } from './json.ts'

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined)

const notNull = (choices: unknown): unknown =>
  Array.isArray(choices) ? choices.find((each) => isJson(each) && each.type !== 'null') : undefined

/** An object whose names are free must bring an example of its own. */
const exampleOfObject = ({ properties }: Json): Json =>
  Object.fromEntries(
    Object.entries(isJson(properties) ? properties : {}).map(([name, field]) => [name, exampleOf(field, name)]),
  )

/**
 * A whole example of a schema: its own, or one made of the examples of its parts, with all optional fields.
 * @param name only for the error, which is our own mistake.
 */
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
