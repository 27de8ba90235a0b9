// A Substrate account has another text for each SS58 prefix. If an address has the prefix of another network, the error
// gives the right text. This tests every field with an address, and the API document says which these are.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { encodeAddress } from '@polkadot/util-crypto'
import type { SubstrateNetwork } from '../../src/platform/networks.ts'
import { isLong } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { devAccount } from '../support/substrate.ts'
import { somePayload } from '../transactions/payloads.ts'
import { mail } from '../typed-data/data.ts'

const PREFIXES = { Polkadot: 0, Vara: 137 } as const satisfies Record<SubstrateNetwork, number>
/** The generic prefix, which many tools write. */
const NOWHERE = 'http://127.0.0.1:1'
const GENERIC = 42
const SECRET = { developer_secret: 'testnet-secret' }
const PIN = { user_pin: '493817' }

let service: Service
/** Alice's account, by prefix. */
let spelled: (prefix: number) => string

beforeAll(async () => {
  service = await startService({ rpcUrls: { Ethereum: NOWHERE, Polkadot: NOWHERE, Vara: NOWHERE } })
  const { publicKey } = await devAccount('Alice')
  spelled = (prefix) => encodeAddress(publicKey, prefix)
})

afterAll(() => service.close())

/** The query or the body of a request. */
type Request = (address: string, own: string, network: SubstrateNetwork) => object
type Case = readonly [operation: string, field: string, request: Request]

const unsigned = (to: string) => ({ unsigned_transaction: { to, value: '1' } })
const rules = (argument: string, value: string) => ({
  argument_rules: [
    { argument: 'value', operator: 'le', value: '5' },
    { argument, operator: 'eq', value },
  ],
})
/** The address of a contract, for tests of another field. */
const contractOf = (own: string, network: SubstrateNetwork) => (network === 'Vara' ? own : '7')

const coinOf = (network: SubstrateNetwork) => (network === 'Vara' ? 'VARA' : 'DOT')

const CASES: readonly Case[] = [
  ['POST /transactions/preview', 'from', (from, own) => ({ from, ...unsigned(own) })],
  ['POST /transactions/preview', 'unsigned_transaction.to', (to, own) => ({ from: own, ...unsigned(to) })],
  ['POST /transactions/preview-bundle', 'from', (from, to) => ({ from, unsigned_transactions: [{ to, value: '1' }] })],
  [
    'POST /transactions/preview-bundle',
    'unsigned_transactions.1.to',
    (to, own) => ({
      from: own,
      unsigned_transactions: [
        { to: own, value: '1' },
        { to, value: '1' },
      ],
    }),
  ],
  [
    'POST /transactions/preview-typed-data',
    'signer_wallet_address',
    (signer) => ({ signer_wallet_address: signer, typed_data: mail({}) }),
  ],
  ...['sign', 'sign-and-send'].flatMap((verb): readonly Case[] => [
    [
      `POST /transactions/${verb}`,
      'signer_wallet_address',
      (signer, own) => ({ signer_wallet_address: signer, ...unsigned(own), ...SECRET }),
    ],
    [
      `POST /transactions/${verb}`,
      'unsigned_transaction.to',
      (to, own) => ({ signer_wallet_address: own, ...unsigned(to), ...SECRET }),
    ],
  ]),
  [
    'POST /transactions/batch-sign-and-send',
    'signer_wallet_address',
    (signer, to) => ({ signer_wallet_address: signer, unsigned_transactions: [{ to, value: '1' }], ...SECRET }),
  ],
  [
    'POST /transactions/batch-sign-and-send',
    'unsigned_transactions.0.to',
    (to, own) => ({ signer_wallet_address: own, unsigned_transactions: [{ to, value: '1' }], ...SECRET }),
  ],
  [
    'POST /transactions/sign-message',
    'signer_wallet_address',
    (signer) => ({ signer_wallet_address: signer, message: 'hello', ...SECRET }),
  ],
  [
    'POST /transactions/sign-payload',
    'signer_wallet_address',
    (signer, own) => ({ signer_wallet_address: signer, payload: somePayload(own), ...SECRET }),
  ],
  [
    'POST /transactions/sign-authorization',
    'signer_wallet_address',
    (signer) => ({ signer_wallet_address: signer, authorization: { contract_address: '7' }, ...SECRET }),
  ],
  [
    'POST /transactions/sign-typed-data',
    'signer_wallet_address',
    (signer) => ({ signer_wallet_address: signer, typed_data: mail({}), ...SECRET }),
  ],
  [
    'POST /nfts/collections',
    'from',
    (from) => ({ from, name: 'Doors', symbol: 'DOOR', image_url: 'https://example.com/d.png', ...SECRET }),
  ],
  [
    'POST /nfts/mint',
    'from',
    (from, own, network) => ({ from, contract_address: contractOf(own, network), uri: 'ipfs://one', ...SECRET }),
  ],
  [
    'POST /nfts/mint',
    'recipient',
    (recipient, own, network) => ({
      ...{ from: own, contract_address: contractOf(own, network), recipient, uri: 'ipfs://one', ...SECRET },
    }),
  ],
  [
    'POST /nfts/collections',
    'royalty_recipient',
    (recipient, from) => ({
      ...{ from, name: 'Doors', symbol: 'DOOR', image_url: 'https://example.com/d.png', royalty_basis_points: 1 },
      ...{ royalty_recipient: recipient, ...SECRET },
    }),
  ],
  [
    'POST /nfts/batch-mint',
    'from',
    (from, own, network) => ({ from, contract_address: contractOf(own, network), mints: [{}], ...SECRET }),
  ],
  [
    'POST /nfts/batch-mint',
    'mints.0.recipient',
    (recipient, from, network) => ({
      ...{ from, contract_address: contractOf(from, network), mints: [{ recipient }], ...SECRET },
    }),
  ],
  [
    'POST /nfts/transfer',
    'from',
    (from, own, network) => ({
      ...{ from, contract_address: contractOf(own, network), recipient: own, token_id: '1', ...SECRET },
    }),
  ],
  [
    'POST /nfts/transfer',
    'recipient',
    (recipient, own, network) => ({
      ...{ from: own, contract_address: contractOf(own, network), recipient, token_id: '1', ...SECRET },
    }),
  ],
  ['POST /tokens', 'from', (from) => ({ from, name: 'Points', symbol: 'PNT', decimals: '6', ...SECRET })],
  ['POST /tokens/mint', 'from', (from) => ({ from, contract_address: 'asset:7', amount: '1', ...SECRET })],
  [
    'POST /tokens/mint',
    'recipient',
    (recipient, from) => ({ from, contract_address: 'asset:7', recipient, amount: '1', ...SECRET }),
  ],
  [
    'POST /tokens/transfer',
    'from',
    (from, recipient, network) => ({ from, token: coinOf(network), recipient, amount: '1', ...SECRET }),
  ],
  [
    'POST /tokens/transfer',
    'recipient',
    (recipient, from, network) => ({ from, token: coinOf(network), recipient, amount: '1', ...SECRET }),
  ],
  [
    'POST /tokens/batch-transfer',
    'from',
    (from, recipient, network) => ({
      ...{ from, token: coinOf(network), transfers: [{ recipient, amount: '1' }], ...SECRET },
    }),
  ],
  [
    'POST /tokens/batch-transfer',
    'transfers.0.recipient',
    (recipient, from, network) => ({
      ...{ from, token: coinOf(network), transfers: [{ recipient, amount: '1' }], ...SECRET },
    }),
  ],
  [
    'POST /policies',
    'wallet_address',
    (wallet, own) => ({ wallet_address: wallet, ...rules('to', own), ...SECRET, ...PIN }),
  ],
  [
    'POST /policies',
    'argument_rules.1.value',
    (to, own) => ({ wallet_address: own, ...rules('to', to), ...SECRET, ...PIN }),
  ],
  [
    'POST /policies',
    'argument_rules.1.value',
    (dest, own) => ({ wallet_address: own, ...rules('decodedInput.dest', dest), ...SECRET, ...PIN }),
  ],
  ['POST /policies/describe', 'wallet_address', (wallet, own) => ({ wallet_address: wallet, ...rules('to', own) })],
  ['POST /wallets/put-under-policies', 'address', (address) => ({ address, developer_secret: 'not-the-secret' })],
  ['POST /wallets/export', 'address', (address) => ({ address, ...SECRET })],
  [
    'POST /wallets/change-user-pin',
    'address',
    (address) => ({ address, old_user_pin: '493817', new_user_pin: '604913' }),
  ],
  ['POST /wallets/recovery-code', 'address', (address) => ({ address, ...PIN })],
  ['POST /wallets/recovery-code/remove', 'address', (address) => ({ address, ...PIN })],
  [
    'POST /wallets/passkey-secret',
    'address',
    (address) => ({ address, passkey_id: 'key-1', passkey_secret: 'A'.repeat(43), ...PIN }),
  ],
  ['POST /wallets/passkey-secret/remove', 'address', (address) => ({ address, passkey_id: 'key-1', ...PIN })],
  ['GET /wallets/user-secrets', 'address', (address) => ({ address })],
  ['GET /wallets/get-by-address', 'address', (address) => ({ address })],
  ['GET /activity', 'wallet_address', (wallet_address) => ({ wallet_address })],
  ['GET /transactions', 'wallet_address', (wallet_address) => ({ wallet_address })],
  ['GET /tokens/balances', 'wallet_address', (wallet_address) => ({ wallet_address })],
  ['GET /nfts', 'wallet_address', (wallet_address) => ({ wallet_address })],
  ['GET /nfts/collections', 'wallet_address', (wallet_address) => ({ wallet_address })],
  ['GET /policies', 'wallet_address', (wallet_address) => ({ wallet_address })],
  ['GET /addresses/metadata', 'addresses.1', (address, own) => ({ addresses: `${own},${address}` })],
]

/** A collection on Polkadot is no account, so it gets another error. */
const PROGRAM_CASES: readonly Case[] = [
  ['POST /nfts/mint', 'contract_address', (contract_address) => ({ contract_address, uri: 'ipfs://one', ...SECRET })],
  ['POST /nfts/batch-mint', 'contract_address', (contract_address) => ({ contract_address, mints: [{}], ...SECRET })],
  [
    'POST /nfts/transfer',
    'contract_address',
    (contract_address, own) => ({ from: own, contract_address, recipient: own, token_id: '1', ...SECRET }),
  ],
  ['GET /nfts', 'contract_address', (contract_address) => ({ contract_address })],
  ['GET /nfts/collection-by-address', 'contract_address', (contract_address) => ({ contract_address })],
]

const ask = (operation: string, request: object) => {
  const [method = '', path = ''] = operation.split(' ')
  if (method === 'POST') return service.post(path, request)
  return service.get(path, request as Record<string, string>)
}

const told = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json.code, json.error]

for (const network of ['Polkadot', 'Vara'] as const) {
  const prefix = PREFIXES[network]
  const cases = network === 'Vara' ? [...CASES, ...PROGRAM_CASES] : CASES
  // In the suite each field is asked on one of the two networks.
  const asked = cases.filter((_, index) => isLong || index % 2 === (network === 'Vara' ? 1 : 0))
  test.each(asked)(
    `on ${network}: %s refuses another prefix in %s, and says what is right`,
    async (operation, field, request) => {
      const own = spelled(prefix)
      for (const wrong of [GENERIC, network === 'Vara' ? 0 : 137, 2]) {
        const answer = await ask(operation, { network, ...request(spelled(wrong), own, network) })
        expect(told(answer)).toEqual([
          400,
          'network_mismatch',
          `Field "${field}" has the SS58 prefix ${wrong}; right is an SS58 address with the prefix ${prefix} of ${network}. The same account is ${own} here.`,
        ])
      }
    },
  )
}

test('a login accepts an account with any prefix, and explains a malformed address', async () => {
  const begin = (sign_in_wallet: string) => service.post('/users/login-with-wallet', { sign_in_wallet })
  for (const prefix of [0, GENERIC, 137, 2]) expect((await begin(spelled(prefix))).status).toBe(200)
  const mistyped = spelled(GENERIC).replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
  expect(told(await begin(mistyped))).toEqual([
    ...[400, 'address_invalid'],
    'Field "sign_in_wallet" must be an EVM address in one case or with a valid checksum, an SS58 address with a valid checksum, or eip155:CHAIN_ID:ADDRESS for a contract.',
  ])
})

describe('without a network', () => {
  const cases = CASES.filter(
    ([operation, field]) =>
      /(^from|signer_wallet_address)$/.test(field) && !/preview|collections|tokens$/.test(operation),
  )
  test.each(cases)('%s gives the text of the account in %s for each network', async (operation, field, request) => {
    const answer = await ask(operation, request(spelled(GENERIC), spelled(0), 'Polkadot'))
    const sentences = Object.entries(PREFIXES).map(
      ([network, prefix]) =>
        `Field "${field}" has the SS58 prefix 42; right is an SS58 address with the prefix ${prefix} of ${network}. The same account is ${spelled(prefix)} here.`,
    )
    expect(told(answer)).toEqual([400, 'network_mismatch', sentences.join(' ')])
    const mistyped = spelled(0).replace(/.$/, (last) => (last === '5' ? '6' : '5'))
    expect(told(await ask(operation, request(mistyped, spelled(0), 'Polkadot')))).toEqual([
      ...[400, 'address_invalid'],
      `Field "${field}" must be an SS58 address with a valid checksum.`,
    ])
  })
})

test('every request field with an address is tested', async () => {
  const { json: document } = await service.call('/openapi/json')
  const walked = new Set(
    [...CASES, ...PROGRAM_CASES].map(([operation, field]) => `${operation} ${field.replace(/\.\d+/g, '')}`),
  )
  const isAddress = (name: string) => /(^|_)(address|addresses|from|to|recipient)$/.test(name)
  // Ids of users and assets, times, contracts of the EVM networks alone, and a payload, in which dapps write any
  // prefix.
  const isNone = (found: string) =>
    / (payload\.address|require_approval\.from|token_limits\.contract_address|authorization\.contract_address|.*\.accessList\.address|created_from)$|^POST \/tokens\/mint contract_address$/.test(
      found,
    )
  const found: string[] = []
  // biome-ignore lint/suspicious/noExplicitAny: JSON
  const walk = (schema: any, path: string): void => {
    const each = schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)]
    for (const [name, property] of Object.entries<object>(each?.properties ?? {})) {
      if (isAddress(name)) found.push(`${path}${name}`)
      walk(property, `${path}${name}.`)
    }
    if (each?.items !== undefined) walk(each.items, path)
    for (const one of [...(each?.anyOf ?? []), ...(each?.allOf ?? [])]) walk(one, path)
  }
  // biome-ignore lint/suspicious/noExplicitAny: JSON
  for (const [path, methods] of Object.entries<any>(document.paths)) {
    // biome-ignore lint/suspicious/noExplicitAny: JSON
    for (const [method, operation] of Object.entries<any>(methods)) {
      const own = `${method.toUpperCase()} ${path} `
      for (const { name } of operation.parameters ?? []) if (isAddress(name)) found.push(`${own}${name}`)
      walk(operation.requestBody?.content['application/json']?.schema, own)
    }
  }
  expect(found.length).toBeGreaterThan(20)
  expect([...new Set(found)].filter((each) => !walked.has(each) && !isNone(each)).sort()).toEqual([])
})
