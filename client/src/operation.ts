// How the types of the document become those of methods.

import type { operations } from './document.generated.ts'

export type Operation = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Whether it takes the header `Idempotency-Key`, so that it can be repeated. */
  readonly takesKey?: true
  /** A POST that changes nothing, so that it can be repeated. */
  readonly reads?: true
  /** Whether its input is sent as a form (`multipart/form-data`). */
  readonly takesForm?: true
  /** By what its answer is known: a text, a list, or a field that each answer has. Without it any JSON is one. */
  readonly gives?: 'text' | 'list' | { readonly field: string }
}

type OperationId = keyof operations

type Given<Part> = [Part] extends [undefined] ? unknown : NonNullable<Part>

type BodyOf<Id extends OperationId> = operations[Id] extends {
  requestBody: { content: { 'application/json': infer Body } }
}
  ? Body
  : operations[Id] extends { requestBody: { content: { 'multipart/form-data': infer Form } } }
    ? { readonly [Name in keyof Form]: Blob }
    : unknown

type ParametersOf<Id extends OperationId> = operations[Id]['parameters']

/** Query, path and body of an operation, as one object. */
export type InputOf<Id extends OperationId> = Given<ParametersOf<Id>['query']> &
  Given<ParametersOf<Id>['path']> &
  BodyOf<Id>

/** The answer with status 200. */
export type OutputOf<Id extends OperationId> = operations[Id]['responses'] extends {
  200: { content: { 'application/json': infer Answer } }
}
  ? Answer
  : never

export type CallOptions = {
  /** The key of a former call, to get its answer: by default each call that takes one has a new key. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

// biome-ignore lint/complexity/noBannedTypes: the type of an object without required fields
type WithoutInput<Id extends OperationId> = {} extends InputOf<Id> ? true : false

/** A call of the service. It throws a `StrongroomError`. */
export type Method<Id extends OperationId> =
  WithoutInput<Id> extends true
    ? (input?: InputOf<Id>, options?: CallOptions) => Promise<OutputOf<Id>>
    : (input: InputOf<Id>, options?: CallOptions) => Promise<OutputOf<Id>>
