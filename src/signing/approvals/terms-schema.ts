import { Type } from '@sinclair/typebox'
import { ClosedObject, closed, UuidField } from '../../platform/http/schema.ts'

const APPROVERS_MAX = 50
const WEEK_SECONDS = 7 * 24 * 60 * 60

const approvalFields = {
  of: Type.Integer({
    minimum: 1,
    maximum: APPROVERS_MAX,
    description: 'How many different users must approve each use.',
    rule: `a whole number from 1 to ${APPROVERS_MAX}`,
    examples: [2],
  }),
  expires_in_seconds: Type.Integer({
    minimum: 60,
    maximum: WEEK_SECONDS,
    description: 'How long after the request the approval can be granted and used. One day if absent.',
    rule: `a whole number from 60 to ${WEEK_SECONDS}`,
    examples: [86_400],
  }),
}

const APPROVER = '3b1f0c6e-8d2a-4f57-9c41-6e0d7a5b2c18'

const ApproversField = (description: string) =>
  Type.Array(UuidField('A user of the project.'), {
    minItems: 1,
    maxItems: APPROVERS_MAX,
    description,
    rule: `a list of 1 to ${APPROVERS_MAX} ids of users`,
    examples: [[APPROVER]],
  })

export const RequireApproval = ClosedObject(
  'RequireApproval',
  {
    of: approvalFields.of,
    from: Type.Optional(
      ApproversField(
        'Who may approve: users of the project who have a passkey now. If absent, every user who has a passkey may approve, also customers of the app: better name them. Required in a request with an access token.',
      ),
    ),
    expires_in_seconds: Type.Optional(approvalFields.expires_in_seconds),
  },
  {
    description:
      'Each use needs approval first. The first request is answered with 202; once the approval is granted, repeat the same request with `approval_id`.',
    examples: [{ of: 1, from: [APPROVER] }],
  },
)

export const ApproverPasskeys = Type.Array(
  Type.Object(
    {
      user_id: UuidField('The approver.'),
      credential_id: Type.String({
        description: "The credential's id in base64url.",
        examples: ['cGFzc2tleSBvZiBBbGljZQ'],
      }),
      public_key: Type.String({
        description:
          'The key by which the approver is known, in base64url: SubjectPublicKeyInfo, as `getPublicKey()` gives it in a browser.',
        examples: ['MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE'],
      }),
    },
    closed,
  ),
  { description: 'The passkeys that count. Compare them with those of the approvers.' },
)

/** `require_approval` in an answer. */
export const RequiredApproval = Type.Union(
  [
    Type.Object(
      {
        of: approvalFields.of,
        from: ApproversField('Who may approve.'),
        expires_in_seconds: approvalFields.expires_in_seconds,
        passkeys: Type.Optional(ApproverPasskeys),
      },
      closed,
    ),
    Type.Null(),
  ],
  { description: 'Who must approve each use; null: nobody.' },
)
