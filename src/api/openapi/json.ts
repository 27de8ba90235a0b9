/** A JSON object of the document. */
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

/** The texts of a list; none if it is no list. */
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []

/** A text of the document, or an empty one. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
