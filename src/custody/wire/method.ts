// What client and server know of a method, so that each checks what it gets before it uses it.

import { type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'

/** What may be given where `Value` is expected: lists and objects may be readonly. */
export type Given<Value> = Value extends Uint8Array | Date
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]: Given<Value[Name]> }
    : Value

export type Method<Input extends TSchema, Output extends TSchema, Progress extends TSchema> = {
  readonly name: string
  readonly input: () => TypeCheck<Input>
  readonly output: () => TypeCheck<Output>
  /** What is told on the way to the answer. */
  readonly progress: () => TypeCheck<Progress>
  /** It may be asked again, of another server too, when it is not known whether it was done. */
  readonly repeatable: boolean
}

/** Compiled at its first use: a command uses few of them. */
const compiled = <Schema extends TSchema>(schema: Schema): (() => TypeCheck<Schema>) => {
  let check: TypeCheck<Schema> | null = null
  return () => (check ??= TypeCompiler.Compile(schema))
}

/** The answer of a method that has none. */
export const Nothing = Type.Unsafe<void>(Type.Null())

export const method = <
  Input extends TSchema,
  Output extends TSchema,
  Progress extends TSchema = ReturnType<typeof Type.Never>,
>(
  name: string,
  of: {
    readonly input: Input
    readonly output: Output
    readonly progress?: Progress
    readonly repeatable?: boolean
  },
) => ({
  name,
  input: compiled(of.input),
  output: compiled(of.output),
  progress: compiled(of.progress ?? Type.Never()),
  repeatable: of.repeatable ?? false,
})
