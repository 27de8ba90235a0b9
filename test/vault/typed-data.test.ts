// Typed data (EIP-712): published vectors, viem's digests of random data, and everything that is refused. Hundreds of
// further vectors are in published-cases.test.ts.

import { describe, expect, test } from 'bun:test'
import { TypedDataEncoder } from 'ethers'
import fc from 'fast-check'
import { hashTypedData } from 'viem'
import type { TypedData } from '../../src/vault/language/payload.ts'
import { checkTypedData, requireChainId, typedDataDigest } from '../../src/vault/language/typed-data.ts'
import { bytesToSign } from '../../src/vault/rooms/keys/payloads.ts'
import { curve } from '../../src/vault/rooms/keys/secp256k1.ts'
import { isLong } from '../support/long.ts'
import { bytesOf, hexOf } from './support.ts'

const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const MAIL_DOMAIN = {
  name: 'Ether Mail',
  version: '1',
  chainId: 1,
  verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC',
}
const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]
/** The private key of both sources: keccak256('cow'). */
const COW = 'c85ef7d79691fe79573b1a7064c19c1a9819ebdbd1faaab1a8ec92344438aaf4'

const mail = {
  domain: MAIL_DOMAIN,
  types: {
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  },
  primaryType: 'Mail',
  message: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
} satisfies TypedData

type Vector = {
  readonly source: string
  readonly typedData: TypedData
  readonly digest: string
  /** With the key `COW`. */
  readonly signature: string
}

const VECTORS: readonly Vector[] = [
  {
    source: 'EIP-712, assets/eip-712/Example.js',
    typedData: mail,
    digest: '0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2',
    signature:
      '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c',
  },
  {
    source: 'MetaMask/eth-sig-util, src/index.test.ts, "signedTypeData_v4"',
    typedData: {
      domain: MAIL_DOMAIN,
      types: {
        EIP712Domain: DOMAIN_TYPE,
        Person: [
          { name: 'name', type: 'string' },
          { name: 'wallets', type: 'address[]' },
        ],
        Mail: [
          { name: 'from', type: 'Person' },
          { name: 'to', type: 'Person[]' },
          { name: 'contents', type: 'string' },
        ],
        Group: [
          { name: 'name', type: 'string' },
          { name: 'members', type: 'Person[]' },
        ],
      },
      primaryType: 'Mail',
      message: {
        from: {
          name: 'Cow',
          wallets: ['0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826', '0xDeaDbeefdEAdbeefdEadbEEFdeadbeEFdEaDbeeF'],
        },
        to: [
          {
            name: 'Bob',
            wallets: [
              '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB',
              '0xB0BdaBea57B0BDABeA57b0bdABEA57b0BDabEa57',
              '0xB0B0b0b0b0b0B000000000000000000000000000',
            ],
          },
        ],
        contents: 'Hello, Bob!',
      },
    },
    digest: '0xa85c2e2b118698e88db68a8105b794a8cc7cec074e89ef991cb4f5f533819cc2',
    signature:
      '0x65cbd956f2fae28a601bebc9b906cea0191744bd4c4247bcd27cd08f8eb6b71c78efdf7a31dc9abee78f492292721f362d296cf86b4538e07b51303b67f749061b',
  },
]

const digestOf = (typedData: TypedData): string => `0x${hexOf(typedDataDigest(typedData))}`

describe('published data', () => {
  test.each(VECTORS)('of $source has the published digest and signature', ({ typedData, digest, signature }) => {
    expect(digestOf(typedData)).toBe(digest)
    const bytes = bytesToSign('evm', { kind: 'typed_data', typedData })
    const signed = curve.sign({ digest: bytes, privateKey: bytesOf(COW) })
    expect(`0x${hexOf(signed.subarray(0, 64))}${(27 + (signed[64] ?? 0)).toString(16)}`).toBe(signature)
  })

  test('has the same digest with the type of its domain and without it', () => {
    const { types } = mail
    expect(digestOf({ ...mail, types: { ...types, EIP712Domain: DOMAIN_TYPE } })).toBe(digestOf(mail))
    const number = (chainId: number | string) => digestOf({ ...mail, domain: { ...MAIL_DOMAIN, chainId } })
    expect(number('1')).toBe(digestOf(mail))
    expect(number('0x01')).toBe(digestOf(mail))
  })
})

type Generated = { readonly type: string; readonly value: unknown }

const integerType = fc
  .record({ bits: fc.integer({ min: 1, max: 32 }), unsigned: fc.boolean() })
  .chain(({ bits, unsigned }) => {
    const size = BigInt(bits * 8)
    const range = unsigned
      ? { min: 0n, max: 2n ** size - 1n }
      : { min: -(2n ** (size - 1n)), max: 2n ** (size - 1n) - 1n }
    const type = `${unsigned ? 'uint' : 'int'}${size}`
    return fc.bigInt(range).map((value): Generated => ({ type, value: String(value) }))
  })

const bytesOfSize = (bounds: fc.IntArrayConstraints) =>
  fc.uint8Array(bounds).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)

/** All of Unicode takes the package a second to prepare. */
const characters = isLong
  ? 'binary'
  : fc.constantFrom('a', ' ', '"', '\\', '\u0000', '\ufeff', 'é', '€', '\ufffd', '😀')

const atom: fc.Arbitrary<Generated> = fc.oneof(
  integerType,
  fc.string({ unit: characters }).map((value) => ({ type: 'string', value })),
  fc.boolean().map((value) => ({ type: 'bool', value })),
  bytesOfSize({ minLength: 20, maxLength: 20 }).map((value) => ({ type: 'address', value })),
  bytesOfSize({ maxLength: 80 }).map((value) => ({ type: 'bytes', value })),
  fc
    .integer({ min: 1, max: 32 })
    .chain((size) =>
      bytesOfSize({ minLength: size, maxLength: size }).map((value) => ({ type: `bytes${size}`, value })),
    ),
)

/** A list repeats one value, as all items have one type. */
const listOf = ({ type, value }: Generated): fc.Arbitrary<Generated> =>
  fc.record({ length: fc.integer({ min: 0, max: 3 }), isFixed: fc.boolean() }).map(({ length, isFixed }) => ({
    type: `${type}[${isFixed ? length : ''}]`,
    value: Array.from({ length }, () => value),
  }))

const member = fc.oneof(atom, atom.chain(listOf), atom.chain(listOf).chain(listOf))

/** Structs A, B, C …: each one but the last refers to the next one, perhaps in a list. */
const typedDataArbitrary: fc.Arbitrary<TypedData> = fc
  .record({
    structs: fc.array(fc.record({ members: fc.array(member, { maxLength: 4 }), isInList: fc.boolean() }), {
      minLength: 1,
      maxLength: 4,
    }),
    domain: fc.record(
      {
        name: fc.string(),
        version: fc.string(),
        chainId: fc.nat(),
        verifyingContract: bytesOfSize({ minLength: 20, maxLength: 20 }),
        salt: bytesOfSize({ minLength: 32, maxLength: 32 }),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ structs, domain }) => {
    const types: Record<string, { name: string; type: string }[]> = {}
    let below: { readonly name: string; readonly value: Record<string, unknown> } | null = null
    for (const [index, { members, isInList }] of [...structs.entries()].reverse()) {
      const name: string = 'ZBYA'.charAt(index) + String(index)
      const value: Record<string, unknown> = {}
      types[name] = members.map(({ type }, at) => ({ name: `m${at}`, type }))
      for (const [at, { value: of }] of members.entries()) value[`m${at}`] = of
      if (below !== null) {
        types[name].push({ name: 'next', type: isInList ? `${below.name}[]` : below.name })
        value.next = isInList ? [below.value, below.value] : below.value
      }
      below = { name, value }
    }
    return { domain, types, primaryType: below?.name ?? '', message: below?.value ?? {} }
  })

test('random data has the digest that viem computes', () => {
  fc.assert(
    fc.property(typedDataArbitrary, (typedData) => {
      // By itself viem leaves out members that are empty texts.
      const members = [...DOMAIN_TYPE, { name: 'salt', type: 'bytes32' }]
      const EIP712Domain = members.filter(({ name }) => Object.hasOwn(typedData.domain, name))
      const types = { ...typedData.types, EIP712Domain }
      expect(digestOf(typedData)).toBe(hashTypedData({ ...typedData, types } as never))
      checkTypedData(typedData)
    }),
    { numRuns: isLong ? 500 : 40, seed: 20 },
  )
})

const one = (type: string, value: unknown): TypedData => ({
  domain: {},
  types: { Box: [{ name: 'value', type }] },
  primaryType: 'Box',
  message: { value },
})

test.each([
  ['uint8', 255],
  ['int8', -128],
  ['uint256', (2n ** 256n - 1n).toString()],
  ['int256', (-(2n ** 255n)).toString()],
  ['uint64', '0xff'],
  ['uint256', 2 ** 53 - 1],
  ['bool', true],
  ['bytes', '0x'],
  ['bytes4', '0x12345678'],
  ['string', 'ü'],
  ['address', TO],
  ['address', TO.toLowerCase()],
  ['uint8[]', []],
  ['uint8[2][]', [[1, 2]]],
  ['string[1]', ['a']],
])('a value of %s %p has viem’s digest', (type, value) => {
  expect(digestOf(one(type, value))).toBe(hashTypedData(one(type, value) as never))
})

/** The sentence of a refusal. The check without hashing refuses the same. */
const refusalOf = (typedData: TypedData): string => {
  const said = [typedDataDigest, checkTypedData].map((read) => {
    try {
      read(typedData)
      return 'accepted'
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  })
  expect(said[0]).toBe(said[1])
  return said[0] ?? ''
}

const VALUE = 'Field "typed_data.message.value'
const TYPE = 'Field "typed_data.types.Box.0.type"'

describe('a value that does not fit is refused with its path:', () => {
  test.each([
    ['uint8', 256, `${VALUE}" does not fit the type uint8.`],
    ['uint8', -1, `${VALUE}" does not fit`],
    ['uint8', '-1', `${VALUE}" does not fit`],
    ['int8', 128, `${VALUE}" does not fit`],
    ['int8', -129, `${VALUE}" does not fit`],
    ['uint256', (2n ** 256n).toString(), `${VALUE}" does not fit`],
    ['int256', (2n ** 255n).toString(), `${VALUE}" does not fit`],
    ['uint256', `1${'0'.repeat(78)}`, `${VALUE}" must be an integer`],
    ['uint256', `0x${'f'.repeat(65)}`, `${VALUE}" must be an integer`],
    ['uint8', 1.5, `${VALUE}" must be an integer`],
    ['uint8', '', `${VALUE}" must be an integer`],
    ['uint8', ' 1', `${VALUE}" must be an integer`],
    ['uint8', '1e2', `${VALUE}" must be an integer`],
    ['uint8', '+1', `${VALUE}" must be an integer`],
    ['uint256', 2 ** 53, `${VALUE}" must be an integer`],
    ['uint8', true, `${VALUE}" must be an integer`],
    ['uint8', [1], `${VALUE}" must be an integer`],
    ['bytes4', '0x123456', `${VALUE}" must be exactly 4 bytes`],
    ['bytes4', '0x1234567800', `${VALUE}" must be exactly 4 bytes`],
    ['bytes', '1234', `${VALUE}" must be 0x and pairs`],
    ['bytes', '0x123', `${VALUE}" must be 0x and pairs`],
    ['address', '0x1234', `${VALUE}" must be an address`],
    ['address', TO.replace('C51', 'c51'), `${VALUE}" has a wrong checksum`],
    ['bool', 'true', `${VALUE}" must be true or false`],
    ['bool', 1, `${VALUE}" must be true or false`],
    ['string', 1, `${VALUE}" must be a text`],
    ['uint8[2]', [1], `${VALUE}" must have exactly 2 items`],
    ['uint8[0]', [1], `${VALUE}" must have exactly 0 items`],
    ['uint8[]', { length: 0 }, `${VALUE}" must be a list`],
    ['uint8[][]', [[], [1, 256]], `${VALUE}.1.1" does not fit`],
  ])('%s %p', (type, value, why) => expect(refusalOf(one(type, value))).toStartWith(why))

  test.each([
    'uint7',
    'uint264',
    'uint',
    'int0',
    'uint08',
    'bytes33',
    'bytes0',
    'bytes04',
    'function',
    'fixed128x18',
    'address payable',
    ' uint8',
    'uint8[',
    'uint8[-1]',
    '[]',
    '',
    'a,uint8 b',
  ])('the type %p', (type) => expect(refusalOf(one(type, '0x'))).toBe(`${TYPE} is no type of EIP-712.`))

  test.each(['uint8[01]', 'uint8[9999999]'])('the length of %p', (type) =>
    expect(refusalOf(one(type, []))).toBe(`${TYPE} must have a plain number, or nothing, between [ and ].`),
  )

  test.each(['Box2', 'toString', '__proto__', 'EIP712Domain'])('the struct %p', (type) =>
    expect(refusalOf(one(type, {}))).toBe(`${TYPE} names a struct that "types" does not have.`),
  )
})

describe('names beyond identifiers', () => {
  // https://hyperliquid.gitbook.io/hyperliquid-docs: its users sign such types themselves.
  const usdSend = {
    domain: {
      name: 'HyperliquidSignTransaction',
      version: '1',
      chainId: 42_161,
      verifyingContract: `0x${'00'.repeat(20)}`,
    },
    types: {
      'HyperliquidTransaction:UsdSend': [
        { name: 'hyperliquidChain', type: 'string' },
        { name: 'destination', type: 'string' },
        { name: 'amount', type: 'string' },
        { name: 'time', type: 'uint64' },
      ],
    },
    primaryType: 'HyperliquidTransaction:UsdSend',
    message: { hyperliquidChain: 'Mainnet', destination: TO, amount: '1.5', time: 1_753_000_000_000 },
  } satisfies TypedData
  const named = (member: string, type = 'Box'): TypedData => ({
    domain: { name: 'Names' },
    types: { [type]: [{ name: member, type: 'string' }] },
    primaryType: type,
    message: { [member]: 'value' },
  })
  const byEthers = ({ domain, types, message }: TypedData) =>
    TypedDataEncoder.hash(domain as never, types as never, message)

  test.each<[string, TypedData]>([
    ['of Hyperliquid', usdSend],
    ...['a b', 'a/b', 'a-b', 'a:b', '@context', 'a@b', 'a $1_'].map((name): [string, TypedData] => [
      `of a member ${name}`,
      named(name),
    ]),
    ...['a:b', 'a/b', 'a-b', 'a.b', 'a@b'].map((name): [string, TypedData] => [`of a type ${name}`, named('m', name)]),
  ])('%s have the digest that viem and ethers compute', (_, typedData) => {
    expect(digestOf(typedData)).toBe(hashTypedData(typedData as never))
    expect(digestOf(typedData)).toBe(byEthers(typedData))
    checkTypedData(typedData)
  })

  test('of structs within each other have the digest of ethers; viem leaves inner structs with such names out of the type', () => {
    const types = {
      'App:Send': [{ name: 'to', type: 'App:Person[]' }],
      'App:Person': [{ name: 'name', type: 'string' }],
    }
    const typedData = { domain: {}, types, primaryType: 'App:Send', message: { to: [{ name: 'Bob' }] } }
    expect(digestOf(typedData)).toBe(byEthers(typedData))
    expect(digestOf(typedData)).not.toBe(hashTypedData(typedData as never))
  })

  test.each(['a(b', 'a)b', 'a,b', 'a[b', 'a]b', 'a.b', ' a', 'a ', 'a  b', '1a', '', 'a\tb', 'a\u00a0b', 'a"b', 'é'])(
    'a member %p is refused',
    (name) =>
      expect(refusalOf(named(name))).toStartWith('Field "typed_data.types.Box.0.name" must be a name of at most'),
  )

  test.each(['a(b', 'a)b', 'a,b', 'a[b', 'a]b', 'a b', ' a', '1a', ':a', 'é'])('a type %p is refused', (name) =>
    expect(refusalOf(named('m', name))).toStartWith(
      'Field "typed_data.primaryType" must be a name of at most 256 letters',
    ),
  )
})

describe('data', () => {
  const withTypes = (types: Record<string, unknown>) => ({ types: { ...mail.types, ...types } as TypedData['types'] })
  const deep = (levels: number): TypedData['types'] =>
    Object.fromEntries(
      Array.from({ length: levels }, (_, at) => [
        `S${at}`,
        at + 1 < levels ? [{ name: 'x', type: `S${at + 1}[]` }] : [],
      ]),
    )

  test.each<[string, Partial<TypedData>, string]>([
    [
      'with a member that the type does not have',
      { message: { ...mail.message, more: 1 } },
      '.message.more" is no field of the type Mail.',
    ],
    [
      'with a deeper one',
      { message: { ...mail.message, to: { ...mail.message.to, more: 1 } } },
      '.message.to.more" is no field of the type Person.',
    ],
    [
      'with one whose name is not repeated',
      { message: { ...mail.message, '"><b>': 1 } },
      '.message" is no field of the type Mail.',
    ],
    [
      'without a member',
      { message: { from: mail.message.from, to: mail.message.to } },
      '.message.contents" is required: it is string.',
    ],
    [
      'without a member that every object inherits',
      withTypes({ Mail: [{ name: 'toString', type: 'string' }] }),
      '.message.toString" is required',
    ],
    [
      'with a text for a struct',
      { message: { ...mail.message, to: 'Bob' } },
      '.message.to" must be an object of the type Person.',
    ],
    [
      'with a list for a struct',
      { message: { ...mail.message, to: [] } },
      '.message.to" must be an object of the type Person.',
    ],
    ['of an unknown type', { primaryType: 'Letter' }, '.primaryType" must be the name of one of the types.'],
    ['of a type that every object has', { primaryType: 'constructor' }, '.primaryType" must be'],
    ['of a built-in type', { primaryType: 'uint8', ...withTypes({ uint8: [] }) }, '.primaryType" must be a name of'],
    ['of no type', { primaryType: '' }, '.primaryType" must be'],
    [
      'with an unknown member of the domain',
      { domain: { ...MAIL_DOMAIN, more: '1' } as never },
      '.domain.more" is no field of the type EIP712Domain.',
    ],
    [
      'with a domain of a wrong form',
      { domain: { ...MAIL_DOMAIN, verifyingContract: '0x12' } },
      '.domain.verifyingContract" must be an address',
    ],
    [
      'with a chain id that is none',
      { domain: { ...MAIL_DOMAIN, chainId: '1.0' } },
      '.domain.chainId" must be an integer',
    ],
    ['with a salt of another length', { domain: { salt: '0x12' } }, '.domain.salt" must be exactly 32 bytes'],
    [
      'whose type of the domain leaves a member out',
      withTypes({ EIP712Domain: DOMAIN_TYPE.slice(1) }),
      '.domain.name" is no field of the type EIP712Domain.',
    ],
    [
      'whose type of the domain has a member that is not there',
      withTypes({ EIP712Domain: [...DOMAIN_TYPE, { name: 'salt', type: 'bytes32' }] }),
      '.domain.salt" is required: it is bytes32.',
    ],
    [
      'whose type of the domain has a member of our own',
      withTypes({ EIP712Domain: [...DOMAIN_TYPE, { name: 'colour', type: 'string' }] }),
      '.types.EIP712Domain.4.name" is no member of a domain by EIP-712.',
    ],
    [
      'whose type of the domain has another type',
      withTypes({ EIP712Domain: [{ name: 'chainId', type: 'uint8' }] }),
      '.types.EIP712Domain.0.type" must be uint256 by EIP-712.',
    ],
    [
      'with two members of one name',
      withTypes({ Person: [...mail.types.Person, { name: 'name', type: 'string' }] }),
      '.types.Person.2.name" repeats the name of an earlier field.',
    ],
    [
      'with the name of a member that would change the type',
      withTypes({ Mail: [...mail.types.Mail, { name: 'a,uint8 b', type: 'string' }] }),
      '.types.Mail.3.name" must be a name of at most 256 letters',
    ],
    [
      'with a struct in itself',
      withTypes({ Person: [...mail.types.Person, { name: 'mother', type: 'Person' }] }),
      '.types.Person.2.type" makes a struct contain itself.',
    ],
    [
      'with structs in each other, in lists',
      withTypes({ Person: [{ name: 'mails', type: 'Mail[]' }] }),
      '.types.Person.0.type" makes a struct contain itself.',
    ],
    [
      'with types that are too deep',
      { types: deep(66), primaryType: 'S0', message: { x: [] } },
      '.types" must not have more than 100 structs',
    ],
    [
      'with too many types',
      {
        types: {
          Many: Array.from({ length: 101 }, (_, at) => ({ name: `m${at}`, type: `T${at}` })),
          ...Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`T${at}`, []])),
        },
        primaryType: 'Many',
        message: {},
      },
      '.types" must not have more than 100 structs',
    ],
    [
      'with types that are too long',
      {
        types: { Long: Array.from({ length: 400 }, (_, at) => ({ name: `${'m'.repeat(200)}${at}`, type: 'bool' })) },
        primaryType: 'Long',
        message: {},
      },
      '.types" must not be longer than 65536 characters.',
    ],
    ['that is a domain alone, with a message', { primaryType: 'EIP712Domain' }, '.message" must be empty'],
  ])('%s is refused', (_, change, why) => {
    expect(refusalOf({ ...mail, ...change })).toStartWith(`Field "typed_data${why}`)
  })

  test('with types that it does not use is signed: they are not part of it', () => {
    const cyclic = withTypes({ Loop: [{ name: 'again', type: 'Loop' }], Odd: [{ name: '', type: 'nothing' }] })
    expect(digestOf({ ...mail, ...cyclic })).toBe(digestOf(mail))
  })

  test('of 64 levels is signed', () => {
    const typedData = { domain: {}, types: deep(65), primaryType: 'S0', message: { x: [] } }
    expect(digestOf(typedData)).toBe(hashTypedData(typedData as never))
  })

  test('that is a domain alone has viem’s digest', () => {
    const typedData = { ...mail, primaryType: 'EIP712Domain', message: {} }
    expect(digestOf(typedData)).toBe(hashTypedData({ ...typedData, types: { EIP712Domain: DOMAIN_TYPE } } as never))
  })
})

test('a domain may name the chain of the wallet or none', () => {
  const on = (chainId?: number | string): TypedData => ({ ...mail, domain: chainId === undefined ? {} : { chainId } })
  for (const right of [137, '137', '0x89']) requireChainId(on(right), 137)
  requireChainId(on(), 137)
  for (const wrong of [1, '138', '0x8a']) {
    expect(() => requireChainId(on(wrong), 137)).toThrow('Field "typed_data.domain.chainId" must be 137')
  }
})

test('a domain that was hashed before is not taken for another one, and is checked again', () => {
  const of = (domain: Record<string, unknown>) => ({ ...mail, domain }) as TypedData
  const digests = [
    { name: '1' },
    { version: '1' },
    { name: '1', version: '' },
    { name: '1","string","' },
    { chainId: 1 },
  ]
  const first = digests.map((domain) => digestOf(of(domain)))
  expect(new Set(first).size).toBe(digests.length)
  expect(digests.map((domain) => digestOf(of(domain)))).toEqual(first)
  expect(digestOf(of({ chainId: '1' }))).toBe(digestOf(of({ chainId: 1n })))
  expect(refusalOf(of({ name: '1', more: 1 }))).toStartWith('Field "typed_data.domain.more" is no field')
  expect(refusalOf(of({ chainId: true }))).toStartWith('Field "typed_data.domain.chainId" must be an integer')
  expect(refusalOf(of({ name: { toString: () => '1' } }))).toStartWith('Field "typed_data.domain.name" must be a text')
})

test('a contract wallet accepts typed data by the digest of its SafeMessage', () => {
  const safe = '0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0'
  const bytes = bytesToSign('evm', { kind: 'safe_typed_data', chainId: 5, safe, typedData: mail })
  const expected = hashTypedData({
    domain: { chainId: 5, verifyingContract: safe },
    types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
    primaryType: 'SafeMessage',
    message: { message: hashTypedData(mail as never) },
  })
  expect(`0x${hexOf(bytes)}`).toBe(expected)
})
