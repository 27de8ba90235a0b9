// What the fields of messages are made of, and the fields that many methods have.

import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { CONTROL_MODES, FREEZE_SCOPES, WALLET_TYPES } from '../../../db/words.ts'
import { Secret } from './method.ts'

const closed = { additionalProperties: false } as const

export const Fields = <Named extends TProperties>(fields: Named) => Type.Object(fields, closed)
export const OneOf = <Word extends string>(words: readonly Word[]) =>
  Type.Union(words.map((word) => Type.Literal(word)))
export const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
/** The field may be absent, or undefined, which does not cross. */
export const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Undefined()]))
export const ByName = <Schema extends TSchema>(schema: Schema) => Type.Record(Type.String(), schema, closed)

/** PostgreSQL takes no NUL. A statement that it refuses would fail for all who share it. */
const NO_NUL = '^[^\\u0000]*$'
export const Text = Type.String({ pattern: NO_NUL })
export const Id = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })
export const EvmAddress = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
export const Bytes = Type.Uint8Array()
export const Count = Type.Integer({ minimum: 0 })

export const credentials = Fields({
  from: Maybe(Text),
  developerSecret: Maybe(Secret),
  userPin: Maybe(Secret),
  userSecret: Maybe(Secret),
})

export const wallet = Fields({
  id: Id,
  projectId: Id,
  ownerId: Text,
  network: Text,
  keyringId: Id,
  controlMode: OneOf(CONTROL_MODES),
  type: OneOf(WALLET_TYPES),
  publicKey: Bytes,
  address: Text,
})

export const keyRequest = { wallet, credentials, actor: Text }

/** What `changeFreezes` takes: lists of freezes are read and written as a whole. */
export const freezeChange = Fields({
  change: Type.Union([Type.Literal('freeze'), Type.Literal('unfreeze')]),
  scope: OneOf(FREEZE_SCOPES),
  projectId: OrNull(Id),
  subject: Type.String({ pattern: NO_NUL, maxLength: 256 }),
  reason: Type.String({ pattern: NO_NUL, maxLength: 1_000 }),
  actor: Text,
})
