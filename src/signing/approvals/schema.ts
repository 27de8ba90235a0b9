import { type Static, Type } from '@sinclair/typebox'
import { APPROVAL_DECISIONS } from '../../../db/words.ts'
import { PasskeyAssertion } from '../../identity/users/passkey-schema.ts'
import {
  AddressField,
  ClosedObject,
  closed,
  NetworkField,
  OneOf,
  PagingFields,
  UuidField,
} from '../../platform/http/schema.ts'
import { SentenceField, SentencesField } from '../policies/sentence.ts'
import { OrNull, TimeField } from '../schema.ts'
import { PreviewResult } from '../transactions/preview-schema.ts'
import { UnsignedTransaction } from '../transactions/schema.ts'
import { TypedDataPreview } from '../typed-data/preview-schema.ts'
import { TypedDataField } from '../typed-data/schema.ts'
import { APPROVAL_STATUSES } from './list.ts'

const ApprovalIdField = UuidField('The `approval_id` of the 202 answer.')
const DecisionField = OneOf(APPROVAL_DECISIONS, {
  description: 'One rejection ends an approval, even a granted one, if it was not used yet.',
  examples: ['approve'],
})
const StatusField = OneOf(APPROVAL_STATUSES, {
  description: '`waiting` → `granted` → `used`; or `rejected`, or `expired`.',
  examples: ['waiting'],
})

export const Approval = ClosedObject('Approval', {
  approval_id: UuidField('Names it.'),
  status: StatusField,
  created_at: TimeField('ISO 8601, UTC.'),
  expires_at: TimeField('It must be used before this time.'),
  policy_uuid: UuidField('The policy that needs it.'),
  network: NetworkField,
  wallet_address: AddressField('The wallet that would be used.'),
  action: Type.String({
    description:
      'What would be done: `sign`, `sign-typed-data`, `send`, `batch`, `mint`, `transfer`, `collection`, `token`, `token_mint`, `token_transfer` or `speed-up`.',
    examples: ['send'],
  }),
  transaction_id: OrNull(
    UuidField('The transaction.'),
    'The transaction that a speed-up signs again; null for other actions.',
  ),
  signer_nonce: OrNull(Type.String({ examples: ['7'] }), 'Its nonce; null for other actions.'),
  unsigned_transactions: Type.Array(UnsignedTransaction, {
    description: 'The calls in their order; empty for typed data. Absent fields are chosen when the approval is used.',
  }),
  previews: OrNull(
    Type.Array(PreviewResult),
    'What each would do now, decoded and simulated; null once it has ended, while no node answers, and for typed data.',
  ),
  typed_data: OrNull(TypedDataField, 'The typed data that would be signed; null for transactions.'),
  typed_data_preview: OrNull(
    TypedDataPreview,
    'What it does; null once the approval has ended, while no node answers, and for transactions.',
  ),
  words: ClosedObject(
    'ApprovalWords',
    {
      wants: SentenceField('What is asked for.'),
      calls: Type.Array(SentencesField('A call: what it sends and calls, and what it would move now.'), {
        description: 'Each call in its order.',
      }),
      warnings: SentencesField('What is unclear about it, or would fail now.'),
    },
    { description: 'The request in English, for its approvers.' },
  ),
  required: Type.Integer({ minimum: 1, description: 'How many must approve.', examples: [2] }),
  decisions: Type.Array(
    Type.Object(
      {
        user_id: UuidField('The approver.'),
        decision: DecisionField,
        decided_at: TimeField('ISO 8601, UTC.'),
      },
      closed,
    ),
    { description: 'What was decided, oldest first.' },
  ),
})
export type Approval = Static<typeof Approval>

export const ListApprovalsQuery = Type.Object(PagingFields, closed)

export const BeginDecisionBody = ClosedObject('BeginDecision', {
  approval_id: ApprovalIdField,
  decision: DecisionField,
})

export const DecideBody = ClosedObject(
  'DecideApproval',
  { approval_id: ApprovalIdField, decision: DecisionField, passkey_credential_assertion_response: PasskeyAssertion },
  {
    examples: [
      {
        approval_id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
        decision: 'approve',
        passkey_credential_assertion_response: {
          id: 'cGFzc2tleSBvZiBBbGljZQ',
          type: 'public-key',
          response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0', authenticatorData: 'oA', signature: 'MEU' },
        },
      },
    ],
  },
)

export const DecisionOptions = ClosedObject('ApprovalRequestOptions', {
  publicKey: Type.Object(
    {
      challenge: Type.String({
        description: 'SHA-256 over the canonical JSON of the approval, its request, its end and the decision.',
        examples: ['q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA'],
      }),
      timeout: Type.Integer({ description: 'Milliseconds.', examples: [300_000] }),
      rpId: Type.String({ description: 'The domain of the passkeys.', examples: ['example.com'] }),
      allowCredentials: Type.Array(
        Type.Object(
          {
            type: Type.Literal('public-key'),
            id: Type.String({ description: "The credential's id in base64url.", examples: ['cGFzc2tleSBvZiBBbGljZQ'] }),
          },
          closed,
        ),
        { description: "The user's passkeys that the policy names." },
      ),
      userVerification: Type.Literal('required'),
    },
    { ...closed, description: 'PublicKeyCredentialRequestOptionsJSON (WebAuthn).' },
  ),
})

export type DecisionOptions = Static<typeof DecisionOptions>

export const DecidedApproval = ClosedObject('DecidedApproval', {
  approval_id: UuidField('Names it.'),
  decision: DecisionField,
})
