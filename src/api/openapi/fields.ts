// Schemas in words: what may be in a field, and the fields of an object as a list.

import { type Html, html } from '../../platform/pages/page.ts'
import { isJson, type Json, textOf, textsOf, under } from './json.ts'

export type Schemas = Json

export const resolved = (schemas: Schemas, schema: unknown): Json => {
  const reference = isJson(schema) ? schema.$ref : undefined
  if (typeof reference === 'string') return under(schemas, reference.split('/').at(-1) ?? '')
  return isJson(schema) ? schema : {}
}

/** A description, in which the document marks code by backquotes. */
export const prose = (text: unknown): Html =>
  html`${textOf(text)
    .split('`')
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`

const words = (list: readonly string[]): Html =>
  html`${list.map((each, index) => html`${index === 0 ? '' : ', '}<code>${each}</code>`)}`

const range = (least: unknown, most: unknown, noun: string): string => {
  if (typeof most !== 'number') return typeof least === 'number' ? `, from ${least}${noun}` : ''
  return typeof least === 'number' && least > 0 ? `, ${least} to ${most}${noun}` : `, at most ${most}${noun}`
}

const isNull = (schema: unknown): boolean => isJson(schema) && schema.type === 'null'

const choicesOf = (schemas: Schemas, { type, anyOf }: Json): readonly Json[] =>
  type === undefined && Array.isArray(anyOf) ? anyOf.map((each) => resolved(schemas, each)) : []

const valueSchemaOf = ({ patternProperties }: Json): unknown =>
  isJson(patternProperties) ? Object.values(patternProperties)[0] : undefined

const textWords = ({ format, pattern, examples, minLength, maxLength }: Json): Html => {
  const [example] = textsOf(examples)
  const like = pattern === undefined || example === undefined ? '' : html`, like <code>${example}</code>`
  return html`${format === 'date-time' ? 'time' : 'text'}${range(minLength, maxLength, ' characters')}${like}`
}

export const typeWords = (schemas: Schemas, given: unknown): Html => {
  const schema = resolved(schemas, given)
  if (schema.title === 'Network') return html`<a href="#networks">network</a>`
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (Array.isArray(schema.enum)) return html`one of ${words(textsOf(schema.enum))}`
  const choices = choicesOf(schemas, schema)
  const constants = textsOf(choices.map((choice) => choice.const))
  if (constants.length > 0) return html`one of ${words(constants)}`
  const [choice] = choices.filter((each) => !isNull(each))
  if (choice !== undefined) return html`${typeWords(schemas, choice)}${choices.some(isNull) ? ' or null' : ''}`
  switch (schema.type) {
    case 'string':
      return textWords(schema)
    case 'boolean':
      return html`true or false`
    case 'integer':
      return html`whole number${range(schema.minimum, schema.maximum, '')}`
    case 'number':
      return html`number${range(schema.minimum, schema.maximum, '')}`
    case 'array':
      if (schema.maxItems === 0) return html`empty list`
      return html`list${range(schema.minItems, schema.maxItems, '')}: ${typeWords(schemas, schema.items)}`
    case 'object':
      return valueSchemaOf(schema) === undefined
        ? html`object`
        : html`object by name: ${typeWords(schemas, valueSchemaOf(schema))}`
    default:
      return html`any JSON`
  }
}

/** The object with fields in a schema: also in a list, under any name, or where null may be instead. */
const objectIn = (schemas: Schemas, given: unknown): Json | null => {
  const schema = resolved(schemas, given)
  if (isJson(schema.properties)) return schema
  const [inner] = choicesOf(schemas, schema).filter((each) => !isNull(each))
  const next = inner ?? schema.items ?? valueSchemaOf(schema)
  return next === undefined ? null : objectIn(schemas, next)
}

/** Each of the document's words for the credentials of a body is a list of `required` fields. */
const CREDENTIALS = { oneOf: 'exactly one of', anyOf: 'one or more of', allOf: 'both' } as const

const credentialsWords = (schema: Json): Html | null => {
  for (const [keyword, sentence] of Object.entries(CREDENTIALS)) {
    const choices = schema[keyword]
    const names = Array.isArray(choices) ? choices.flatMap((each) => textsOf(isJson(each) ? each.required : [])) : []
    const never = textsOf(under(schema, 'not').required)
    const apart = never.length === 0 ? null : html`, but not together ${words(never)}`
    if (names.length > 0) return html`<p>Also required: ${sentence} ${words(names)}${apart}.</p>`
  }
  return null
}

/** One field or parameter, with the fields within it. */
export const fieldItem = (
  schemas: Schemas,
  field: {
    readonly name: string
    readonly schema: unknown
    readonly isOptional: boolean
    readonly description?: unknown
  },
): Html => {
  const { description } = resolved(schemas, field.schema)
  // A field that refers to a schema has none of its own.
  const text = field.description ?? description
  return html`
        <li><code class="name">${field.name}</code> <span class="type">${field.isOptional ? 'optional, ' : ''}${typeWords(schemas, field.schema)}</span>${text === undefined ? null : html`<p>${prose(text)}</p>`}${fieldList(schemas, field.schema)}</li>`
}

type Union = { readonly propertyName: string; readonly choices: readonly Json[] }

/** The objects of which a field decides which one is meant (`discriminator`): also in a list. */
const unionIn = (schemas: Schemas, given: unknown): Union | null => {
  const { discriminator, anyOf, items } = resolved(schemas, given)
  if (!isJson(discriminator)) return items === undefined ? null : unionIn(schemas, items)
  const choices = Array.isArray(anyOf) ? anyOf.map((each) => resolved(schemas, each)) : []
  return { propertyName: textOf(discriminator.propertyName), choices }
}

/** The fields that all objects have alike, and then for each object its own. */
const unionList = (schemas: Schemas, { propertyName, choices }: Union): Html => {
  const fieldsOf = (choice: Json) => Object.entries(under(choice, 'properties'))
  const isCommon = ([name, field]: readonly [string, unknown]): boolean =>
    choices.every((choice) => JSON.stringify(under(choice, 'properties')[name]) === JSON.stringify(field))
  const item = ([name, schema]: readonly [string, unknown]) => fieldItem(schemas, { name, schema, isOptional: false })
  const common = fieldsOf(choices[0] ?? {}).filter(isCommon)
  const own = choices.map((choice) => {
    const fields = fieldsOf(choice).filter((field) => field[0] !== propertyName && !isCommon(field))
    const { const: value } = under(under(choice, 'properties'), propertyName)
    return html`
        <li><span class="type"><code>${propertyName}</code> <code>${JSON.stringify(value)}</code></span><p>${prose(choice.description)}</p>
      <ul class="fields">${fields.map(item)}
      </ul></li>`
  })
  return html`
      <ul class="fields">${common.map(item)}${own}
      </ul>`
}

/** The fields of the object in a schema, as a nested list; null if the schema has no object. */
export const fieldList = (schemas: Schemas, schema: unknown): Html | null => {
  const union = unionIn(schemas, schema)
  if (union !== null) return unionList(schemas, union)
  const object = objectIn(schemas, schema)
  if (object === null) return null
  const required = textsOf(object.required)
  const items = Object.entries(under(object, 'properties')).map(([name, field]) =>
    fieldItem(schemas, { name, schema: field, isOptional: !required.includes(name) }),
  )
  return html`${credentialsWords(object)}
      <ul class="fields">${items}
      </ul>`
}
