import { describe, expect, test } from 'bun:test'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { createApp } from '../../src/api/app.ts'
import { isLong } from '../support/long.ts'
import { countRows } from '../support/rows.ts'
import type { Call } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** Changes the case of one letter. */
const BROKEN_CHECKSUM = '0x70997970c51812dc3A010C7d01b50e0d17dc79C8'

// No request here may reach a node: bad input is refused first.
const nowhere = 'http://127.0.0.1:1'
const service = await shared(
  startService({
    rpcUrls: { Ethereum: nowhere, Polygon: nowhere, Base: nowhere, Avalanche: nowhere },
  }),
)

/** The suite counts the rows again after the last case of bad input, and the long run after each case. */
const before = await countRows(service.database.url)

const wallet = { network: 'Ethereum', name: 'W', control_mode: 'user', user_pin: '493817' }

const sign = (unsigned_transaction: Record<string, unknown>, rest: Record<string, unknown> = {}) => ({
  network: 'Ethereum',
  signer_wallet_address: ADDRESS,
  unsigned_transaction,
  developer_secret: 'testnet-secret',
  ...rest,
})

type Case = readonly [name: string, path: string, call: Call, status: number, code: string, names?: string]

const body = (
  path: string,
  value: unknown,
  code = 'invalid_input',
  names?: string,
): readonly [string, Call, number, string, string?] =>
  [path, { body: value }, 400, code, ...(names === undefined ? [] : [names])] as never

const cases: readonly Case[] = [
  ['an unknown property', ...body('/wallets', { ...wallet, colour: 'vermilion' }, 'invalid_input', 'colour')],
  [
    'an unknown nested property',
    ...body('/transactions/sign', sign({ to: ADDRESS, gas: '1' }), 'invalid_input', 'unsigned_transaction.gas'),
  ],
  ['a missing property', ...body('/wallets', { ...wallet, name: undefined }, 'invalid_input', 'name')],
  ['a null where a value is required', ...body('/wallets', { ...wallet, name: null }, 'invalid_input', 'name')],
  ['a number for a text', ...body('/wallets', { ...wallet, name: 5 }, 'invalid_input', 'name')],
  ['an object for a text', ...body('/wallets', { ...wallet, name: {} }, 'invalid_input', 'name')],
  ['an empty name', ...body('/wallets', { ...wallet, name: '' }, 'invalid_input', 'name')],
  ['a name of 257 characters', ...body('/wallets', { ...wallet, name: 'x'.repeat(257) }, 'invalid_input', 'name')],
  ['a network in other letters', ...body('/wallets', { ...wallet, network: 'ethereum' }, 'invalid_input', 'network')],
  ['an unknown network', ...body('/wallets', { ...wallet, network: 'Bitcoin' }, 'invalid_input', 'network')],
  [
    'an unknown control mode',
    ...body('/wallets', { ...wallet, control_mode: 'owner' }, 'invalid_input', 'control_mode'),
  ],
  ['a PIN of five digits', ...body('/wallets', { ...wallet, user_pin: '49381' }, 'invalid_input', 'user_pin')],
  ['a PIN of seven digits', ...body('/wallets', { ...wallet, user_pin: '4938171' }, 'invalid_input', 'user_pin')],
  ['a PIN with a letter', ...body('/wallets', { ...wallet, user_pin: '49381a' }, 'invalid_input', 'user_pin')],
  ['a PIN with a line end', ...body('/wallets', { ...wallet, user_pin: '493817\n' }, 'invalid_input', 'user_pin')],
  ['a PIN in Arabic digits', ...body('/wallets', { ...wallet, user_pin: '٤٩٣٨١٧' }, 'invalid_input', 'user_pin')],
  ['a PIN as a number', ...body('/wallets', { ...wallet, user_pin: 493817 }, 'invalid_input', 'user_pin')],
  ['NUL in a name', ...body('/wallets', { ...wallet, name: 'a\u0000b' }, 'invalid_input', 'name')],
  ['NUL in an owner id', ...body('/wallets', { ...wallet, owner_id: '\u0000' }, 'invalid_input', 'owner_id')],
  [
    'half a surrogate pair',
    '/wallets',
    { rawBody: '{"network":"Ethereum","name":"\\ud800","control_mode":"user","user_pin":"493817"}' },
    400,
    'invalid_input',
    'name',
  ],
  ['no credential', ...body('/wallets', { ...wallet, user_pin: undefined }, 'credential_required')],
  [
    'the credential of the other mode',
    ...body('/wallets', { ...wallet, user_pin: undefined, developer_secret: 'testnet-secret' }, 'credential_required'),
  ],
  [
    'two credentials where one belongs',
    ...body('/wallets', { ...wallet, developer_secret: 'testnet-secret' }, 'credential_ambiguous'),
  ],
  [
    'a key named twice',
    '/wallets',
    { rawBody: '{"network":"Ethereum","name":"a","name":"b","control_mode":"user","user_pin":"493817"}' },
    400,
    'invalid_input',
  ],
  [
    'a key named twice by an escape',
    '/wallets',
    { rawBody: '{"network":"Ethereum","name":"a","n\\u0061me":"b","control_mode":"user","user_pin":"493817"}' },
    400,
    'invalid_input',
  ],
  [
    'a __proto__ key',
    '/wallets',
    {
      rawBody: '{"network":"Ethereum","name":"a","control_mode":"user","user_pin":"493817","__proto__":{"type":"eoa"}}',
    },
    400,
    'invalid_input',
  ],
  ['broken JSON', '/wallets', { rawBody: '{"network":' }, 400, 'invalid_input'],
  ['a list as body', '/wallets', { rawBody: '[]' }, 400, 'invalid_input'],
  ['a text as body', '/wallets', { rawBody: '"x"' }, 400, 'invalid_input'],
  ['null as body', '/wallets', { rawBody: 'null' }, 400, 'invalid_input'],
  ['no body', '/wallets', { method: 'POST', headers: { 'content-type': 'application/json' } }, 400, 'invalid_input'],
  [
    'bytes that are no UTF-8',
    '/wallets',
    { rawBody: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) },
    400,
    'invalid_input',
  ],
  [
    'a deep nest',
    '/transactions/sign',
    { rawBody: `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}` },
    400,
    'invalid_input',
  ],
  [
    'another content type',
    '/wallets',
    { rawBody: JSON.stringify(wallet), headers: { 'content-type': 'text/plain' } },
    415,
    'content_type_unsupported',
  ],
  [
    'a form',
    '/wallets',
    { rawBody: 'network=Ethereum', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'content_type_unsupported',
  ],
  [
    'a body over the limit',
    '/wallets',
    { rawBody: `{"name":"${'x'.repeat(5 * 1024 * 1024)}"}` },
    413,
    'body_too_large',
  ],
  [
    'a malformed address',
    ...body('/transactions/sign', sign({ to: '0x123' }), 'address_invalid', 'unsigned_transaction.to'),
  ],
  [
    'an address with a broken checksum',
    ...body('/transactions/sign', sign({ to: BROKEN_CHECKSUM }), 'address_invalid', 'unsigned_transaction.to'),
  ],
  [
    'a signer with a broken checksum',
    ...body(
      '/transactions/sign',
      sign({ to: ADDRESS }, { signer_wallet_address: BROKEN_CHECKSUM }),
      'address_invalid',
      'signer_wallet_address',
    ),
  ],
  [
    'an address of another family',
    ...body(
      '/transactions/sign',
      sign({ to: '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5' }),
      'network_mismatch',
      'unsigned_transaction.to',
    ),
  ],
  ['no destination and no input', ...body('/transactions/sign', sign({}), 'invalid_input', 'unsigned_transaction.to')],
  [
    'a negative quantity',
    ...body('/transactions/sign', sign({ to: ADDRESS, value: '-1' }), 'invalid_input', 'unsigned_transaction.value'),
  ],
  [
    'a fractional quantity',
    ...body('/transactions/sign', sign({ to: ADDRESS, value: '1.5' }), 'invalid_input', 'unsigned_transaction.value'),
  ],
  [
    'scientific notation',
    ...body('/transactions/sign', sign({ to: ADDRESS, value: '1e18' }), 'invalid_input', 'unsigned_transaction.value'),
  ],
  [
    'a quantity of 2^256',
    ...body(
      '/transactions/sign',
      sign({ to: ADDRESS, value: (1n << 256n).toString() }),
      'invalid_input',
      'unsigned_transaction.value',
    ),
  ],
  [
    'an empty quantity',
    ...body('/transactions/sign', sign({ to: ADDRESS, value: '' }), 'invalid_input', 'unsigned_transaction.value'),
  ],
  [
    'a bare 0x as quantity',
    ...body('/transactions/sign', sign({ to: ADDRESS, value: '0x' }), 'invalid_input', 'unsigned_transaction.value'),
  ],
  [
    'a quantity as a number',
    ...body('/transactions/sign', sign({ to: ADDRESS, value: 1 }), 'invalid_input', 'unsigned_transaction.value'),
  ],
  [
    'a quantity with a space',
    ...body('/transactions/sign', sign({ to: ADDRESS, value: ' 1' }), 'invalid_input', 'unsigned_transaction.value'),
  ],
  [
    'a nonce of 2^53',
    ...body(
      '/transactions/sign',
      sign({ to: ADDRESS, nonce: (1n << 53n).toString() }),
      'invalid_input',
      'unsigned_transaction.nonce',
    ),
  ],
  [
    'a gas limit of 2^64',
    ...body(
      '/transactions/sign',
      sign({ to: ADDRESS, gasLimit: (1n << 64n).toString() }),
      'invalid_input',
      'unsigned_transaction.gasLimit',
    ),
  ],
  [
    'an input of half a byte',
    ...body('/transactions/sign', sign({ to: ADDRESS, input: '0x0' }), 'invalid_input', 'unsigned_transaction.input'),
  ],
  [
    'an input without 0x',
    ...body('/transactions/sign', sign({ to: ADDRESS, input: 'ab' }), 'invalid_input', 'unsigned_transaction.input'),
  ],
  [
    'a tip above the fee cap',
    ...body('/transactions/sign', sign({ to: ADDRESS, maxFeePerGas: '1', maxPriorityFeePerGas: '2' }), 'not_found'),
  ],
  [
    'a bundle of none',
    ...body(
      '/transactions/preview-bundle',
      { network: 'Ethereum', from: ADDRESS, unsigned_transactions: [] },
      'invalid_input',
      'unsigned_transactions',
    ),
  ],
  [
    'a bundle of 51',
    ...body(
      '/transactions/preview-bundle',
      { network: 'Ethereum', from: ADDRESS, unsigned_transactions: Array(51).fill({ to: ADDRESS }) },
      'invalid_input',
      'unsigned_transactions',
    ),
  ],
  [
    'a preview without network of an unknown address',
    ...body(
      '/transactions/preview',
      { from: ADDRESS, unsigned_transaction: { to: ADDRESS } },
      'network_required',
      'network',
    ),
  ],
  [
    'uri and metadata together',
    ...body(
      '/nfts/mint',
      {
        network: 'Ethereum',
        contract_address: ADDRESS,
        uri: 'ipfs://x',
        metadata: { name: 'a', description: 'b', image: 'ipfs://x' },
        developer_secret: 'testnet-secret',
      },
      'invalid_input',
      'uri',
    ),
  ],
  [
    'a mint without network',
    ...body(
      '/nfts/mint',
      { contract_address: ADDRESS, uri: 'ipfs://x', developer_secret: 'testnet-secret' },
      'network_required',
      'network',
    ),
  ],
  [
    'a metadata URI by http',
    ...body(
      '/nfts/mint',
      { network: 'Ethereum', contract_address: ADDRESS, uri: 'http://example.com', developer_secret: 'testnet-secret' },
      'invalid_input',
      'uri',
    ),
  ],
  [
    'a token id in scientific notation',
    ...body(
      '/nfts/transfer',
      {
        network: 'Ethereum',
        from: ADDRESS,
        contract_address: ADDRESS,
        recipient: ADDRESS,
        token_id: '1e3',
        developer_secret: 'testnet-secret',
      },
      'invalid_input',
      'token_id',
    ),
  ],
  ['an id that is no UUID', '/wallets/get-by-id?network=Ethereum&id=1', {}, 400, 'invalid_input', 'id'],
  ['a repeated query parameter', '/wallets?network=Ethereum&network=Ethereum', {}, 400, 'invalid_input'],
  ['an unknown query parameter', '/wallets?network=Ethereum&colour=vermilion', {}, 400, 'invalid_input', 'colour'],
  ['a missing query parameter', '/wallets', {}, 400, 'invalid_input', 'network'],
  ['NUL in a query', '/wallets/get-by-owner-id?network=Ethereum&ownerID=%00', {}, 400, 'invalid_input', 'ownerID'],
  ['broken percent-encoding', '/wallets/get-by-owner-id?network=Ethereum&ownerID=%ff', {}, 400, 'invalid_input'],
  ['page 0', '/wallets?network=Ethereum&page=0', {}, 400, 'invalid_input', 'page'],
  ['a hexadecimal page', '/wallets?network=Ethereum&page=0x10', {}, 400, 'invalid_input', 'page'],
  ['a page in scientific notation', '/wallets?network=Ethereum&page=1e1', {}, 400, 'invalid_input', 'page'],
  ['a page size over 100', '/wallets?network=Ethereum&page_size=101', {}, 400, 'invalid_input', 'page_size'],
  [
    'a short hash',
    '/transactions/status-by-hash?network=Ethereum&transaction_hash=0x12',
    {},
    400,
    'invalid_input',
    'transaction_hash',
  ],
  ['an unknown path', '/nowhere', {}, 404, 'not_found'],
  ['an unknown path below a resource', '/wallets/nowhere', {}, 404, 'not_found'],
  ['a wrong method', '/wallets', { method: 'DELETE' }, 405, 'method_not_allowed'],
  ['a wrong method on a look-up', '/wallets/get-by-id', { method: 'POST', body: {} }, 405, 'method_not_allowed'],
  [
    'a network without a node',
    `/transactions/status-by-hash?network=Vara&transaction_hash=0x${'12'.repeat(32)}`,
    {},
    501,
    'not_implemented',
  ],
  [
    'a contract wallet on Polkadot',
    ...body('/wallets', { ...wallet, network: 'Polkadot', type: 'contract' }, 'invalid_input', 'type'),
  ],
]

const STATUS_OF: Record<string, number> = { not_implemented: 501, not_found: 404 }

describe('bad input is refused first', () => {
  for (const [name, path, call, status, code, names] of cases) {
    test(`refuses ${name}`, async () => {
      const answer = await service.call(path, call)
      const wanted = status === 400 ? (STATUS_OF[code] ?? 400) : status
      expect({ status: answer.status, code: answer.json?.code }).toEqual({ status: wanted, code })
      expect(Object.keys(answer.json).sort()).toEqual(['code', 'error'])
      expect(answer.json.error).toMatch(/^[A-Z].*\.$/)
      expect(answer.headers.get('content-type')).toContain('application/json')
      if (names !== undefined) expect(answer.json.error).toContain(`"${names}"`)
      for (const value of ['493817', 'testnet-secret', 'vermilion', BROKEN_CHECKSUM]) {
        expect(answer.text).not.toContain(value)
      }
      if (isLong) expect(await countRows(service.database.url)).toEqual(before)
    })
  }

  test('writes no row', async () => {
    expect(await countRows(service.database.url)).toEqual(before)
  })
})

describe('what real clients send is accepted', () => {
  test('null means absent', async () => {
    const answer = await service.post('/wallets', { ...wallet, owner_id: null, type: null, developer_secret: null })
    expect(answer.status).toBe(200)
  })

  test('a POST without a body but with a form content type', async () => {
    const answer = await service.call('/users/logout', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '0' },
    })
    expect(answer.json.code).toBe('user_session_required')
  })

  test('a content type with a charset, in any letter case', async () => {
    const answer = await service.call('/wallets', {
      rawBody: JSON.stringify(wallet),
      headers: { 'content-type': 'Application/JSON; charset=utf-8' },
    })
    expect(answer.status).toBe(200)
  })

  test('an empty page parameter and null mean absent', async () => {
    expect((await service.call('/wallets?network=Ethereum&page=&page_size=null')).status).toBe(200)
  })

  test('an address in lower case', async () => {
    const made = await service.newWallet({ network: 'Ethereum' })
    const found = await service.get('/wallets/get-by-address', {
      network: 'Ethereum',
      address: made.address.toLowerCase(),
    })
    expect(found.json).toEqual(made)
  })
})

describe('a hidden character', () => {
  const OVERRIDE = String.fromCodePoint(0x202e)
  /** The last names of other texts, by what is done with them. */
  const EXACT = {
    'is one of the networks': ['network'],
    'is read as an address': [
      ...['address', 'contract_address', 'from', 'recipient', 'royalty_recipient', 'sign_in_wallet', 'to', 'token'],
      ...['signer_wallet_address', 'wallet_address'],
    ],
    'is read as a URI, or as an address for mail': [
      'base_uri',
      'email',
      'image',
      'image_url',
      'logo_url',
      'uri',
      'url',
    ],
    'is compared with what is kept': ['code', 'developer_secret', 'issuer', 'refresh_token', 'session_challenge_code'],
    'is read as a key or a login': ['mnemonic_phrase', 'private_key', 'siwe_message'],
    'is signed as it is, and shown with each hidden character': [
      ...['chainId', 'message', 'name of typed data', 'primaryType', 'salt', 'signedExtensions[]', 'type'],
      ...['verifyingContract', 'version'],
    ],
    'is compared with what is signed, and shown with each hidden character': ['declaration', 'value'],
  }

  /** The fields of a schema that are texts. */
  const textsOf = (schema: TSchema, path: string): readonly (readonly [path: string, schema: TSchema])[] => {
    const parts: readonly TSchema[] = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])]
    const members: readonly [string, TSchema][] = Object.entries(schema.properties ?? {})
    return [
      ...(schema.type === 'string' ? [[path, schema] as const] : []),
      ...parts.flatMap((part) => textsOf(part, path)),
      ...members.flatMap(([name, member]) => textsOf(member, path === '' ? name : `${path}.${name}`)),
      ...(schema.items === undefined ? [] : textsOf(schema.items, `${path}[]`)),
      ...Object.values<TSchema>(schema.patternProperties ?? {}).flatMap((member) => textsOf(member, `${path}.*`)),
    ]
  }

  const nameOf = (field: string): string => {
    const name = field.split('.').at(-1) ?? ''
    return name === 'name' && field.startsWith('typed_data.') ? 'name of typed data' : name
  }

  const isTaken = (schema: TSchema): boolean => {
    const example = String(schema.examples?.[0] ?? 'aaaa')
    return [`${OVERRIDE}${example}`, `${example}${OVERRIDE}`, OVERRIDE].some((text) => Value.Check(schema, text))
  }

  test('is refused in every text of a body, but for texts that are compared exactly', () => {
    const bodies = createApp(service.ctx).routes.filter(({ hooks }) => hooks?.body?.type === 'object')
    expect(bodies.length).toBeGreaterThan(40)
    const taken = bodies.flatMap(({ hooks }) =>
      textsOf(hooks.body, '').flatMap(([field, schema]) => (isTaken(schema) ? [nameOf(field)] : [])),
    )
    expect([...new Set(taken)].toSorted()).toEqual(Object.values(EXACT).flat().toSorted())
  })

  test('is refused with a sentence', async () => {
    const answer = await service.post('/wallets', { ...wallet, name: `Main${OVERRIDE}` })
    expect(answer.json).toEqual({
      error: 'Field "name" must be a text of 1 to 256 characters, none of them hidden.',
      code: 'invalid_input',
    })
  })
})
