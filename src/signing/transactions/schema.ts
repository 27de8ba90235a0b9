import { type Static, Type } from '@sinclair/typebox'
import { FAILURE_CODES, WAITS_FOR } from '../../../db/words.ts'
import {
  AddressField,
  ClosedObject,
  CredentialFields,
  closed,
  NetworkField,
  OneOf,
  SendingFields,
  SigningFields,
  StatusField,
  takesCredentials,
  UuidField,
} from '../../platform/http/schema.ts'
import { EXAMPLE_SIGNER, OrNull, Quantity, SignerFields, signedExample } from '../schema.ts'
import { BATCH_MAX } from '../wallets/signer.ts'

const HASH = '0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b'

/** parseIntent checks that the number of digits is even: a pattern that counts pairs fails on megabytes. */
const HexData = (description: string, example: string) =>
  Type.String({
    pattern: '^(?:0x[0-9a-fA-F]*)?$',
    description,
    rule: '0x and an even number of hex digits',
    examples: [example],
  })

/** Checked later: an id is below 2^32, hex has whole bytes, and the asset exists. */
const FEE_ASSET = '^(?:(?:asset:)?(?:0|[1-9][0-9]{0,9})|foreign:0x[0-9a-f]{2,1024})$'

const AccessList = Type.Array(
  Type.Object(
    {
      address: AddressField('A contract.'),
      storageKeys: Type.Array(
        Type.String({
          pattern: '^0x[0-9a-fA-F]{64}$',
          description: 'A storage slot of it, 32 bytes.',
          rule: '0x and 64 hex digits',
          examples: [`0x${'0'.repeat(63)}1`],
        }),
        { maxItems: 1024, description: 'At most 1024 in all.', rule: 'a list of at most 1024 storage keys' },
      ),
    },
    closed,
  ),
  {
    maxItems: 256,
    description:
      'EIP-2930: contracts and storage slots that the transaction pays for in advance. Only on the EVM networks, and only to sign.',
    rule: 'a list of at most 256 addresses with their storage keys',
  },
)

export const UnsignedTransaction = ClosedObject(
  'UnsignedTransaction',
  {
    to: Type.Optional(
      AddressField('Destination; absent for a contract creation, and on Substrate networks for a call in `input`.'),
    ),
    value: Type.Optional(Quantity('Amount of the native coin in base units (wei, planck).', '1000000000000000')),
    input: Type.Optional(
      HexData(
        'Call data; on Substrate networks a SCALE-encoded call of the runtime, or with `to` a message to a program.',
        '0x',
      ),
    ),
    gasLimit: Type.Optional(Quantity('Gas limit; on Substrate networks only for messages to programs.', '21000')),
    maxPriorityFeePerGas: Type.Optional(
      Quantity('Priority fee cap, wei per gas; on Substrate networks the tip, in planck.', '1000000000'),
    ),
    maxFeePerGas: Type.Optional(Quantity('Fee cap, wei per gas; only on the EVM networks.', '30000000000')),
    gasPrice: Type.Optional(
      Quantity(
        'Price of the gas, wei; only on the EVM networks, and only to sign. It makes a transaction of type 0, or with `accessList` of type 1; the fee caps must then be absent.',
        '30000000000',
      ),
    ),
    accessList: Type.Optional(AccessList),
    type: Type.Optional(
      Type.String({
        pattern: '^(?:0x)?[012]$',
        description:
          'Only on the EVM networks. The type follows from the other fields; if it is given, it must be the same.',
        rule: '"0", "1" or "2"',
        examples: ['2'],
      }),
    ),
    nonce: Type.Optional(
      Quantity('Transaction count of the sender: for a wallet of type `contract`, of its key.', '0'),
    ),
    era: Type.Optional(
      Quantity(
        'Only on Substrate networks: how many blocks it may wait, a power of two; by default about five minutes.',
        '64',
      ),
    ),
    asset_id: Type.Optional(
      Type.String({
        pattern: FEE_ASSET,
        description:
          'Only on a Substrate network whose runtime takes fees in assets: the fee is paid in this asset. The id of an asset of pallet Assets in plain decimal digits, or the name of an asset as in answers (`asset:1984`, `foreign:0x…`). If absent, the fee is paid in the coin.',
        rule: 'the id of an asset of pallet Assets in plain decimal digits, below 2^32, or "foreign:0x" and the Location of a foreign asset in lower-case hex',
        examples: ['1984'],
      }),
    ),
  },
  {
    description: 'Absent fields are filled in from the chain.',
    examples: [{ to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1000000000000000' }],
  },
)

const ofSigned = (title: string) => ({
  ...closed,
  title,
  ...takesCredentials('one'),
  examples: [
    signedExample({
      unsigned_transaction: { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1000000000000000' },
    }),
  ],
})

export const SignBody = Type.Object(
  {
    ...SignerFields,
    unsigned_transaction: UnsignedTransaction,
    ...SigningFields,
  },
  ofSigned('SignTransaction'),
)

export const SendBody = Type.Object({ ...SignBody.properties, ...SendingFields }, ofSigned('SendTransaction'))

const MESSAGE_TYPES = ['string', 'bytes'] as const

export const SignMessageBody = ClosedObject(
  'SignMessage',
  {
    ...SignerFields,
    message: Type.String({
      description: 'A text, or `0x` hex of whole bytes; it may be empty (`""`, or `0x` for bytes).',
      examples: ['Strongroom says hello.'],
    }),
    message_type: Type.Optional(
      OneOf(MESSAGE_TYPES, {
        description:
          '`string`, the default: the message is the text in UTF-8, even if it looks like hex; `bytes`: the bytes of the hex.',
      }),
    ),
    ...CredentialFields,
  },
  {
    ...takesCredentials('one_or_both'),
    examples: [
      signedExample({ message: 'Strongroom says hello.' }),
      {
        network: 'Ethereum',
        signer_wallet_address: EXAMPLE_SIGNER,
        message: '0xdeadbeef',
        message_type: 'bytes',
        user_pin: '493817',
      },
    ],
  },
)

export const SignedMessage = Type.Object(
  {
    signature: Type.String({
      description:
        'Hex. For a wallet of type `eoa` by EIP-191, 65 bytes; for type `contract` by ERC-1271, wrapped as in ERC-6492 until it is deployed. On Substrate networks sr25519, 64 bytes, over the message between `<Bytes>` and `</Bytes>`.',
      examples: [`0x${'5e'.repeat(64)}1b`],
    }),
  },
  { ...closed, title: 'SignedMessage' },
)

export const SignAuthorizationBody = ClosedObject(
  'SignAuthorization',
  {
    network: Type.Optional(NetworkField),
    signer_wallet_address: AddressField('A wallet of the project, of type `eoa`.'),
    authorization: Type.Object(
      {
        contract_address: AddressField(
          'The delegate, whose code the account then runs: one that the operator allowed for the project. The zero address ends a delegation.',
        ),
        chain_id: Type.Optional(Quantity('If it is given, it must be the chain id of the network.', '11155111')),
        nonce: Type.Optional(
          Quantity(
            'Transaction count of the account when a block takes the authorisation. By default the next one, for a transaction that another account sends. If the account itself sends it, the nonce of the transaction plus 1.',
            '0',
          ),
        ),
      },
      closed,
    ),
    ...CredentialFields,
  },
  {
    ...takesCredentials('one_or_both'),
    examples: [signedExample({ authorization: { contract_address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' } })],
  },
)

const Word = (name: string) =>
  Type.String({ description: `${name} of the signature, 32 bytes.`, examples: [`0x${'5e'.repeat(32)}`] })

export const SignedAuthorization = ClosedObject('SignedAuthorization', {
  chain_id: Type.Integer({ examples: [11155111] }),
  address: AddressField('The delegate.'),
  nonce: Type.Integer({ description: 'For which transaction count of the account it is valid.', examples: [0] }),
  y_parity: Type.Integer({ description: '0 or 1.', examples: [1] }),
  r: Word('r'),
  s: Word('s'),
})

export const BatchBody = ClosedObject(
  'BatchTransactions',
  {
    network: Type.Optional(NetworkField),
    signer_wallet_address: AddressField('A wallet of the project, of type `contract`.'),
    unsigned_transactions: Type.Array(UnsignedTransaction, {
      minItems: 1,
      maxItems: BATCH_MAX,
      description: 'In order, each with `to`, `value` and `input`. Gas, fees and nonce are chosen for the whole batch.',
      rule: `a list of 1 to ${BATCH_MAX} transactions`,
    }),
    ...SendingFields,
  },
  {
    ...takesCredentials('one'),
    examples: [
      {
        network: 'Ethereum',
        signer_wallet_address: '0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0',
        unsigned_transactions: [
          { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1000000000000000' },
          { to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', value: '1000000000000000' },
        ],
        developer_secret: 'testnet-secret',
      },
    ],
  },
)

export const SpeedUpBody = ClosedObject(
  'SpeedUpTransaction',
  {
    transaction_id: UuidField('The transaction_id of an answer; it is in no block.'),
    maxFeePerGas: Type.Optional(
      Quantity(
        'Fee cap, wei per gas, at least a tenth above what was sent; chosen by the service if absent.',
        '60000000000',
      ),
    ),
    maxPriorityFeePerGas: Type.Optional(Quantity('Priority fee cap, wei per gas; same rules.', '2000000000')),
    ...SigningFields,
  },
  {
    ...takesCredentials('one'),
    examples: [{ transaction_id: '0a3f9c31-6a0e-4d8c-b6f2-743b06c0a4c2', developer_secret: 'testnet-secret' }],
  },
)

/** For what is done with a recorded transaction without a credential. */
export const WaitingBody = ClosedObject(
  'WaitingTransaction',
  { transaction_id: UuidField('The transaction_id of an answer; it is in no block.') },
  { examples: [{ transaction_id: '0a3f9c31-6a0e-4d8c-b6f2-743b06c0a4c2' }] },
)

export const RawTransaction = Type.String({
  title: 'RawTransaction',
  description:
    'The raw signed transaction, as `eth_sendRawTransaction` takes it; on Substrate networks the extrinsic, as `author_submitExtrinsic` takes it.',
  examples: [
    '0x02f8720180843b9aca008506fc23ac008252089470997970c51812dc3a010c7d01b50e0d17dc79c887038d7ea4c6800080c001a07858ad1b4e8606c73d1cb38dcb446ce8d5e170de221b79e84e5f736b641a4abca0401146451658c50ec53c0b3d22f5a32f1b13cd2d4282ef9449115b80e207a8eb',
  ],
})

export const StatusByHashQuery = Type.Object(
  {
    network: NetworkField,
    transaction_hash: Type.String({
      pattern: '^0x[0-9a-fA-F]{64}$',
      description:
        'The hash of any transaction on the network; on Substrate networks of one that is recorded here, in the pool of the node, or in one of its newest 64 final blocks.',
      rule: '0x and 64 hex digits',
      examples: [HASH],
    }),
  },
  closed,
)

const HashOrNull = Type.Union([Type.String(), Type.Null()], { description: 'null until broadcast.', examples: [HASH] })
const AddressOrNull = OrNull(
  Type.String(),
  'Of a contract creation; the id of a collection that a Substrate runtime created; else null.',
)

export const TransactionStatusByHash = ClosedObject(
  'TransactionStatus',
  { transaction_hash: HashOrNull, network: NetworkField, status: StatusField, contract_address: AddressOrNull },
  { examples: [{ transaction_hash: HASH, network: 'Ethereum', status: 'success', contract_address: null }] },
)

export const StatusByIdQuery = Type.Object({ id: UuidField('The transaction_id of an answer.') }, closed)

export const TransactionStatusById = ClosedObject(
  'TransactionStatusById',
  {
    transaction_id: UuidField('Our id of the transaction.'),
    transaction_hash: HashOrNull,
    network: NetworkField,
    status: StatusField,
    contract_address: AddressOrNull,
    waiting: Type.Optional(
      OneOf(WAITS_FOR, {
        description:
          'Why a transaction is in no block yet, if there is a special reason. `waiting_for_fees`: blocks ask for more than it offers at the moment; its fee is raised as far as possible, and it is not given up before fees fall. `nonce_used`: another transaction of the same key used its nonce; when that is final, the status becomes failed (`nonce_taken`). `unpayable`: its signer has too few coins for it; it goes on when that has more. `refused`: nodes refuse it for another reason, which `waiting_reason` says; it is sent again until it is given up, unless you cancel it before.',
      }),
    ),
    waiting_reason: Type.Optional(
      Type.String({
        description: 'Why nodes do not take it, for people; only with `unpayable` and `refused`.',
        examples: ['Nodes refuse it: it has more bytes than nodes take.'],
      }),
    ),
    error: Type.Optional(Type.String({ description: 'Why it failed.' })),
    code: Type.Optional(
      OneOf(FAILURE_CODES, { description: 'Why it failed, for programs; docs/errors.md says what to do about each.' }),
    ),
  },
  {
    examples: [
      {
        transaction_id: '0a3f9c31-6a0e-4d8c-b6f2-743b06c0a4c2',
        transaction_hash: HASH,
        network: 'Ethereum',
        status: 'success',
        contract_address: null,
      },
    ],
  },
)
export type TransactionStatusById = Static<typeof TransactionStatusById>
