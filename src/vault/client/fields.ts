// What the fields of messages are made of, and the fields that many methods have.

import { Kind, type TProperties, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { FREEZE_SCOPES } from '../../../db/words.ts'
import { Secret } from './method.ts'

const closed = { additionalProperties: false } as const

export const Fields = <Named extends TProperties>(fields: Named) => Type.Object(fields, closed)
export const OneOf = <Word extends string>(words: readonly Word[]) =>
  Type.Union(words.map((word) => Type.Literal(word)))
export const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
/** The field may be absent, or undefined, which does not cross. */
export const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Undefined()]))

// Every text, list and record has a bound, far above what an API ever sends (test/vault/wire-bounds.test.ts).

/** More values than this are in no message at all. */
const MANY = 100_000
export const ListOf = <Schema extends TSchema>(schema: Schema, maxItems = MANY) => Type.Array(schema, { maxItems })
export const ByName = <Schema extends TSchema>(schema: Schema) =>
  Type.Record(Type.String(), schema, { ...closed, maxProperties: MANY })

/** PostgreSQL takes no NUL. A statement that it refuses would fail for all who share it. */
const textUpTo = (maxLength: number) => Type.String({ pattern: '^[^\\u0000]*$', maxLength })
/** A name, an address, an actor; the longest are credential ids of passkeys, and values of rules: 1,024 characters of two units. */
export const Text = textUpTo(2_048)
/** A function's declaration: 65,536 characters of two units. */
export const Declaration = textUpTo(131_072)
/** What a request or a row is about, as JSON, a signed transaction as hex, or a text to sign: a few megabytes. */
export const LongText = textUpTo(32 * 1024 * 1024)
export const Id = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', maxLength: 36 })
export const EvmAddress = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$', maxLength: 42 })
export const Bytes = Type.Uint8Array({ maxByteLength: 16 * 1024 * 1024 })
export const Count = Type.Integer({ minimum: 0 })
/** How many policies are listed at once. */
export const Limit = Type.Integer({ minimum: 0, maximum: 1_000 })

const DETAILS_BYTES_MAX = 4_096

const isDetails = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const texts = Object.entries(value).flat()
  const areTexts = texts.every((text) => typeof text === 'string' && !text.includes('\0'))
  return areTexts && Buffer.byteLength(texts.join('')) <= DETAILS_BYTES_MAX
}

TypeRegistry.Set('Details', (_schema, value) => isDetails(value))
/** All details of an audit row that come from a caller: the vault adds its own (vault/rooms/keys/facts.ts). */
export const Details = Type.Unsafe<Record<string, string>>({ [Kind]: 'Details' })

export const credentials = Fields({
  from: Maybe(Text),
  developerSecret: Maybe(Secret),
  userPin: Maybe(Secret),
  userSecret: Maybe(Secret),
})

/** A wallet crosses as its id, with the project for which the caller asks. The vault reads everything else itself. */
export const wallet = Fields({ id: Id, projectId: Id })

export const keyRequest = { wallet, credentials, actor: Text }

/** Tells the members of a union apart. */
export const kind = <Kind extends string>(word: Kind) => ({ kind: Type.Literal(word) })

/** What `changeFreezes` takes: lists of freezes are read and written as a whole. */
export const freezeChange = Fields({
  change: Type.Union([Type.Literal('freeze'), Type.Literal('unfreeze')]),
  scope: OneOf(FREEZE_SCOPES),
  projectId: OrNull(Id),
  subject: textUpTo(256),
  reason: textUpTo(1_000),
  actor: Text,
})
