// What client and server know of a method, so that each checks what it gets before it uses it, and sends no more than
// the method names.

import { KindGuard, type Static, type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { SecretText } from '../../platform/sealing/bytes.ts'

/** What may be given where `Value` is expected: lists and objects may be readonly. */
export type Given<Value> = Value extends Uint8Array | Date
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]: Given<Value[Name]> }
    : Value

type Shape<Schema extends TSchema> = {
  readonly schema: Schema
  readonly fits: (value: unknown) => value is Static<Schema>
  /** The value without the fields that the schema does not name: a row of a table has more than what is asked for. */
  readonly named: (value: unknown) => unknown
  /** Zeroes what is secret in a value that `named` returned. */
  readonly zero: (value: unknown) => void
}

export type Method<Input extends TSchema, Output extends TSchema, Progress extends TSchema> = {
  readonly name: string
  readonly input: Shape<Input>
  readonly output: Shape<Output>
  /** Messages before the answer. */
  readonly progress: Shape<Progress>
  /** It may be asked again, of another server too, when it is not known whether it was done. */
  readonly repeatable: boolean
}

/** A method of any kind, for those who only look at its name and its checks. */
export type AnyMethod = Method<TSchema, TSchema, TSchema>

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** A secret text in an answer. Twice the longest body of a request with one. */
export const SecretBytes = Type.Uint8Array({ isSecret: true, maxByteLength: 32_768 })
/** A text that is secret (SecretText): it crosses as bytes, which are zeroed with the message. */
export const Secret = Type.Unsafe<SecretText>(SecretBytes)

type Naming = (value: unknown) => unknown

const asItIs: Naming = (value) => value

/** A text with lone surrogates would change in UTF-8, so leave it: it then fails the check. */
const asBytes: Naming = (value) => (typeof value === 'string' && value.isWellFormed() ? Buffer.from(value) : value)

const zeroed: Naming = (value) => (value instanceof Uint8Array ? value.fill(0) : value)

const isSecret = (schema: TSchema): boolean => schema.isSecret === true

/** The secret fields of a union's objects. A name that is secret in one of them is secret in all. */
const secretNamesIn = (schema: TSchema): readonly string[] => {
  if (!KindGuard.IsObject(schema)) return schema.anyOf?.flatMap(secretNamesIn) ?? []
  return Object.entries(schema.properties).flatMap(([name, field]) => (isSecret(field) ? [name] : []))
}

const namingOfUnion = (schema: TSchema, secret: Naming): Naming => {
  if (schema.anyOf.some(isSecret)) return secret
  const names = new Set(secretNamesIn(schema))
  if (names.size === 0) return asItIs
  const namingOfField = ([name, value]: readonly [string, unknown]) => [name, names.has(name) ? secret(value) : value]
  return (value) => (isRecord(value) ? Object.fromEntries(Object.entries(value).map(namingOfField)) : value)
}

/** Keeps a union as it is, except its secret fields. @param secret what to do with these. */
const namingOf = (schema: TSchema, secret: Naming): Naming => {
  if (KindGuard.IsObject(schema)) {
    const fields = Object.entries(schema.properties).map(([name, field]) => ({ name, naming: namingOf(field, secret) }))
    return (value) => {
      if (!isRecord(value)) return value
      const object: Record<string, unknown> = {}
      for (const { name, naming } of fields) object[name] = naming(value[name])
      return object
    }
  }
  if (isSecret(schema)) return secret
  if (KindGuard.IsUnion(schema)) return namingOfUnion(schema, secret)
  if (!KindGuard.IsArray(schema)) return asItIs
  const naming = namingOf(schema.items, secret)
  return (value) => (Array.isArray(value) ? value.map(naming) : value)
}

const hasSecret = (schema: TSchema): boolean => {
  if (KindGuard.IsObject(schema)) return Object.values(schema.properties).some(hasSecret)
  return isSecret(schema) || (schema.anyOf?.some(hasSecret) ?? false)
}

const shapeOf = <Schema extends TSchema>(schema: Schema): Shape<Schema> => {
  // Compiled at the first use, because a command uses few of them.
  let compiled: TypeCheck<Schema> | null = null
  return {
    schema,
    fits: (value): value is Static<Schema> => {
      compiled ??= TypeCompiler.Compile(schema)
      return compiled.Check(value)
    },
    named: namingOf(schema, asBytes),
    zero: hasSecret(schema) ? namingOf(schema, zeroed) : () => {},
  }
}

/** The answer of a method that has none. */
const Nothing = Type.Unsafe<void>(Type.Null())

type Declaration = {
  /** Absent: the method takes nothing. */
  readonly input?: TSchema
  /** Absent: it answers nothing. */
  readonly output?: TSchema
  readonly progress?: TSchema
  readonly repeatable?: true
}

type Declared<Part, Otherwise extends TSchema> = Part extends TSchema ? Part : Otherwise

const NoFields = Type.Object({}, { additionalProperties: false })
const Never = Type.Never()

type MethodOf<Of extends Declaration> = Method<
  Declared<Of['input'], typeof NoFields>,
  Declared<Of['output'], typeof Nothing>,
  Declared<Of['progress'], typeof Never>
>

/** A method by its name. */
const method = <const Of extends Declaration>(name: string, declared: Of): MethodOf<Of> =>
  ({
    name,
    input: shapeOf(declared.input ?? NoFields),
    output: shapeOf(declared.output ?? Nothing),
    progress: shapeOf(declared.progress ?? Never),
    repeatable: declared.repeatable ?? false,
  }) as AnyMethod as MethodOf<Of>

/** A table of methods, each with the name that it has in the table. */
export const methods = <const Table extends Readonly<Record<string, Declaration>>>(table: Table) =>
  Object.fromEntries(Object.entries(table).map(([name, declared]) => [name, method(name, declared)])) as unknown as {
    readonly [Name in keyof Table]: MethodOf<Table[Name]>
  }

type Call<Of> =
  Of extends Method<infer Input, infer Output, infer Progress>
    ? keyof Static<Input> extends never
      ? () => Promise<Given<Static<Output>>>
      : (
          input: Given<Static<Input>>,
          onProgress?: (progress: Given<Static<Progress>>) => void,
        ) => Promise<Given<Static<Output>>>
    : never

/** The methods of a table as functions. */
export type Calls<Table> = { readonly [Name in keyof Table]: Call<Table[Name]> }

/** What a method takes. */
export type InputOf<Of> = Of extends Method<infer Input, infer _Output, infer _Progress> ? Given<Static<Input>> : never

/** What a method answers. */
export type OutputOf<Of> =
  Of extends Method<infer _Input, infer Output, infer _Progress> ? Given<Static<Output>> : never
