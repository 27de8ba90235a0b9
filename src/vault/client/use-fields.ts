// What is to be signed, as messages have it.

import { Type } from '@sinclair/typebox'
import { SIGNING_ACTIONS } from '../../../db/words.ts'
import { ByName, Bytes, Details, Fields, kind, ListOf, LongText, Maybe, OneOf, Text } from './fields.ts'

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
  // Custody reads it by the types.
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
