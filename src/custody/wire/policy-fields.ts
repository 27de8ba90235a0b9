// A policy, as messages have it.

import { Type } from '@sinclair/typebox'
import { RULE_OPERATORS } from '../../../db/words.ts'
import { APPROVER_PASSKEYS_MAX } from '../approval.ts'
import { Count, EvmAddress, Fields, Id, OneOf, OrNull, Text } from './fields.ts'

const Digits = Type.String({ pattern: '^[0-9]{1,78}$' })
const Seconds = Type.Integer({ minimum: 1 })
export const limitCounts = Type.Array(Type.Array(Type.Tuple([Count, Digits])))

export const termsFields = {
  id: Id,
  network: Text,
  argumentRules: Type.Array(
    Fields({
      argument: Text,
      operator: OneOf(RULE_OPERATORS),
      value: Text,
      selector: Type.Optional(Text),
      declaration: Type.Optional(Text),
    }),
  ),
  expiresAt: OrNull(Type.Date()),
  maxTotalValue: OrNull(Type.BigInt()),
  maxUses: OrNull(Type.Integer()),
  maxTotalFee: Type.BigInt(),
  tokenLimits: Type.Array(Fields({ contractAddress: EvmAddress, maxTotal: Digits, perSeconds: OrNull(Seconds) })),
  rollingLimits: Type.Array(
    Fields({ perSeconds: Seconds, maxTotalValue: OrNull(Digits), maxUses: OrNull(Type.Integer({ minimum: 0 })) }),
  ),
  requireApproval: OrNull(
    Fields({
      of: Type.Integer({ minimum: 1 }),
      expiresInSeconds: Type.Integer({ minimum: 1 }),
      approvers: Type.Array(Fields({ userId: Id, rpId: Text, credentialId: Text, publicKey: Text }), {
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
