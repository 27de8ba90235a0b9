// What the fields of messages are made of, and the fields that many methods have.

import { Kind, type TProperties, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { CONTROL_MODES, FREEZE_SCOPES, RULE_OPERATORS, SIGNING_ACTIONS, WALLET_TYPES } from '../../../db/words.ts'
import { APPROVER_PASSKEYS_MAX } from '../language/approval.ts'
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
const ByName = <Schema extends TSchema>(schema: Schema) =>
  Type.Record(Type.String(), schema, { ...closed, maxProperties: MANY })

/** PostgreSQL takes no NUL. A statement that it refuses would fail for all who share it. */
const textUpTo = (maxLength: number) => Type.String({ pattern: '^[^\\u0000]*$', maxLength })
/**
 * A name, an address, an actor; the longest are credential ids of passkeys, and values of rules: 1,024 characters of
 * two units.
 */
export const Text = textUpTo(2_048)
/** A function's declaration: 65,536 characters of two units. */
const Declaration = textUpTo(131_072)
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
const Details = Type.Unsafe<Record<string, string>>({ [Kind]: 'Details' })

export const credentials = Fields({
  from: Maybe(Text),
  developerSecret: Maybe(Secret),
  userPin: Maybe(Secret),
  userSecret: Maybe(Secret),
})

/** What an API authenticated of a wallet. The vault reads the wallet itself, and refuses if anything differs. */
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

/** Tells the members of a union apart. */
const kind = <Kind extends string>(word: Kind) => ({ kind: Type.Literal(word) })

/** What `changeFreezes` takes: lists of freezes are read and written as a whole. */
export const freezeChange = Fields({
  change: Type.Union([Type.Literal('freeze'), Type.Literal('unfreeze')]),
  scope: OneOf(FREEZE_SCOPES),
  projectId: OrNull(Id),
  subject: textUpTo(256),
  reason: textUpTo(1_000),
  actor: Text,
})

// A policy.

const Digits = Type.String({ pattern: '^[0-9]{1,78}$', maxLength: 78 })
const Seconds = Type.Integer({ minimum: 1 })
/** More than a policy has limits or rules, and a limit has slots. */
const SOME = 256
const limitCounts = ListOf(ListOf(Type.Tuple([Count, Digits]), SOME), SOME)

const termsFields = {
  id: Id,
  network: Text,
  argumentRules: ListOf(
    Fields({
      argument: Text,
      operator: OneOf(RULE_OPERATORS),
      value: Text,
      selector: Type.Optional(Text),
      declaration: Type.Optional(Declaration),
    }),
    SOME,
  ),
  expiresAt: OrNull(Type.Date()),
  maxTotalValue: OrNull(Type.BigInt()),
  maxUses: OrNull(Type.Integer()),
  maxTotalFee: Type.BigInt(),
  tokenLimits: ListOf(Fields({ contractAddress: EvmAddress, maxTotal: Digits, perSeconds: OrNull(Seconds) }), SOME),
  rollingLimits: ListOf(
    Fields({ perSeconds: Seconds, maxTotalValue: OrNull(Digits), maxUses: OrNull(Type.Integer({ minimum: 0 })) }),
    SOME,
  ),
  requireApproval: OrNull(
    Fields({
      of: Type.Integer({ minimum: 1 }),
      expiresInSeconds: Type.Integer({ minimum: 1 }),
      approvers: Type.Array(Fields({ userId: Id, rpId: Text, credentialId: Text, publicKey: Declaration }), {
        maxItems: APPROVER_PASSKEYS_MAX,
      }),
    }),
  ),
}
export const terms = Fields(termsFields)

export const policy = Fields({
  ...termsFields,
  projectId: Id,
  walletId: Id,
  name: Text,
  spentFee: Type.BigInt(),
  spentValue: Type.BigInt(),
  limitCounts,
  uses: Count,
  createdAt: Type.Date(),
  updatedAt: Type.Date(),
  revokedAt: OrNull(Type.Date()),
})

export const unrevokedPolicies = ListOf(
  Fields({
    ...termsFields,
    uses: Count,
    spentValue: Type.BigInt(),
    limitCounts,
    isExpired: Type.Boolean(),
    readAt: Type.Date(),
  }),
)

// What is to be signed.

const typedData = Fields({
  domain: Fields({
    name: Type.Optional(LongText),
    version: Type.Optional(LongText),
    chainId: Type.Optional(Type.Union([Type.Number(), Type.BigInt(), Text])),
    verifyingContract: Type.Optional(Text),
    salt: Type.Optional(Text),
  }),
  types: ByName(ListOf(Fields({ name: LongText, type: LongText }))),
  primaryType: LongText,
  // The vault reads it by the types.
  message: ByName(Type.Unknown()),
})

const payload = Type.Union([
  Fields({ ...kind('evm_transaction'), unsigned: Bytes }),
  Fields({ ...kind('evm_message'), message: Bytes }),
  Fields({ ...kind('typed_data'), typedData }),
  Fields({ ...kind('safe_message'), chainId: Type.Integer(), safe: Text, message: Bytes }),
  Fields({ ...kind('safe_typed_data'), chainId: Type.Integer(), safe: Text, typedData }),
  Fields({
    ...kind('extrinsic'),
    call: Bytes,
    extra: Bytes,
    implicit: Bytes,
    addressPrefix: Bytes,
    signaturePrefix: Bytes,
  }),
  Fields({ ...kind('substrate_message'), message: Bytes }),
])

/** A batch has a hundred transactions. */
const USES_MAX = 128
/** A transaction is signed at up to six fees, and once more to cancel it. */
const PAYLOADS_MAX = 16
export const uses = ListOf(
  Fields({
    action: OneOf(SIGNING_ACTIONS),
    details: Details,
    payloads: ListOf(payload, PAYLOADS_MAX),
    about: Maybe(LongText),
  }),
  USES_MAX,
)
export const signatures = ListOf(ListOf(Bytes, PAYLOADS_MAX), USES_MAX)

// A page of a journal’s notes.

const at = { about: LongText, at: Text }
const note = Type.Union([
  Fields({ ...kind('transaction'), attempts: ListOf(Fields({ raw: LongText, hash: Text })), ...at }),
  Fields({
    ...kind('wallet'),
    wallet: Fields({
      id: Id,
      projectId: Id,
      ownerId: Text,
      network: Text,
      controlMode: OneOf(CONTROL_MODES),
      keyringId: Id,
    }),
    publicKey: Text,
    ...at,
  }),
  Fields({ ...kind('project'), projectId: Id, isActive: Type.Boolean(), ...at }),
])

export const notesPage = Fields({ notes: ListOf(note), next: OrNull(Count) })
