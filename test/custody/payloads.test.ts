// What custody refuses to sign, and how it hashes the rest. Vectors of typed data and of transactions are in
// published-cases.test.ts.

import { describe, expect, test } from 'bun:test'
import { hashMessage, hashTypedData, keccak256, serializeTransaction } from 'viem'
import { bytesToSign } from '../../src/custody/keys/payloads.ts'
import { decodeRlp } from '../../src/custody/keys/rlp.ts'
import { traceOf } from '../../src/custody/keys/trace.ts'
import { typedDataDigest } from '../../src/custody/keys/typed-data.ts'
import type { TypedData } from '../../src/custody/payload.ts'
import { bytesOf, hexOf } from './support.ts'

const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const unsigned = serializeTransaction({
  type: 'eip1559',
  chainId: 1,
  nonce: 7,
  maxFeePerGas: 3n,
  maxPriorityFeePerGas: 2n,
  gas: 21_000n,
  to: TO,
  value: 1n,
  data: '0x',
})
const plain = unsigned.slice(4)
const transaction = (hex: string) => bytesToSign('evm', { kind: 'evm_transaction', unsigned: bytesOf(hex) })

describe('an unsigned transaction', () => {
  test('is hashed as it is', () => {
    expect(`0x${hexOf(transaction(unsigned.slice(2)))}`).toBe(keccak256(unsigned))
  })

  test.each([
    ['of no bytes', ''],
    ['of another type', `03${plain}`],
    ['of an authorisation', `05${plain}`],
    ['of type 1 with the fields of type 2', `01${plain}`],
    ['that is a message', `19${plain}`],
    ['with a byte behind it', `02${plain}00`],
    ['that was cut', `02${plain.slice(0, -2)}`],
    ['of eight fields', '02c88080808080808080'],
    ['of ten fields', '02ca808080808080808080c0'],
    ['whose access list is text', '02c9808080808080808080'],
    ['whose recipient is a list', '02c98080808080c08080c0'],
    ['whose access list has a text', '02ca8080808080808080c180'],
    ['whose access list has an address without slots', `02df8080808080808080d6d594${'11'.repeat(20)}`],
    ['whose access list has a third text', `02e18080808080808080d8d794${'11'.repeat(20)}c080`],
    ['whose access list has a short address', `02df8080808080808080d6d593${'11'.repeat(19)}c0`],
    ['whose access list has a short slot', `02f8408080808080808080f7f694${'11'.repeat(20)}e09f${'22'.repeat(31)}`],
    ['whose access list has a list as a slot', `02e18080808080808080d8d794${'11'.repeat(20)}c1c0`],
    ['of type 1 with nine fields', '01c9808080808080808080'],
    ['of type 0 without a chain id', 'c6808080808080'],
    ['of type 0 for every chain', 'c9808080808080808080'],
    ['of type 0 with a signature', 'c9808080808080251122'],
    ['of type 0 with an access list', 'c980808080808001c080'],
    ['that is no list', '0280'],
  ])('%s is refused', (_, hex) => {
    expect(() => transaction(hex)).toThrow(/expected (?:the fields|RLP)/)
  })
})

describe('RLP', () => {
  // ethereum/tests, RLPTests: rlptest.json.
  test.each([
    ['83646f67', '646f67'],
    ['80', ''],
    ['00', '00'],
    ['7f', '7f'],
    ['8180', '80'],
    [`b838${'61'.repeat(56)}`, '61'.repeat(56)],
  ])('%s is the bytes %s', (hex, bytes) => {
    expect(hexOf(decodeRlp(bytesOf(hex)) as Uint8Array)).toBe(bytes)
  })

  test('reads lists within lists', () => {
    const read = (item: unknown): unknown => (item instanceof Uint8Array ? hexOf(item) : (item as unknown[]).map(read))
    expect(read(decodeRlp(bytesOf('c7c0c1c0c3c0c1c0')))).toEqual([[], [[]], [[], [[]]]])
    expect(read(decodeRlp(bytesOf('c88363617483646f67')))).toEqual(['636174', '646f67'])
    expect(read(decodeRlp(bytesOf(`f838${'61'.repeat(56)}`)))).toEqual(Array(56).fill('61'))
  })

  // ethereum/tests, RLPTests: invalidRLPTest.json.
  test.each([
    '',
    '8100',
    '8101',
    '817f',
    '81',
    'a0000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e',
    'b800',
    'b90000',
    'ba0002ffff',
    'bf0f000000000000021111',
    `b837${'61'.repeat(55)}`,
    'c5010203',
    'e201020304050607080910',
    'f800',
    'f80180',
    'f80100',
    'f90000',
    'f90002ffff',
    'ff0f000000000000021111',
    'c0c0',
  ])('%s is refused', (hex) => {
    expect(() => decodeRlp(bytesOf(hex))).toThrow('shortest form')
  })

  test('deeper lists than a transaction has are refused', () => {
    const nested = (depth: number): string =>
      depth === 0 ? 'c0' : `${(0xc0 + depth).toString(16)}${nested(depth - 1)}`
    expect(() => decodeRlp(bytesOf(nested(40)))).toThrow('shortest form')
  })
})

describe('a message', () => {
  test('is signed by EIP-191, whatever its bytes are', () => {
    for (const message of [new Uint8Array(), bytesOf('1945'), Buffer.from('Grüße'), new Uint8Array(300)]) {
      expect(`0x${hexOf(bytesToSign('evm', { kind: 'evm_message', message }))}`).toBe(hashMessage({ raw: message }))
    }
  })

  test('of Substrate is wrapped once', () => {
    const wrapped = (message: Uint8Array) =>
      Buffer.from(bytesToSign('substrate', { kind: 'substrate_message', message }))
    expect(wrapped(Buffer.from('Hello')).toString()).toBe('<Bytes>Hello</Bytes>')
    expect(wrapped(Buffer.from('<Bytes>Hello</Bytes>')).toString()).toBe('<Bytes>Hello</Bytes>')
    expect(wrapped(Buffer.from('<Bytes>Hello')).toString()).toBe('<Bytes><Bytes>Hello</Bytes>')
  })
})

/** The parts are signed together, wherever one ends and the next begins. */
const extrinsicOf = (payload: Uint8Array) => ({
  kind: 'extrinsic' as const,
  call: payload.subarray(0, 3),
  extra: payload.subarray(3, 5),
  implicit: payload.subarray(5),
  addressPrefix: Uint8Array.of(0),
  signaturePrefix: Uint8Array.of(1),
})

describe('an extrinsic', () => {
  const sign = (payload: Uint8Array) => bytesToSign('substrate', extrinsicOf(payload))

  test('is signed as it is up to 256 bytes, and hashed beyond', () => {
    expect(sign(new Uint8Array(256))).toHaveLength(256)
    // BLAKE2b-256 of 257 zero bytes, by Python's hashlib.
    expect(hexOf(sign(new Uint8Array(257)))).toBe('a93d82fe42c85b6eb1dab95d264706993f6bd903aee5a3ca4a01adbe807c4ca3')
  })

  test('that looks like a wrapped message is refused', () => {
    expect(() => sign(Buffer.from('<Bytes>Hello</Bytes>'))).toThrow('not a wrapped message')
    expect(() => sign(Buffer.from(`<Bytes>${'a'.repeat(300)}</Bytes>`))).toThrow('not a wrapped message')
  })
})

test('a key of one family signs nothing of the other', () => {
  const message = new Uint8Array(3)
  expect(() => bytesToSign('evm', { kind: 'substrate_message', message })).toThrow('signs no substrate_message')
  expect(() => bytesToSign('evm', extrinsicOf(message))).toThrow('signs no extrinsic')
  expect(() => bytesToSign('substrate', { kind: 'evm_message', message })).toThrow('signs no evm_message')
  expect(() => bytesToSign('substrate', { kind: 'evm_transaction', unsigned: message })).toThrow('signs no')
})

describe('typed data', () => {
  // The example of EIP-712.
  const mail = {
    domain: {
      name: 'Ether Mail',
      version: '1',
      chainId: 1,
      verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC',
    },
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
  const DOMAIN_TYPE = [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ]

  test('of the EIP has the digest that the EIP tells, with the domain’s type and without it', () => {
    const digest = 'be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2'
    expect(hexOf(typedDataDigest(mail))).toBe(digest)
    expect(hexOf(typedDataDigest({ ...mail, types: { ...mail.types, EIP712Domain: DOMAIN_TYPE } }))).toBe(digest)
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
    ['bool', true],
    ['bytes', '0x'],
    ['bytes4', '0x12345678'],
    ['string', 'ü'],
    ['address', TO],
    ['uint8[]', []],
    ['uint8[2][]', [[1, 2]]],
    ['string[1]', ['a']],
  ])('of %s %p has viem’s digest', (type, value) => {
    expect(`0x${hexOf(typedDataDigest(one(type, value)))}`).toBe(hashTypedData(one(type, value) as never))
  })

  test.each([
    ['uint8', 256, 'does not fit'],
    ['uint8', -1, 'does not fit'],
    ['int8', 128, 'does not fit'],
    ['uint256', (2n ** 256n).toString(), 'does not fit'],
    ['uint8', 1.5, 'expected an integer'],
    ['uint8', '', 'expected an integer'],
    ['uint8', ' 1', 'expected an integer'],
    ['uint256', 2 ** 53, 'expected an integer'],
    ['uint8', null, 'expected an integer'],
    ['uint7', 1, 'there is no type'],
    ['uint264', 1, 'there is no type'],
    ['uint', 1, 'there is no type'],
    ['bytes33', '0x', 'there is no type'],
    ['bytes0', '0x', 'there is no type'],
    ['bytes4', '0x123456', 'expected 4 bytes'],
    ['bytes4', '0x1234567800', 'expected 4 bytes'],
    ['bytes', '1234', 'expected 0x hex'],
    ['bytes', '0x123', 'expected 0x hex'],
    ['address', '0x1234', 'expected 20 bytes'],
    ['bool', 'true', 'expected true or false'],
    ['bool', 1, 'expected true or false'],
    ['string', 1, 'expected a text'],
    ['uint8[2]', [1], 'expected 2 elements'],
    ['uint8[]', { length: 0 }, 'expected a list'],
    ['Box', {}, 'lacks value'],
    ['Box2', {}, 'there is no type'],
    ['toString', 'a', 'there is no type'],
  ])('of %s %p is refused: %s', (type, value, why) => {
    expect(() => typedDataDigest(one(type, value))).toThrow(why)
  })

  test.each<[string, Partial<TypedData>, string]>([
    ['with a field that the type does not have', { message: { ...mail.message, more: 1 } }, 'has no field more'],
    ['without a field', { message: { from: mail.message.from, to: mail.message.to } }, 'lacks contents'],
    ['of an unknown type', { primaryType: 'Letter' }, 'is not among the types'],
    ['of a type that every object has', { primaryType: 'constructor' }, 'is not among the types'],
    ['with an unknown domain field', { domain: { ...mail.domain, more: '1' } as never }, 'has no field more'],
    [
      'with two fields of one name',
      { types: { ...mail.types, Person: [...mail.types.Person, { name: 'name', type: 'string' }] } },
      'two fields of one name',
    ],
    [
      'with a field name that would change the type',
      { types: { ...mail.types, Mail: [...mail.types.Mail, { name: 'a,uint8 b', type: 'string' }] } },
      'no identifier',
    ],
    [
      'whose domain type leaves a field out',
      { types: { ...mail.types, EIP712Domain: DOMAIN_TYPE.slice(1) } },
      'has no field name',
    ],
  ])('%s is refused', (_, change, why) => {
    expect(() => typedDataDigest({ ...mail, ...change })).toThrow(why)
  })

  test('that is endlessly deep is refused', () => {
    let value: Record<string, unknown> = { next: [] }
    for (let depth = 0; depth < 100; depth += 1) value = { next: [value] }
    const types = { Node: [{ name: 'next', type: 'Node[]' }] }
    expect(() => typedDataDigest({ domain: {}, types, primaryType: 'Node', message: value })).toThrow('levels deep')
  })
})

test('the audit gets the hash of a message, also of one that is as long as a hash when it is wrapped', () => {
  const payload = { kind: 'substrate_message', message: Buffer.from('pay Bob 17 dollar') } as const
  const bytes = bytesToSign('substrate', payload)
  expect(Buffer.from(bytes).toString()).toBe('<Bytes>pay Bob 17 dollar</Bytes>')
  // BLAKE2b-256 by Python's hashlib.
  expect(traceOf({ payload, bytes, signature: new Uint8Array(64), publicKey: new Uint8Array(32) }).hash).toBe(
    '0x8efc6957484114e44ea5ff50c92a497abdb79a86dd44c2f438fdec98bcdad240',
  )
})
