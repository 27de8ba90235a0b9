// Schema parts that several resources share. The `rule` of a field completes the sentence 'Field "x" must be …'.

import {
  Kind,
  type ObjectOptions,
  type Static,
  type TProperties,
  type TUnsafe,
  Type,
  TypeRegistry,
} from '@sinclair/typebox'
import { CONTROL_MODES, type Network, TRANSACTION_STATUSES, type TransactionStatus } from '../../../db/words.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { hasVisibleLines, isVisible } from './text.ts'

export const closed = { additionalProperties: false } as const

/** An object that refuses other fields than these. If each field has an example, it has one too. */
export const ClosedObject = <Fields extends TProperties>(
  title: string,
  fields: Fields,
  options: ObjectOptions = {},
) => {
  const example = Object.entries(fields).map(([name, { examples }]) => [name, Array.isArray(examples) && examples[0]])
  const examples = example.every(([, value]) => value) ? { examples: [Object.fromEntries(example)] } : {}
  return Type.Object(fields, { ...closed, title, ...examples, ...options })
}

TypeRegistry.Set('OneOf', (schema: { readonly enum: readonly unknown[] }, value) => schema.enum.includes(value))

/** One of some words. (The framework's own enumeration would insert its first word for an absent field.) */
export const OneOf = <const Words extends readonly string[]>(
  words: Words,
  options: { readonly description: string; readonly examples?: string[] },
): TUnsafe<Words[number]> =>
  Type.Unsafe<Words[number]>({
    [Kind]: 'OneOf',
    type: 'string',
    enum: words,
    rule: `one of ${words.join(', ')}`,
    ...options,
  })

// The networks are known only from the configuration, so `checkNetwork` checks them, and the document lists them.
TypeRegistry.Set('Network', (_, value) => value !== undefined)

export const NetworkField = Type.Unsafe<Network>({
  [Kind]: 'Network',
  type: 'string',
  isNetwork: true,
  title: 'Network',
  examples: ['Ethereum'],
})

export const ControlModeField = OneOf(CONTROL_MODES, {
  description: 'Who controls the wallet: the developer with the developer secret, or the user with the PIN.',
})

export const StatusField = OneOf(TRANSACTION_STATUSES, {
  description: '`submitted` (recorded) → `pending` (broadcast) → `success` or `failed`.',
})

type TextLength = { readonly minLength: number; readonly maxLength: number }

/** Counts characters as JSON Schema and people do: an emoji is one, although JavaScript counts two. */
const isTextOfLength = ({ minLength, maxLength }: TextLength, value: unknown): value is string =>
  typeof value === 'string' &&
  value.length >= minLength &&
  (value.length <= maxLength || (value.length <= 2 * maxLength && [...value].length <= maxLength))

TypeRegistry.Set('Text', isTextOfLength)

export const Text = (length: TextLength, options: { readonly description: string; readonly examples: string[] }) =>
  Type.Unsafe<string>({
    [Kind]: 'Text',
    type: 'string',
    ...length,
    rule:
      length.minLength === 0
        ? `a text of at most ${length.maxLength} characters`
        : `a text of ${length.minLength} to ${length.maxLength} characters`,
    ...options,
  })

TypeRegistry.Set('VisibleText', (length: TextLength, value) => isTextOfLength(length, value) && isVisible(value))
TypeRegistry.Set('VisibleLines', (length: TextLength, value) => isTextOfLength(length, value) && hasVisibleLines(value))

/**
 * Each text that a caller gives for people to read. No name may look like another: characters that hide or reorder are
 * refused. Answers have `Text`, as earlier names may have such characters.
 */
export const VisibleText = (...[length, options]: Parameters<typeof Text>) => {
  const text = Text(length, options)
  return { ...text, [Kind]: 'VisibleText', rule: `${text.rule}, none of them hidden` }
}

export const VisibleLines = (...text: Parameters<typeof Text>) => ({ ...VisibleText(...text), [Kind]: 'VisibleLines' })

TypeRegistry.Set('FileBytes', (_, value) => value instanceof Uint8Array)

export const FileField = (description: string) =>
  Type.Unsafe<Uint8Array>({ [Kind]: 'FileBytes', type: 'string', format: 'binary', description, rule: 'a file' })

/** A name or an owner id that a caller gives. */
export const NewName = (description: string, example: string) =>
  VisibleText({ minLength: 1, maxLength: 256 }, { description, examples: [example] })

/** A name or an owner id, in answers and look-ups. */
export const ShortText = (description: string, example: string) =>
  Text({ minLength: 1, maxLength: 256 }, { description, examples: [example] })

export const AddressField = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 128,
    description,
    rule: 'an address of the network with a valid checksum, or on EVM networks in lower case',
    examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
  })

export const SenderField = Type.Optional(
  AddressField("The sending wallet; by default the project's own wallet on the network."),
)

const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'
const UUID_TEXT = { rule: 'a UUID', examples: ['5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f'] }

export const UuidField = (description: string) => Type.String({ pattern: `^${UUID}$`, description, ...UUID_TEXT })

/** In a query string, an empty value and `null` mean absent. */
export const OptionalUuidText = (description: string) =>
  Type.Optional(Type.String({ pattern: `^(?:|null|${UUID})$`, description, ...UUID_TEXT }))

export const DeveloperSecretField = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'Proves control of developer-controlled wallets. On testnet: `testnet-secret`.',
  rule: 'a text of 1 to 256 characters',
  examples: ['testnet-secret'],
})

export const UserPinField = Type.String({
  pattern: '^[0-9]{6}$',
  description: 'Proves control of user-controlled wallets.',
  rule: 'exactly 6 digits',
  examples: ['493817'],
})

/** The vault reads it, and finds typing errors. */
export const UserSecretField = Type.String({
  pattern: '^[A-Za-z0-9_ -]{26,128}$',
  description: 'Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.',
  rule: 'a recovery code, or 32 bytes in base64url',
  examples: ['99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX'],
})

export const UserCredentialFields = {
  user_pin: Type.Optional(UserPinField),
  user_secret: Type.Optional(UserSecretField),
}

export const CredentialFields = {
  developer_secret: Type.Optional(DeveloperSecretField),
  ...UserCredentialFields,
}

/** Fields of requests that a policy may allow: the credentials, and the approval. */
export const SigningFields = {
  ...CredentialFields,
  approval_id: Type.Optional(
    UuidField('The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.'),
  ),
}

export const SendingFields = {
  ...SigningFields,
  allow_repeat: Type.Optional(
    Type.Boolean({
      description: 'Send it even if it is `repeat_refused`.',
      examples: [true],
    }),
  ),
}

export const WaitingApproval = ClosedObject('WaitingApproval', {
  approval_id: UuidField('Send the same request again with it, once it is granted.'),
  status: Type.Literal('waiting', { examples: ['waiting'] }),
  expires_at: Type.String({
    format: 'date-time',
    description: 'It must be granted and used before this time.',
    examples: ['2026-01-31T12:00:00.000Z'],
  }),
})

/**
 * For the document: exactly one credential, those that the wallet needs, one of the user's, or one in place of the old
 * PIN. The vault checks it, because a missing credential has an error code of its own.
 */
export type CredentialsTaken = 'one' | 'one_or_both' | 'of_user' | 'old_of_user'

export const takesCredentials = (credentials: CredentialsTaken) => ({ credentials })

/** A text, so that `0x10` and `1e3` are refused. An empty value and `null` mean absent. */
const PageText = (description: string, digits: number) =>
  Type.Optional(
    Type.String({
      pattern: `^(?:|null|[1-9][0-9]{0,${digits - 1}})$`,
      description,
      rule: 'a whole number from 1 in plain digits',
      examples: ['1'],
    }),
  )

const DEFAULT_PAGE_SIZE = 20
const MAX_PAGE_SIZE = 100

export const PagingFields = {
  page: PageText('The page, from 1.', 6),
  page_size: Type.Optional(
    Type.String({
      pattern: '^(?:|null|[1-9]|[1-9][0-9]|100)$',
      description: `Items per page, ${DEFAULT_PAGE_SIZE} by default.`,
      rule: `a whole number from 1 to ${MAX_PAGE_SIZE} in plain digits`,
      examples: ['20'],
    }),
  ),
}

type Paging = { readonly limit: number; readonly offset: number }

type PagingQuery = { readonly page?: string; readonly page_size?: string }

export const pagingOf = (query: PagingQuery): Paging => {
  const limit = Number.parseInt(query.page_size ?? '', 10) || DEFAULT_PAGE_SIZE
  const page = Number.parseInt(query.page ?? '', 10) || 1
  return { limit, offset: (page - 1) * limit }
}

/**
 * Paging of a list that can also begin behind an item. PostgreSQL passes everything before a numbered page.
 * @param input.from the field that names the item.
 */
export const cappedPaging = ({ itemsMax, from }: { readonly itemsMax: number; readonly from: 'before' | 'after' }) => ({
  fields: { ...PagingFields, page: PageText(`The page, from 1. It must begin within the first ${itemsMax} items.`, 6) },
  /** @throws page_too_deep */
  of: (query: PagingQuery): Paging => {
    const paging = pagingOf(query)
    if (paging.offset < itemsMax) return paging
    throw new AppError(
      'page_too_deep',
      `Field "page" must begin within the first ${itemsMax} items; from there go on with "${from}", the last item seen, and "page" from 1.`,
    )
  },
})

const IDEMPOTENT = {
  parameters: [
    {
      name: 'Idempotency-Key',
      in: 'header' as const,
      required: false,
      description:
        'At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`.',
      schema: { type: 'string' as const, minLength: 1, maxLength: 200 },
    },
  ],
}

/** A route's description, and the error codes of its own that it can answer (codes.ts). */
type RouteDetail = {
  readonly tags: string[]
  readonly summary: string
  readonly description: string
  readonly errorCodes: readonly ErrorCode[]
  readonly headerSet?: HeaderSet
}

/** Unusual headers of a 200 answer: how long caches may keep it, or cookies that it deletes. */
export type HeaderSet = 'kept a while' | 'kept for ever' | 'expired cookies'

/** Descriptions of one resource's routes: `idempotent` with `Idempotency-Key`, `withHeaders` with unusual headers. */
export const describedAs = (tag: string) => {
  const detail = (
    summary: string,
    description: string,
    errorCodes: readonly ErrorCode[] = [],
  ): { readonly detail: RouteDetail } => ({ detail: { tags: [tag], summary, description, errorCodes } })
  const idempotent = (summary: string, description: string, errorCodes: readonly ErrorCode[]) => ({
    detail: { ...detail(summary, description, errorCodes).detail, ...IDEMPOTENT },
  })
  const withHeaders = (headerSet: HeaderSet, described: { readonly detail: RouteDetail }) => ({
    detail: { ...described.detail, headerSet },
  })
  return { detail, idempotent, withHeaders }
}

export const Success = ClosedObject('Success', { success: Type.Literal(true) })

export const SUCCESS = { success: true } as const

export const successOf = async (work: Promise<void>): Promise<typeof SUCCESS> => {
  await work
  return SUCCESS
}

export const TransactionResult = ClosedObject('NftOperationResult', {
  transaction_id: UuidField('Our id of the transaction, which never changes.'),
  network: NetworkField,
  status: StatusField,
})
export type TransactionResult = Static<typeof TransactionResult>

export const shownSubmitted = (submitted: {
  readonly transactionId: string
  readonly network: Network
  readonly status: TransactionStatus
}): TransactionResult => ({
  transaction_id: submitted.transactionId,
  network: submitted.network,
  status: submitted.status,
})
