// What the vault refuses to sign, and how it hashes the rest. Typed data is in typed-data.test.ts, and vectors of
// transactions are in published-cases.test.ts.

import { describe, expect, test } from 'bun:test'
import { fromRlp, type Hex, hashMessage, keccak256, serializeTransaction, toRlp } from 'viem'
import { traceSignature } from '../../src/vault/rooms/keys/facts.ts'
import { bytesToSign } from '../../src/vault/rooms/keys/payloads.ts'
import { decodeRlp } from '../../src/vault/rooms/keys/rlp.ts'
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
/** RLP of a list whose items are encoded. */
const toList = (items: readonly string[]): string => {
  const length = items.join('').length / 2
  return (length < 56 ? (0xc0 + length).toString(16) : `f8${length.toString(16)}`) + items.join('')
}
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

// ethereum/tests, TransactionTests: signed transactions that no node takes, by the names of their files.
const NO_NODE_TAKES = {
  'ttAddress/AddressLessThan20':
    'f8528001825208870b9331677e6ebf0a801ca098ff921201554726367d2be8c804a7ff89ccf285ebc57dff8ae4c44b9c19ac4aa03887321be575c8095f789dd4c743dfe42c1820f9231f98a962b210e3ac2452a3',
  'ttAddress/AddressMoreThan20PrefixedBy0':
    'f867367b8252089c0000000000000000095e7baea6a6c7c4c2dfeb977efac326af552d870b121ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a0efffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
  'ttNonce/TransactionWithLeadingZerosNonce':
    'f8618200010182520894095e7baea6a6c7c4c2dfeb977efac326af552d870b801ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a0efffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
  'ttNonce/TransactionWithHighNonce64Minus1':
    'f86788ffffffffffffffff0182520894095e7baea6a6c7c4c2dfeb977efac326af552d8780801ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a01fffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
  'ttGasLimit/TransactionWithLeadingZerosGasLimit':
    'f85f800182000194095e7baea6a6c7c4c2dfeb977efac326af552d870b801ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a0efffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
  'ttGasLimit/TransactionWithGasLimitOverflow64':
    'f86680018901000000000000000094095e7baea6a6c7c4c2dfeb977efac326af552d870b801ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a01fffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
  'ttWrongRLP/RLPgasPriceWithFirstZeros':
    'f862808300000182035294095e7baea6a6c7c4c2dfeb977efac326af552d870a801ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a0efffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
  'ttValue/TransactionWithLeadingZerosValue':
    'f861800182520894095e7baea6a6c7c4c2dfeb977efac326af552d87820001801ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a01fffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
  'ttValue/TransactionWithHighValueOverflow':
    'f880800182520894095e7baea6a6c7c4c2dfeb977efac326af552d87a1010000000000000000000000000000000000000000000000000000000000000000801ca048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a010002cef538bc0c8e21c46080634a93f4d752bc9fe4b546b60ac055e842d342b',
  'ttEIP1559/maxPriorityFeePerGas00prefix':
    '02f8870180a100ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff84b2d05e0082520894095e7baea6a6c7c4c2dfeb977efac326af552d878080c080a05cbd172231fc0735e0fb994dd5b1a4939170a260b36f0427a8a80866b063b948a07c230f7f578dd61785c93361b9871c0706ebfa6d06e3f4491dc9558c5202ed36',
  'ttEIP1559/maxFeePerGasOverflow':
    '02f88701808477359400a101000000000000000000000000000000000000000000000000000000000000000082520894095e7baea6a6c7c4c2dfeb977efac326af552d878080c080a05cbd172231fc0735e0fb994dd5b1a4939170a260b36f0427a8a80866b063b948a07c230f7f578dd61785c93361b9871c0706ebfa6d06e3f4491dc9558c5202ed36',
}
/**
 * Valid ones, at the bounds: ttNonce/TransactionWithHighNonce64Minus2, ttGasLimit/TransactionWithHighGasLimit64Minus1.
 */
const AT_THE_BOUNDS = [
  'f86788fffffffffffffffe0182520894095e7baea6a6c7c4c2dfeb977efac326af552d8780801ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a01fffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
  'f865800188ffffffffffffffff94095e7baea6a6c7c4c2dfeb977efac326af552d870b801ba048b55bfa915ac795c431978d8a6a992b628d557da5ff759b307d495a36649353a01fffd310ac743f371de3b9f7f9cb56c0b28ad43601b4ab949f53faa07bd2c804',
]

describe('what no node takes', () => {
  /** The signature is taken off; type 0 gets the chain id 1 in its place (EIP-155). */
  const unsignedOf = (signed: string): string => {
    const type = signed.startsWith('02') ? '02' : ''
    // The access lists are empty lists, which toRlp takes as fromRlp gives them.
    const fields = (fromRlp(`0x${signed.slice(type.length)}`, 'hex') as Hex[]).slice(0, -3)
    return type + toRlp(type === '' ? [...fields, '0x01', '0x', '0x'] : fields).slice(2)
  }

  test.each(Object.entries(NO_NODE_TAKES))('is refused: %s', (_, signed) => {
    expect(() => transaction(unsignedOf(signed))).toThrow('expected the fields')
  })

  test('ends where nodes begin to take it', () => {
    for (const signed of AT_THE_BOUNDS) expect(transaction(unsignedOf(signed)).length).toBe(32)
  })

  test('is each number with a leading zero or a byte too many, and each recipient of another length', () => {
    const fields = ['01', '07', '02', '03', '825208', `94${'11'.repeat(20)}`, '01', '80', 'c0']
    const withField = (at: number, item: string) => transaction(`02${toList(fields.with(at, item))}`)
    for (const [at, bytes] of [8, 8, 32, 32, 8, 20, 32].entries()) {
      const full = `${(0x80 + bytes).toString(16)}${'11'.repeat(bytes)}`
      expect(withField(at, full).length).toBe(32)
      expect(withField(at, '80').length).toBe(32)
      for (const item of [`${(0x81 + bytes).toString(16)}${'11'.repeat(bytes + 1)}`, '00', '820001']) {
        expect(() => withField(at, item)).toThrow('expected the fields')
      }
    }
    for (const bytes of [19, 21, 32]) {
      expect(() => withField(5, `${(0x80 + bytes).toString(16)}${'11'.repeat(bytes)}`)).toThrow('expected the fields')
    }
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
  expect(traceSignature({ payload, bytes, signature: new Uint8Array(64), publicKey: new Uint8Array(32) }).hash).toBe(
    '0x8efc6957484114e44ea5ff50c92a497abdb79a86dd44c2f438fdec98bcdad240',
  )
})
