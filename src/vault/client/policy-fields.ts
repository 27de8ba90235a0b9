// A policy, as messages have it.

import { Type } from '@sinclair/typebox'
import { RULE_OPERATORS } from '../../../db/words.ts'
import { APPROVER_PASSKEYS_MAX } from '../language/approval.ts'
import { Count, Declaration, EvmAddress, Fields, Id, ListOf, OneOf, OrNull, Text } from './fields.ts'

const Digits = Type.String({ pattern: '^[0-9]{1,78}$', maxLength: 78 })
const Seconds = Type.Integer({ minimum: 1 })
/** More than a policy has limits or rules, and a limit has slots. */
const SOME = 256
export const limitCounts = ListOf(ListOf(Type.Tuple([Count, Digits]), SOME), SOME)

export const termsFields = {
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
