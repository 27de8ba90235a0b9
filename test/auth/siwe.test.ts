// Sign-in messages that others wrote and signed. Sources:
// - EIP-4361, section "Examples";
// - spruceid/siwe at 940a66ac, test/parsing_{positive,negative}.json, test/verification_{positive,negative}.json and
//   test/eip1271.json: their values, and their changes to one base message;
// - TalismanSociety/siws, packages/siws/test/vectors.ts: made with polkadot-js.

import { describe, expect, test } from 'bun:test'
import type { Hex } from '../../src/chains/chain.ts'
import { isSignedByKey } from '../../src/chains/evm/messages.ts'
import { isSignedByKey as isSignedBySr25519 } from '../../src/chains/substrate/messages.ts'
import { isOwnOrigin } from '../../src/identity/auth/origins.ts'
import {
  isTimely,
  originOf,
  parseSiwe,
  parseSiws,
  type SignInMessage,
} from '../../src/identity/auth/sign-in-message.ts'

const lines = (...each: readonly string[]): string => each.join('\n')

/** EIP-4361's three examples differ only in their first line. */
const example = (authority: string): string =>
  lines(
    `${authority} wants you to sign in with your Ethereum account:`,
    '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    '',
    'I accept the ExampleOrg Terms of Service: https://example.com/tos',
    '',
    'URI: https://example.com/login',
    'Version: 1',
    'Chain ID: 1',
    'Nonce: 32891756',
    'Issued At: 2021-09-30T16:25:24Z',
    'Resources:',
    '- ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/',
    '- https://example.com/my-web2-claim.json',
  )

describe('EIP-4361', () => {
  const read = {
    uri: 'https://example.com/login',
    address: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    chainId: 1,
    nonce: '32891756',
    issuedAtMs: Date.UTC(2021, 8, 30, 16, 25, 24),
    expiresAtMs: Number.POSITIVE_INFINITY,
    notBeforeMs: Number.NEGATIVE_INFINITY,
  }

  test.each([
    ['example.com', null, 'example.com', 'https://example.com'],
    ['example.com:3388', null, 'example.com:3388', null],
    ['https://example.com', 'https', 'example.com', 'https://example.com'],
  ])('reads the example for %s', (authority, scheme, domain, origin) => {
    const message = parseSiwe(example(authority))
    expect(message).toEqual({ scheme, domain, ...read })
    expect(message && originOf(message)).toBe(origin)
  })
})

describe("the siwe project's vectors", () => {
  const base = lines(
    'service.org wants you to sign in with your Ethereum account:',
    '0xe5A12547fe4E872D192E3eCecb76F2Ce1aeA4946',
    '',
    'I accept the ServiceOrg Terms of Service: https://service.org/tos',
    '',
    'URI: https://service.org/login',
    'Version: 1',
    'Chain ID: 1',
    'Nonce: 12341234',
    'Issued At: 2022-03-17T12:45:13.610Z',
    'Expiration Time: 2023-03-17T12:45:13.610Z',
    'Not Before: 2022-03-17T12:45:13.610Z',
    'Request ID: some_id',
    'Resources:',
    '- https://service.org/login',
  )
  const without = (label: string) => base.replace(new RegExp(`\n${label}: [^\n]*`), '\n')
  /** Swaps two neighbouring lines. */
  const swapped = (first: string, second: string) =>
    base.replace(new RegExp(`(${first}: [^\n]*)\n(${second}: [^\n]*)`), '$2\n$1')
  const GMT = 'Wed Oct 05 2011 16:48:00 GMT+0200 (CEST)'

  test('reads the base message', () => {
    expect(parseSiwe(base)).toMatchObject({
      domain: 'service.org',
      nonce: '12341234',
      expiresAtMs: Date.parse('2023-03-17T12:45:13.610Z'),
      notBeforeMs: Date.parse('2022-03-17T12:45:13.610Z'),
    })
  })

  test.each([
    ['userinfo in the domain', base.replace('service.org', 'test@127.0.0.1:8080')],
    ['IPv6 domain', base.replace('service.org', '[::cafe]')],
    ['URI with query and fragment', base.replace('/login', '/?query=one#begin')],
    ['chain id not 1', base.replace('Chain ID: 1', 'Chain ID: 4')],
    ['timezone not UTC', base.replace('2022-03-17T12:45:13.610Z', '2021-09-30T16:25:24-02:00')],
    ['no statement', base.replace(/\nI accept[^\n]*\n/, '\n')],
  ])('reads: %s', (_, text) => {
    expect(parseSiwe(text)).not.toBeNull()
  })

  test.each([
    ['missing domain', base.replace('service.org', '')],
    ['missing address', base.replace('0xe5A12547fe4E872D192E3eCecb76F2Ce1aeA4946', '')],
    ...['URI', 'Version', 'Chain ID', 'Nonce', 'Issued At'].map((label) => [`missing ${label}`, without(label)]),
    ['out of order uri', swapped('URI', 'Version')],
    ['out of order chainId', swapped('Chain ID', 'Nonce')],
    ['out of order issuedAt', swapped('Issued At', 'Expiration Time')],
    ['out of order notBefore', swapped('Expiration Time', 'Not Before')],
    ['out of order requestId', swapped('Not Before', 'Request ID')],
    ['domain no authority', base.replace('service.org', '#notrfc4501')],
    ['address not EIP-55', base.replace('0xe5A12547fe4E872D192E3eCecb76F2Ce1aeA4946', (it) => it.toLowerCase())],
    ['statement has line break', base.replace('Service: ', 'Service: \n')],
    ['uri is non-RFC 3986', base.replace('URI: https://service.org/login', 'URI: :not_a_rfc3986_valid_uri_')],
    ['version not 1', base.replace('Version: 1', 'Version: 3')],
    ['not a valid chainId', base.replace('Chain ID: 1', 'Chain ID: ?')],
    ['nonce with less then 8 chars', base.replace('12341234', '1234567')],
    ['non-ISO 8601 issuedAt', base.replace(/(?<=Issued At: )\S+/, GMT)],
    ['non-ISO 8601 expirationTime', base.replace(/(?<=Expiration Time: )\S+/, GMT)],
    ['non-ISO 8601 notBefore', base.replace(/(?<=Not Before: )\S+/, GMT)],
    ['resources not separated', `${base} - https://service.org/login/2`],
    ['second resource not RFC 3986', `${base}\n- :not_a_rfc3986_valid_uri_`],
    ['invalid issuedAt', base.replace(/(?<=Issued At: )\S+/, '2022-02-31T17:09:38.578Z')],
    ['invalid notBefore', base.replace(/(?<=Not Before: )\S+/, '2025-02-31T17:09:38.578Z')],
    ['invalid expirationTime', base.replace(/(?<=Expiration Time: )\S+/, '2100-02-31T14:31:43.952Z')],
    ['something behind', `${base}\n`],
  ])('refuses: %s', (_, text = '') => {
    expect(text).not.toBe(base)
    expect(parseSiwe(text)).toBeNull()
  })

  const signedText = (fields: {
    domain: string
    address: string
    statement: string
    rest: readonly string[]
  }): string =>
    lines(
      `${fields.domain} wants you to sign in with your Ethereum account:`,
      fields.address,
      '',
      fields.statement,
      '',
      ...fields.rest,
    )
  const login = (address: string, nonce: string, ...times: readonly string[]) =>
    signedText({
      domain: 'login.xyz',
      address,
      statement: 'Sign-In With Ethereum Example Statement',
      rest: ['URI: https://login.xyz', 'Version: 1', 'Chain ID: 1', `Nonce: ${nonce}`, ...times],
    })
  const TALLY = '0xc95EB884FE852e241D409234bfC7045CB9E31BD7'
  const tally = signedText({
    domain: 'www.tally.xyz',
    address: TALLY,
    statement: 'Sign in with Ethereum to Tally',
    rest: [
      'URI: https://tally.xyz',
      'Version: 1',
      'Chain ID: 1',
      'Nonce: 15050747',
      'Issued At: 2022-06-30T14:08:51.382Z',
    ],
  })
  const [ALICE, BOB, ARGENT] = [
    '0x9D85ca56217D2bb651b00f15e694EB7E713637D4',
    '0x6Da01670d8fc844e736095918bbE11fE8D564163',
    '0xa5b3A53800cD49669F34DE80f2C569c6D4Ca3009',
  ]
  const alices = login(
    ALICE,
    'bTyXgcQxn2htgkjJn',
    'Issued At: 2022-01-27T17:09:38.578Z',
    'Expiration Time: 2100-01-07T14:31:43.952Z',
  )
  const bobs = login(
    BOB,
    'rmplqh1gf',
    'Issued At: 2022-01-05T14:31:43.954Z',
    'Expiration Time: 2100-01-07T14:31:43.952Z',
  )
  const argents = signedText({
    domain: 'localhost:4361',
    address: ARGENT,
    statement: 'SIWE Notepad Example',
    rest: [
      'URI: http://localhost:4361',
      'Version: 1',
      'Chain ID: 1',
      'Nonce: FbYd6TNB4m0IUHDG7',
      'Issued At: 2022-04-19T18:55:04.444Z',
    ],
  })

  test.each<[string, boolean, string, string, Hex]>([
    [
      'example message',
      true,
      ALICE,
      alices,
      '0xdc35c7f8ba2720df052e0092556456127f00f7707eaa8e3bbff7e56774e7f2e05a093cfc9e02964c33d86e8e066e221b7d153d27e5a2e97ccd5ca7d3f2ce06cb1b',
    ],
    [
      'recovery byte starting at 0',
      true,
      TALLY,
      tally,
      '0x8c46b6eb8505939892d8e9b075f89f8277321b17b993151f37810cdda38cce6f4a85909d2b53e6a14629c74c0ac38bf4becde78ee5b2529812bf6cceaf7b2a2501',
    ],
    [
      'malformed signature',
      false,
      BOB,
      bobs,
      '0xf2e8420fc1b722bf4941f5a0464f98172a758ceda5039f622e425fb69fd19b20e444bba7c9a8a8d7e2b5e453553efe7c9460be5d211abe473fc146d51bb04d0cb1b',
    ],
    [
      'wrong signature',
      false,
      BOB,
      bobs,
      '0x31df81dc02344c9156e6f71da46e2db624b38f8f806290d670d46492b834b2e7575cbce9f48169356cfb577b910d8e30732fcf23c1ac0021d08b945ed7ee118e1b',
    ],
    [
      "a contract's (argent)",
      false,
      ARGENT,
      argents,
      '0x00193f8bb87a8bd4a8367a47ee477c62aec984830ec59e730b28d1ec54669eab450b9f3108a5c435648691c5766b35e2f13b8fb29f46298bb378ac34597d7e271c',
    ],
  ])('%s: signed by the key is %p', async (_, isSigned, address, message, signature) => {
    expect(parseSiwe(message)?.address).toBe(address)
    expect(await isSignedByKey({ address, message, signature })).toBe(isSigned)
  })
})

describe('the time limits of a message', () => {
  const at = { nowMs: 1_000_000, nonceCreatedAtMs: 900_000 }
  const timely = (times: Partial<SignInMessage>) =>
    isTimely(
      {
        issuedAtMs: 950_000,
        expiresAtMs: Number.POSITIVE_INFINITY,
        notBeforeMs: Number.NEGATIVE_INFINITY,
        ...times,
      } as SignInMessage,
      at,
    )

  test.each<[string, Partial<SignInMessage>, boolean]>([
    ['written between', {}, true],
    ["a minute before its nonce, by the writer's clock", { issuedAtMs: 840_000 }, true],
    ['longer before its nonce', { issuedAtMs: 839_999 }, false],
    ['a minute ahead', { issuedAtMs: 1_060_000 }, true],
    ['longer ahead', { issuedAtMs: 1_060_001 }, false],
    ['expires next', { expiresAtMs: 1_000_001 }, true],
    ['expires now', { expiresAtMs: 1_000_000 }, false],
    ['valid from now', { notBeforeMs: 1_000_000 }, true],
    ['valid from later', { notBeforeMs: 1_000_001 }, false],
    ['issued at no time', { issuedAtMs: Number.NaN }, false],
    ['expires at no time', { expiresAtMs: Number.NaN }, false],
    ['valid from no time', { notBeforeMs: Number.NaN }, false],
  ])('%s', (_, times, isGood) => {
    expect(timely(times)).toBe(isGood)
  })
})

describe('the origin of a message', () => {
  const origin = (domain: string, uri: string, scheme: string | null = null) =>
    originOf({ scheme, domain, uri } as SignInMessage)

  test('is the one that domain, URI and scheme agree on', () => {
    expect(origin('app.example.com', 'https://app.example.com')).toBe('https://app.example.com')
    expect(origin('app.example.com', 'https://app.example.com/login?a#b', 'https')).toBe('https://app.example.com')
    expect(origin('localhost:8080', 'http://localhost:8080/')).toBe('http://localhost:8080')
    expect(origin('[::1]:8080', 'http://[::1]:8080/')).toBe('http://[::1]:8080')
  })

  test.each([
    ['app.example.com', 'https://evil.example/', null],
    ['app.example.com', 'https://app.example.com.evil.example/', null],
    ['app.example.com', 'https://app.example.com@evil.example/', null],
    ['app.example.com', 'https://user@app.example.com/', null],
    ['app.example.com', 'https://app.example.com:443/', null],
    ['app.example.com:443', 'https://app.example.com/', null],
    ['app.example.com', 'https://app.example.com:8443/', null],
    ['app.example.com', 'https://APP.example.com/', null],
    ['APP.example.com', 'https://app.example.com/', null],
    ['user@app.example.com', 'https://app.example.com/', null],
    ['app.example.com', 'https://app.example.com/', 'http'],
    ['app.example.com', 'did:key:z6Mk', null],
    ['app.example.com', 'blob:https://app.example.com/1', null],
    ['', 'ipfs://app.example.com/', null],
    ['app.example.com', '', null],
  ])('is null for domain %p and URI %p with scheme %p', (domain, uri, scheme) => {
    expect(origin(domain, uri, scheme)).toBeNull()
  })
})

test('any local page may sign in to a devnet, but nowhere else', () => {
  const isOwn = (devnet: boolean, origin: string) =>
    isOwnOrigin(
      { config: { publicBaseUrl: 'https://wallet.example.com', devnet } } as Parameters<typeof isOwnOrigin>[0],
      origin,
    )
  expect([isOwn(true, 'http://localhost:5173'), isOwn(false, 'http://localhost:5173')]).toEqual([true, false])
  expect([isOwn(true, 'https://localhost:5173'), isOwn(false, 'https://wallet.example.com')]).toEqual([false, true])
})

describe('a message for a Substrate account', () => {
  /** As Talisman's extension writes it, with a nonce in EIP-4361's alphabet. */
  const talisman = lines(
    'siws.xyz wants you to sign in with your Polkadot account:',
    '13TtFyPPgw2ZU4TmH8bmR27Q1qTiT6XPTAprUbkgsJEWEjJx',
    '',
    'Welcome to SIWS! Sign in to see how it works.',
    '',
    'URI: https://siws.xyz',
    'Version: 1.0.0',
    'Nonce: 6fdc70dbe2b84c54880b91908df961e5',
    'Issued At: 2026-07-06T07:48:58.645Z',
    'Expiration Time: 2026-07-06T07:50:58.645Z',
  )

  test("is accepted as Talisman's siws writes it, and in EIP-4361's form", () => {
    expect(parseSiws(talisman)).toEqual({
      scheme: null,
      domain: 'siws.xyz',
      uri: 'https://siws.xyz',
      address: '13TtFyPPgw2ZU4TmH8bmR27Q1qTiT6XPTAprUbkgsJEWEjJx',
      chainId: null,
      nonce: '6fdc70dbe2b84c54880b91908df961e5',
      issuedAtMs: Date.parse('2026-07-06T07:48:58.645Z'),
      expiresAtMs: Date.parse('2026-07-06T07:50:58.645Z'),
      notBeforeMs: Number.NEGATIVE_INFINITY,
    })
    for (const [from, to] of [
      ['siws.xyz', 'https://siws.xyz'],
      ['Polkadot', 'Substrate'],
      ['Version: 1.0.0', 'Version: 1\nChain ID: polkadot:91b171bb158e2d3848fa23a9f1c25182'],
      ['Version: 1.0.0', 'Version: 1.0.0\nChain ID: polkadot'],
      ['Welcome to SIWS! Sign in to see how it works.\n\n', ''],
      ['Welcome to SIWS! Sign in to see how it works.\n\n', '\n'],
      [/$/, '\nNot Before: 2026-07-06T07:48:58Z\nRequest ID: a b\nResources:\n- ipfs://a\n- https://b'],
    ] as const) {
      expect(parseSiws(talisman.replace(from, to))).toMatchObject({ domain: 'siws.xyz', uri: 'https://siws.xyz' })
    }
    expect(parseSiwe(talisman)).toBeNull()
  })

  test.each([
    ['Polkadot', 'Ethereum'],
    ['Polkadot account', 'Polkadot\naccount'],
    ['siws.xyz wants', 'siws.xyz/a wants'],
    ['siws.xyz wants', ' wants'],
    ['13TtFyPPgw2ZU4TmH8bmR27Q1qTiT6XPTAprUbkgsJEWEjJx', '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'],
    ['13TtF', '03TtF'],
    ['Welcome', 'Wel\ncome'],
    ['Welcome', 'Wélcome'],
    ['Version: 1.0.0', 'Version: 2'],
    ['Version: 1.0.0\n', ''],
    ['Version: 1.0.0', 'Version: 1.0.0\nChain ID: eip155:1'],
    ['Version: 1.0.0', 'Version: 1.0.0\nVersion: 1.0.0'],
    ['6fdc70dbe2b84c54880b91908df961e5', '6fdc70db-e2b8'],
    ['6fdc70dbe2b84c54880b91908df961e5', '1234567'],
    [/Nonce: \w+\n/, ''],
    [/URI: \S+\n/, ''],
    ['Issued At: 2026-07-06', 'Issued At: 2026-02-30'],
    ['Issued At: 2026-07-06', 'Issued At: 2026-13-06'],
    ['Expiration Time: 2026-07-06', 'Expiration Time: 2026-06-31'],
    ['\nExpiration Time', '\nNot Before: 2026-07-06T07:48:58Z\nExpiration Time'],
    [/$/, '\n'],
    [/\n/g, '\r\n'],
  ])('is refused with %p as %p', (from, to) => {
    const changed = talisman.replace(from, to)
    expect(changed).not.toBe(talisman)
    expect(parseSiws(changed)).toBeNull()
  })

  const SR25519 = '5H8pPt19q3ErLgZFg5YuzfU7u5pskUiKSjk7QK77LYHDbpXw'
  const ED25519 = '5CyuYMPYdpjVEZaWWJ2ebBy4Am6kVZ1zWDAL4RBhmue1MBuW'
  /** As older versions wrote it, with a line that we do not take: signatures are of any text. */
  const textOf = (address: string) =>
    lines(
      'siws.xyz wants you to sign in with your Substrate account:',
      address,
      '(siws.azero)',
      '',
      'This is a test statement',
      '',
      'URI: https://siws.xyz',
      'Version: 1.0.0',
      'Chain ID: polkadot',
      'Nonce: 1234567890',
      'Issued At: 2026-07-02T00:00:00.000Z',
      'Request ID: client-specific request ID',
      'Resources:',
      '- http://some-domain/path/to/resource',
      '- wss://frequency-rpc.dwellir.com',
    )

  test.each<[string, boolean, string, Hex]>([
    [
      'sr25519, as it is',
      true,
      SR25519,
      '0x66f6edc54e06330da0b8e7c91d456b242e7117bf041c82431e0237508bb2342126983e6fe4051c9e502d004b792ea0ac5340e979222cd6d606f7e25c6c6fa684',
    ],
    [
      'sr25519, wrapped',
      true,
      SR25519,
      '0x5ca3321dbaac392fa5d7c52c1615d16545de718ec8d507e19d38209af1f97f4fd39088a0d1e020fbb29f29a2b80c2f5ce2209a8eec68987c5f567bfa77b27e8e',
    ],
    [
      'sr25519, wrapped and with its type',
      true,
      SR25519,
      '0x01c8d7087d9adcb8332072514f7c7d655d97be0dc5bfbd202b69f5a00bae08cb7c0efb40082e7948f4d737e9e580cbc2a0cc05a66a37346372be59390cee67668c',
    ],
    [
      'sr25519, with the type of ed25519',
      false,
      SR25519,
      '0x00c8d7087d9adcb8332072514f7c7d655d97be0dc5bfbd202b69f5a00bae08cb7c0efb40082e7948f4d737e9e580cbc2a0cc05a66a37346372be59390cee67668c',
    ],
    [
      'ed25519, as it is',
      false,
      ED25519,
      '0x7a0ddd4980be494cd1b6a5425b5983318d6df461409cb0a2fb98c6bebef5624ca19804a20a8a7bb9d763356da3d759b524d1b5d4ed2fba13f2203ab42e786e03',
    ],
    [
      'ed25519, with its type',
      false,
      ED25519,
      '0x0088e8b45c29c3adfc76f2ffed216cda5eddd08a3553fa24e136ab6598afdcaf0322caea972e1c2f6290c3c505ffc200a423bda7e4c25fc24aa6e9281e26164604',
    ],
  ])('%s: signed is %p', (_, isSigned, address, signature) => {
    expect(isSignedBySr25519({ address, message: textOf(address), signature })).toBe(isSigned)
    expect(isSignedBySr25519({ address, message: `${textOf(address)} `, signature })).toBe(false)
  })
})
