// Events as callers see them: one schema for each type. `data` has the fields of version 1, which db/events.ts writes; the fields
// have the names that other answers give them. A later version of a type may have further fields.

import { type Static, type TProperties, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import {
  APPROVAL_DECISIONS,
  CONTROL_MODES,
  EVENT_TYPES,
  type EventType,
  FAILURE_CODES,
  SECURITY_EVENTS,
  WALLET_TYPES,
} from '../../db/words.ts'
import {
  AddressField,
  ClosedObject,
  closed,
  NetworkField,
  OneOf,
  ShortText,
  StatusField,
  UuidField,
} from '../http/schema.ts'

const HASH = '0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b'

const Time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-01-31T12:00:00.000Z'] })

const HashField = Type.String({ description: 'Its hash on the network.', examples: [HASH] })
const OwnerField = ShortText('Your id of the owner; the id of a user who is logged in.', 'user-1')
const WalletField = AddressField('The wallet.')
const AddressOrNull = (description: string) => Type.Union([AddressField(description), Type.Null()], { description })

const nameOf = (type: EventType): string =>
  `${type
    .split('.')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}Event`

/** @param description when it is written. */
const eventOf = <const Name extends EventType, Fields extends TProperties>(
  type: Name,
  description: string,
  fields: Fields,
) =>
  ClosedObject(
    nameOf(type),
    {
      id: Type.String({
        pattern: '^[1-9][0-9]{0,18}$',
        description: "Its number among the project's events: consecutive, from 1.",
        examples: ['42'],
      }),
      type: Type.Literal(type, { examples: [type] }),
      version: Type.Literal(1, { description: 'Of the form of `data`.', examples: [1] }),
      created_at: Time('When it was caused: ISO 8601, UTC.'),
      project_id: UuidField('The project.'),
      data: ClosedObject(`${nameOf(type)}Data`, fields),
    },
    { description },
  )

const PolicyFields = {
  policy_uuid: UuidField('The policy.'),
  network: NetworkField,
  wallet_address: WalletField,
}

const ApprovalFields = { approval_id: UuidField('The approval.'), ...PolicyFields }

const MovementFields = {
  uuid: UuidField('Of the item of the activity.'),
  network: NetworkField,
  wallet_address: WalletField,
  transaction_hash: HashField,
}

const CREDENTIAL_KINDS = ['passkey', 'email', 'recovery_code', 'passkey_secret'] as const

const CredentialFields = {
  kind: OneOf(CREDENTIAL_KINDS, {
    description: '`passkey` and `email` log a user in; `recovery_code` and `passkey_secret` stand for the PIN.',
    examples: ['passkey'],
  }),
  owner_id: OwnerField,
}

const EVENTS = {
  'transaction.updated': eventOf('transaction.updated', 'A transaction was recorded, or its status has changed.', {
    transaction_id: UuidField('Our id of the transaction.'),
    transaction_hash: Type.Union([HashField, Type.Null()], { examples: [HASH] }),
    network: NetworkField,
    wallet_address: WalletField,
    status: StatusField,
    contract_address: AddressOrNull('The contract that it created.'),
    error: Type.Optional(Type.String({ description: 'Why it failed.', examples: ['The call reverted.'] })),
    code: Type.Optional(
      OneOf(FAILURE_CODES, { description: 'Why it failed, for programs.', examples: ['execution_reverted'] }),
    ),
  }),
  'activity.created': eventOf('activity.created', 'A coin, a token or an NFT came into a wallet or went out.', {
    ...MovementFields,
    type: OneOf(['receive_token', 'send_token', 'receive_nft', 'send_nft'], {
      description: 'What happened, from the point of view of the wallet.',
      examples: ['receive_token'],
    }),
    timestamp: Time("The block's time: ISO 8601, UTC."),
    contract_address: AddressOrNull('Of the token or NFT; null for the native coin.'),
    token_id: Type.Union([Type.String({ examples: ['1'] }), Type.Null()], {
      description: 'Which token; of NFTs only.',
    }),
    raw_amount: Type.String({ description: 'How much moved, in base units.', examples: ['1500000000000000000'] }),
  }),
  'activity.removed': eventOf(
    'activity.removed',
    'A reorganisation removed the block of an item of the activity. It may come again in another block.',
    MovementFields,
  ),
  'wallet.created': eventOf('wallet.created', 'A wallet was created or imported.', {
    id: UuidField("The wallet's id."),
    network: NetworkField,
    owner_id: OwnerField,
    address: AddressField("The wallet's address on the network."),
    control_mode: OneOf(CONTROL_MODES, { description: 'Who controls it.', examples: ['user'] }),
    type: OneOf(WALLET_TYPES, { description: 'The kind of its address.', examples: ['eoa'] }),
  }),
  'user.created': eventOf('user.created', 'Somebody logged in for the first time.', {
    user_id: UuidField('The user.'),
  }),
  'policy.created': eventOf('policy.created', 'The owner of a wallet agreed to a policy.', PolicyFields),
  'policy.revoked': eventOf('policy.revoked', 'A policy was revoked.', PolicyFields),
  'approval.requested': eventOf('approval.requested', 'A use of a policy waits for its approvers.', {
    ...ApprovalFields,
    required: Type.Integer({ minimum: 1, description: 'How many must approve.', examples: [2] }),
    expires_at: Time('It must be used before this time.'),
  }),
  'approval.decided': eventOf('approval.decided', 'An approver approved or rejected.', {
    ...ApprovalFields,
    user_id: UuidField('The approver.'),
    decision: OneOf(APPROVAL_DECISIONS, { description: 'What was decided.', examples: ['approve'] }),
  }),
  'approval.expired': eventOf(
    'approval.expired',
    'An approval was neither used nor rejected in its time. Written up to two minutes later.',
    ApprovalFields,
  ),
  'credential.locked': eventOf('credential.locked', 'After wrong PINs no PIN of an owner is taken for some time.', {
    owner_id: OwnerField,
    locked_until: Time('When a PIN is taken again.'),
  }),
  'credential.added': eventOf('credential.added', 'A further way to log in, or to open the wallets.', CredentialFields),
  'credential.removed': eventOf('credential.removed', 'Such a way was removed.', CredentialFields),
  'project.changed': eventOf('project.changed', 'An operator changed how users of the project log in.', {
    setting: OneOf(['allowed_origins', 'passkey_domain', 'anonymous_login'], {
      description: 'What was changed.',
      examples: ['allowed_origins'],
    }),
  }),
  'security.refused': eventOf(
    'security.refused',
    'Refusals that may be part of an attack. Those of half a minute are counted, and written together.',
    {
      kind: OneOf(SECURITY_EVENTS, { description: 'What was refused.', examples: ['wrong_pin'] }),
      subject: Type.Union([ShortText('The target: an owner, a session, an API key.', 'user-1'), Type.Null()], {
        description: 'The target: an owner, a session, an API key; null if it is unknown.',
      }),
      count: Type.Integer({ minimum: 1, description: 'How many.', examples: [3] }),
    },
  ),
} as const satisfies Record<EventType, unknown>

/** `type` decides which one it is. */
export const ProjectEvent = Type.Union(Object.values(EVENTS), {
  type: 'object',
  title: 'ProjectEvent',
  description: 'Something that happened in the project. `type` says what.',
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(EVENT_TYPES.map((type) => [type, `#/components/schemas/${nameOf(type)}`])),
  },
})
export type ProjectEvent = Static<typeof ProjectEvent>

export const EventList = ClosedObject('EventList', {
  // The type of such a large union is too much for the compiler where routes are joined.
  events: Type.Array(Type.Unsafe<ProjectEvent>(ProjectEvent), { description: 'In the order of their ids.' }),
  next: Type.String({
    description: 'The next `after`, also if `events` is empty.',
    examples: ['42'],
  }),
})
export type EventList = Static<typeof EventList>

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 500
const WAIT_SECONDS_MAX = 30

const TYPE = `(?:${EVENT_TYPES.map((type) => type.replace('.', '\\.')).join('|')})`

export const ListEventsQuery = t.Object(
  {
    after: t.Optional(
      t.String({
        pattern: '^(?:|null|0|[1-9][0-9]{0,17})$',
        description: 'Only events after the one with this id. `0`, the default: from the oldest that is kept.',
        rule: 'the id of an event, or 0',
        examples: ['42'],
      }),
    ),
    types: t.Optional(
      t.String({
        pattern: `^(?:|null|${TYPE}(?:,${TYPE})*)$`,
        maxLength: 1_000,
        description: `Only events of these types, separated by commas: ${EVENT_TYPES.join(', ')}. By default all.`,
        rule: `types of events, separated by commas: ${EVENT_TYPES.join(', ')}`,
        examples: ['transaction.updated,activity.created'],
      }),
    ),
    limit: t.Optional(
      t.String({
        pattern: '^(?:|null|[1-9]|[1-9][0-9]|[1-4][0-9][0-9]|500)$',
        description: `The most events of an answer, ${LIMIT_DEFAULT} by default.`,
        rule: `a whole number from 1 to ${LIMIT_MAX} in plain digits`,
        examples: ['100'],
      }),
    ),
    wait: t.Optional(
      t.String({
        pattern: '^(?:|null|[0-9]|[12][0-9]|30)$',
        description: 'How many seconds to wait for an event if there is none; 0 by default. A stream always waits.',
        rule: `a whole number of seconds from 0 to ${WAIT_SECONDS_MAX} in plain digits`,
        examples: ['30'],
      }),
    ),
  },
  closed,
)

type Query = Static<typeof ListEventsQuery>

const given = (value: string | undefined): string | null =>
  value === undefined || value === '' || value === 'null' ? null : value

/** What a query asks for. */
export const eventsAskedBy = ({ after, types, limit, wait }: Query) => ({
  after: BigInt(given(after) ?? '0'),
  types: given(types)?.split(',') ?? null,
  limit: Number(given(limit) ?? LIMIT_DEFAULT),
  waitMs: Number(given(wait) ?? 0) * 1_000,
})
