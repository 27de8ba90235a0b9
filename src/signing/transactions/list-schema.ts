import { type Static, Type } from '@sinclair/typebox'
import { TRANSACTION_KINDS, TRANSACTION_STATUSES, type TransactionStatus } from '../../../db/words.ts'
import {
  AddressField,
  ClosedObject,
  closed,
  NetworkField,
  OneOf,
  OptionalUuidText,
  PagingFields,
  pagingOf,
} from '../../platform/http/schema.ts'
import { parseTime, TIME_PATTERN, TIME_RULE } from '../../platform/http/text.ts'
import { givenText, TimeField } from '../schema.ts'
import { TransactionStatusById } from './schema.ts'

/** In a query string, an empty value and `null` mean absent. */
const TimeText = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: `^(?:|null|${TIME_PATTERN})$`,
      description,
      rule: TIME_RULE,
      examples: ['2026-01-31T12:00:00Z'],
    }),
  )

const STATUS = `(?:${TRANSACTION_STATUSES.join('|')})`

export const ListTransactionsQuery = Type.Object(
  {
    network: Type.Optional(NetworkField),
    wallet_address: Type.Optional(
      AddressField(
        'Only those of this wallet. `network` is required if the caller has wallets with this address on several networks.',
      ),
    ),
    status: Type.Optional(
      Type.String({
        pattern: `^(?:|null|${STATUS}(?:,${STATUS}){0,3})$`,
        description: `Only those with one of these statuses: ${TRANSACTION_STATUSES.map((each) => `\`${each}\``).join(', ')}; several are separated by commas.`,
        rule: `one or several of ${TRANSACTION_STATUSES.join(', ')}, separated by commas`,
        examples: ['submitted,pending'],
      }),
    ),
    created_from: TimeText('Only those recorded at this time or later.'),
    created_until: TimeText('Only those recorded before this time.'),
    before: OptionalUuidText('Only those older than the one with this `transaction_id`: the last item seen.'),
    page_size: PagingFields.page_size,
  },
  closed,
)

const isStatus = (word: string): word is TransactionStatus => TRANSACTION_STATUSES.some((each) => each === word)

/** What a query asks for. @throws invalid_input for a day that does not exist. */
export const parseListQuery = (query: typeof ListTransactionsQuery.static) => {
  const time = (field: 'created_from' | 'created_until') => {
    const text = givenText(query[field])
    return text === null ? null : parseTime({ text, field })
  }
  return {
    network: query.network ?? null,
    walletAddress: query.wallet_address ?? null,
    statuses: (givenText(query.status)?.split(',') ?? []).filter(isStatus),
    createdFrom: time('created_from'),
    createdUntil: time('created_until'),
    before: givenText(query.before),
    limit: pagingOf(query).limit,
  }
}

export const ListedTransaction = ClosedObject(
  'ListedTransaction',
  {
    ...TransactionStatusById.properties,
    wallet_address: AddressField('The wallet that it is of.'),
    kind: OneOf(TRANSACTION_KINDS, {
      description:
        'The endpoint that recorded it; `deployment`: that of a contract wallet, which goes before its first transaction.',
      examples: ['send'],
    }),
    created_at: TimeField('When it was recorded: ISO 8601, UTC.'),
  },
  {
    examples: [
      {
        ...TransactionStatusById.examples[0],
        wallet_address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
        kind: 'send',
        created_at: '2026-01-31T12:00:00.000Z',
      },
    ],
  },
)
export type ListedTransaction = Static<typeof ListedTransaction>
