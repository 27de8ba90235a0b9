// Events as callers see them: one schema for each type. `data` has the fields of version 1, which db/events.ts writes
// and src/events/shown.ts completes; the fields have the names that other answers give them. A later version of a type
// may have further fields.

import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import {
  APPROVAL_DECISIONS,
  CONTROL_MODES,
  EVENT_TYPES,
  type EventType,
  SECURITY_EVENTS,
  WALLET_TYPES,
} from '../../db/words.ts'
import { WalletActivityItem } from '../assets/activity/schema.ts'
import {
  AddressField,
  ClosedObject,
  closed,
  NetworkField,
  OneOf,
  ShortText,
  UuidField,
} from '../platform/http/schema.ts'
import { givenText, OrNull, TimeField } from '../signing/schema.ts'
import { TransactionStatusById } from '../signing/transactions/schema.ts'

const HASH = '0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b'

const HashField = Type.String({ description: 'Its hash on the network.', examples: [HASH] })
const OwnerField = ShortText('Your id of the owner; the id of a user who is logged in.', 'user-1')
const WalletField = AddressField('The wallet.')

const deriveName = (type: EventType): string =>
  `${type
    .split('.')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}Event`

/** @param description when it is written. */
const defineEvent = <const Name extends EventType, Data extends TSchema>(type: Name, description: string, data: Data) =>
  ClosedObject(
    deriveName(type),
    {
      id: Type.String({
        pattern: '^[1-9][0-9]{0,18}$',
        description: "Its number among the project's events: consecutive, from 1.",
        examples: ['42'],
      }),
      type: Type.Literal(type, { examples: [type] }),
      version: Type.Literal(1, { description: 'Of the form of `data`.', examples: [1] }),
      created_at: TimeField('When it was caused: ISO 8601, UTC.'),
      project_id: UuidField('The project.'),
      data,
    },
    { description },
  )

/** An event with data of its own. */
const defineOwnEvent = <const Name extends EventType, Fields extends TProperties>(
  type: Name,
  description: string,
  fields: Fields,
) => defineEvent(type, description, ClosedObject(`${deriveName(type)}Data`, fields))

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
  'transaction.updated': defineEvent(
    'transaction.updated',
    'A transaction was recorded, or its status has changed. `data` is as status-by-id answers.',
    TransactionStatusById,
  ),
  'activity.created': defineEvent(
    'activity.created',
    'A coin, a token or an NFT came into a wallet or went out. `data` is as the list of activity has it. If the contract could not be read yet, its token has no name, and `decimals_unknown` is true.',
    WalletActivityItem,
  ),
  'activity.removed': defineOwnEvent(
    'activity.removed',
    'A reorganisation removed the block of an item of the activity. It may come again in another block.',
    MovementFields,
  ),
  'wallet.created': defineOwnEvent('wallet.created', 'A wallet was created or imported.', {
    id: UuidField("The wallet's id."),
    network: NetworkField,
    owner_id: OwnerField,
    address: AddressField("The wallet's address on the network."),
    control_mode: OneOf(CONTROL_MODES, { description: 'Who controls it.', examples: ['user'] }),
    type: OneOf(WALLET_TYPES, { description: 'The kind of its address.', examples: ['eoa'] }),
  }),
  'user.created': defineOwnEvent('user.created', 'Somebody logged in for the first time.', {
    user_id: UuidField('The user.'),
  }),
  'policy.created': defineOwnEvent('policy.created', 'The owner of a wallet agreed to a policy.', PolicyFields),
  'policy.revoked': defineOwnEvent('policy.revoked', 'A policy was revoked.', PolicyFields),
  'approval.requested': defineOwnEvent('approval.requested', 'A use of a policy waits for its approvers.', {
    ...ApprovalFields,
    required: Type.Integer({ minimum: 1, description: 'How many must approve.', examples: [2] }),
    expires_at: TimeField('It must be used before this time.'),
  }),
  'approval.decided': defineOwnEvent('approval.decided', 'An approver approved or rejected.', {
    ...ApprovalFields,
    user_id: UuidField('The approver.'),
    decision: OneOf(APPROVAL_DECISIONS, { description: 'What was decided.', examples: ['approve'] }),
  }),
  'approval.expired': defineOwnEvent(
    'approval.expired',
    'An approval was neither used nor rejected in its time. Written up to two minutes later.',
    ApprovalFields,
  ),
  'credential.locked': defineOwnEvent(
    'credential.locked',
    'After wrong PINs no PIN of an owner is taken for some time.',
    {
      owner_id: OwnerField,
      locked_until: TimeField('When a PIN is taken again.'),
    },
  ),
  'credential.added': defineOwnEvent(
    'credential.added',
    'A further way to log in, or to open the wallets.',
    CredentialFields,
  ),
  'credential.removed': defineOwnEvent('credential.removed', 'Such a way was removed.', CredentialFields),
  'project.changed': defineOwnEvent('project.changed', 'An operator changed how users of the project log in.', {
    setting: OneOf(['allowed_origins', 'return_addresses', 'passkey_domain', 'anonymous_login', 'issuers'], {
      description: 'What was changed.',
      examples: ['allowed_origins'],
    }),
  }),
  'security.refused': defineOwnEvent(
    'security.refused',
    'Refusals that may be part of an attack. Those of half a minute are counted, and written together.',
    {
      kind: OneOf(SECURITY_EVENTS, { description: 'What was refused.', examples: ['wrong_pin'] }),
      subject: OrNull(
        ShortText('The target: an owner, a session, an API key.', 'user-1'),
        'The target: an owner, a session, an API key; "others" for all of a kind beyond the most frequent; null if it is unknown.',
      ),
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
    mapping: Object.fromEntries(EVENT_TYPES.map((type) => [type, `#/components/schemas/${deriveName(type)}`])),
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

export const ListEventsQuery = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        pattern: '^(?:|null|0|[1-9][0-9]{0,17})$',
        description: 'Only events after the one with this id. `0`, the default: from the oldest that is kept.',
        rule: 'the id of an event, or 0',
        examples: ['42'],
      }),
    ),
    types: Type.Optional(
      Type.String({
        pattern: `^(?:|null|${TYPE}(?:,${TYPE})*)$`,
        maxLength: 1_000,
        description: `Only events of these types, separated by commas: ${EVENT_TYPES.join(', ')}. By default all.`,
        rule: `types of events, separated by commas: ${EVENT_TYPES.join(', ')}`,
        examples: ['transaction.updated,activity.created'],
      }),
    ),
    limit: Type.Optional(
      Type.String({
        pattern: '^(?:|null|[1-9]|[1-9][0-9]|[1-4][0-9][0-9]|500)$',
        description: `The most events of an answer, ${LIMIT_DEFAULT} by default.`,
        rule: `a whole number from 1 to ${LIMIT_MAX} in plain digits`,
        examples: ['100'],
      }),
    ),
    wait: Type.Optional(
      Type.String({
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

export const parseEventsQuery = ({ after, types, limit, wait }: Query) => ({
  after: BigInt(givenText(after) ?? '0'),
  types: givenText(types)?.split(',') ?? null,
  limit: Number(givenText(limit) ?? LIMIT_DEFAULT),
  waitMs: Number(givenText(wait) ?? 0) * 1_000,
})
