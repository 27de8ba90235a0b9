// What custody refuses to sign, and how it hashes the rest. Typed data is in typed-data.test.ts, and vectors of
// transactions are in published-cases.test.ts.

import { describe, expect, test } from 'bun:test'
import { hashMessage, keccak256, serializeTransaction } from 'viem'
import { bytesToSign } from '../../src/custody/keys/payloads.ts'
import { decodeRlp } from '../../src/custody/keys/rlp.ts'
import { traceOf } from '../../src/custody/keys/trace.ts'
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

test('the audit gets the hash of a message, also of one that is as long as a hash when it is wrapped', () => {
  const payload = { kind: 'substrate_message', message: Buffer.from('pay Bob 17 dollar') } as const
  const bytes = bytesToSign('substrate', payload)
  expect(Buffer.from(bytes).toString()).toBe('<Bytes>pay Bob 17 dollar</Bytes>')
  // BLAKE2b-256 by Python's hashlib.
  expect(traceOf({ payload, bytes, signature: new Uint8Array(64), publicKey: new Uint8Array(32) }).hash).toBe(
    '0x8efc6957484114e44ea5ff50c92a497abdb79a86dd44c2f438fdec98bcdad240',
  )
})
