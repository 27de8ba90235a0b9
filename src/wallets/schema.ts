import { type Static, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { WALLET_TYPES } from '../../db/words.ts'
import {
  AddressField,
  ControlModeField,
  CredentialFields,
  closed,
  NetworkField,
  OneOf,
  PagingFields,
  ShortText,
  UuidField,
} from '../http.ts'

export const Wallet = Type.Object(
  {
    id: UuidField("The wallet's id."),
    created_at: Type.String({
      format: 'date-time',
      description: 'ISO 8601, UTC.',
      examples: ['2026-01-31T12:00:00.000Z'],
    }),
    network: NetworkField,
    name: ShortText('The name given at creation.', 'Main wallet'),
    owner_id: ShortText('The user that the wallet belongs to, as you name them.', 'user-1'),
    address: AddressField("The wallet's address on the network."),
  },
  { ...closed, title: 'Wallet' },
)
export type Wallet = Static<typeof Wallet>

export const CreateWalletBody = Type.Object(
  {
    network: NetworkField,
    name: ShortText("The wallet's name.", 'Main wallet'),
    owner_id: Type.Optional(
      ShortText(
        'Who the wallet is for; one owner has one seed phrase on all networks. A fresh UUID where absent.',
        'user-1',
      ),
    ),
    control_mode: ControlModeField,
    type: Type.Optional(
      OneOf(WALLET_TYPES, {
        description:
          '`eoa`, the default: an address of the key itself; `contract`: a smart contract that the key controls.',
      }),
    ),
    ...CredentialFields,
  },
  {
    ...closed,
    title: 'CreateWallet',
    examples: [
      {
        network: 'Ethereum',
        name: 'Main wallet',
        owner_id: 'user-1',
        control_mode: 'developer',
        developer_secret: 'testnet-secret',
      },
    ],
  },
)
export type CreateWalletBody = Static<typeof CreateWalletBody>

export const GetByIdQuery = t.Object({ network: NetworkField, id: UuidField("The wallet's id.") }, closed)

export const GetByAddressQuery = t.Object(
  { network: NetworkField, address: AddressField("The wallet's address.") },
  closed,
)

const OwnerId = ShortText("The wallet's owner.", 'user-1')

/** Clients send `ownerID`; `owner_id` is the same. */
export const GetByOwnerIdQuery = t.Object(
  { network: NetworkField, ownerID: t.Optional(OwnerId), owner_id: t.Optional(OwnerId) },
  closed,
)

export const ListWalletsQuery = t.Object({ network: NetworkField, ...PagingFields }, closed)
