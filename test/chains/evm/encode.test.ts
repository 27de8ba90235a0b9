import { expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  type TransactionSerialized,
} from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import type { EvmUnsigned, Hex } from '../../../src/chains/chain.ts'
import { assemble, disassemble, payloadOf, serializeUnsigned } from '../../../src/chains/evm/encode.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { isLong, roundsOf } from '../../support/long.ts'

const GROUP_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const PRIVATE_KEY: Hex = `0x${'46'.repeat(32)}`

const bytesOf = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')

const signatureOf = (r: bigint, s: bigint, recoveryId: number): Uint8Array =>
  Buffer.concat([bytesOf(r), bytesOf(s), Buffer.from([recoveryId])])

const signed = async (unsigned: EvmUnsigned, privateKey: Hex) => {
  const { r, s, yParity } = await sign({
    hash: `0x${Buffer.from(bytesToSign('evm', payloadOf(unsigned))).toString('hex')}`,
    privateKey,
  })
  return assemble(unsigned, signatureOf(BigInt(r), BigInt(s), yParity ?? 0))
}

const transfer: EvmUnsigned = {
  family: 'evm',
  chainId: 1,
  nonce: 0,
  to: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  value: 1n,
  input: '0x',
  gasLimit: 21_000n,
  maxFeePerGas: 2_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
}

/**
 * From ethereumjs-monorepo, packages/tx/test/json/eip1559.json: nonce, value, gas limit, tip, cap, and the signed
 * transaction, to 0x…aaaa on the Calaveras test network (chain id 7822).
 */
const CALAVERAS_KEY: Hex = '0x8f2a55949038a9610f50fb23b5883af3b4ecb3c3bb792cbcefbd1542c692be63'
const CALAVERAS: readonly (readonly [number, bigint, bigint, bigint, bigint, Hex])[] = [
  [
    ...([819, 43203529n, 35552n, 75853n, 121212n] as const),
    '0x02f870821e8e8203338301284d8301d97c828ae094000000000000000000000000000000000000aaaa8402933bc980c080a0d067f2167008c59219652f91cbf8788dbca5f771f6e91e2b7657e85b78b472e0a01d305af9fe81fdba43f0dfcd400ed24dcace0a7e30d4e85701dcaaf484cd079e',
  ],
  [
    ...([353, 61901619n, 32593n, 38850n, 136295n] as const),
    '0x02f86f821e8e8201618297c283021467827f5194000000000000000000000000000000000000aaaa8403b08b3380c001a004205678f13fc1d7b10feea6513dfa76e24418b6e08097d95c6f93a3b64e536da01d45ad61bfece43862de2cce7d2575a8c1d08c26c87f3cb5f26d7b0be54a91b2',
  ],
  [
    ...([709, 6478043n, 28335n, 86252n, 94636n] as const),
    '0x02f86f821e8e8202c5830150ec830171ac826eaf94000000000000000000000000000000000000aaaa8362d8db80c001a09880d133cd636f8c8dce32e2c43494b9f2dc000eee8dc61931e09f866ed04b46a00e44d5c503c7f08b36c8b062c32a963f3dd20a71e95e3d903bfbe7f4da47cd47',
  ],
  [
    ...([119, 65456115n, 62341n, 24721n, 107729n] as const),
    '0x02f86d821e8e778260918301a4d182f38594000000000000000000000000000000000000aaaa8403e6c7f380c001a0e38e239770801eb995498c821e55ac9c19ae09184bb27b34be105e02fe3b7615a067c64ca6bd6d9107e85fd581ab2e70a14b637eb36505bb40861ef9d6e800cab6',
  ],
]

test('signs the published vectors of EIP-1559', async () => {
  for (const [nonce, value, gasLimit, maxPriorityFeePerGas, maxFeePerGas, raw] of CALAVERAS) {
    const ours = await signed(
      {
        ...{ family: 'evm', chainId: 7822, to: `0x${'0'.repeat(36)}aaaa`, input: '0x' },
        ...{ nonce, value, gasLimit, maxPriorityFeePerGas, maxFeePerGas },
      },
      CALAVERAS_KEY,
    )
    expect(ours).toEqual({ raw, hash: keccak256(raw) })
  }
})

test('gives the same signed bytes as a viem account, and they decode to the same fields', async () => {
  const account = privateKeyToAccount(PRIVATE_KEY)
  const quantity = fc.bigInt({ min: 0n, max: 2n ** 96n })
  const unsigned = fc.record({
    chainId: fc.constantFrom(1, 137, 8453, 43_114, 11_155_111, 80_002),
    nonce: fc.nat({ max: 2 ** 31 - 1 }),
    to: fc.option(fc.constant(transfer.to), { nil: null }),
    value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    input: fc.uint8Array({ maxLength: 300 }).map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`),
    gasLimit: fc.bigInt({ min: 0n, max: 2n ** 63n }),
    fees: fc.tuple(quantity, quantity),
  })
  await fc.assert(
    fc.asyncProperty(unsigned, async ({ fees: [one, other], ...rest }) => {
      const maxPriorityFeePerGas = one < other ? one : other
      const maxFeePerGas = one < other ? other : one
      const ours = await signed({ ...rest, family: 'evm', maxFeePerGas, maxPriorityFeePerGas }, PRIVATE_KEY)
      const theirs = await account.signTransaction({
        type: 'eip1559',
        chainId: rest.chainId,
        nonce: rest.nonce,
        ...(rest.to === null ? {} : { to: rest.to as Hex }),
        value: rest.value,
        data: rest.input,
        gas: rest.gasLimit,
        maxFeePerGas,
        maxPriorityFeePerGas,
      })
      expect(ours.raw).toBe(theirs)
      expect(disassemble(ours.raw)).toEqual({ ...rest, family: 'evm', maxFeePerGas, maxPriorityFeePerGas })
    }),
    { numRuns: roundsOf(200), seed: 20_260_101 },
  )
})

test('gives the same signed bytes as a viem account for all three types, with access lists', async () => {
  const account = privateKeyToAccount(PRIVATE_KEY)
  const hex = (length: number) =>
    fc
      .uint8Array({ minLength: length, maxLength: length })
      .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`)
  const accessList = fc.array(fc.record({ address: hex(20), storageKeys: fc.array(hex(32), { maxLength: 4 }) }), {
    maxLength: 5,
  })
  const fields = fc.record({
    chainId: fc.constantFrom(1, 137, 43_114, 11_155_111, 2 ** 40),
    nonce: fc.nat({ max: 2 ** 31 - 1 }),
    to: fc.option(hex(20), { nil: null }),
    value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    input: fc.uint8Array({ maxLength: 100 }).map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`),
    gasLimit: fc.bigInt({ min: 0n, max: 2n ** 63n }),
    price: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    type: fc.constantFrom('legacy', 'eip2930', 'eip1559'),
    accessList,
  })
  await fc.assert(
    fc.asyncProperty(fields, async ({ price, type, accessList, ...rest }) => {
      const { chainId, nonce, to, value, input: data, gasLimit: gas } = rest
      const of = { chainId, nonce, value, data, gas, ...(to === null ? {} : { to }) } as const
      const fees = { maxFeePerGas: price, maxPriorityFeePerGas: price / 2n }
      const unsigned: EvmUnsigned =
        type === 'eip1559'
          ? { ...rest, ...fees, accessList, family: 'evm' }
          : { ...rest, maxFeePerGas: price, maxPriorityFeePerGas: price, type, accessList, family: 'evm' }
      const listed = type === 'eip1559' ? { ...of, ...fees, type, accessList } : null
      const priced = type === 'eip2930' ? { ...of, gasPrice: price, type, accessList } : null
      const theirs = listed ?? priced ?? ({ ...of, gasPrice: price, type: 'legacy' } as const)
      expect(serializeUnsigned(unsigned)).toBe(serializeTransaction(theirs))
      const ours = await signed(unsigned, PRIVATE_KEY)
      expect(ours.raw).toBe(await account.signTransaction(theirs))
      const serializedTransaction = ours.raw as TransactionSerialized
      expect(await recoverTransactionAddress({ serializedTransaction })).toBe(account.address)
    }),
    { numRuns: isLong ? 300 : 25, seed: 20_260_102 },
  )
})

test('computes the hash before anything is sent', async () => {
  const { raw, hash } = await signed(transfer, PRIVATE_KEY)
  expect(parseTransaction(raw).nonce).toBe(0)
  expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
  expect(await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })).toBe(
    privateKeyToAccount(PRIVATE_KEY).address,
  )
})

test('every field changes the bytes to sign', () => {
  const base = Buffer.from(bytesToSign('evm', payloadOf(transfer))).toString('hex')
  const changes: Partial<EvmUnsigned>[] = [
    { chainId: 137 },
    { nonce: 1 },
    { to: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' },
    { to: null },
    { value: 2n },
    { input: '0x00' },
    { gasLimit: 21_001n },
    { maxFeePerGas: 2_000_000_001n },
    { maxPriorityFeePerGas: 1_000_000_001n },
    { accessList: [{ address: transfer.to ?? '', storageKeys: [] }] },
    { type: 'legacy' },
    { type: 'eip2930' },
  ]
  const seen = new Set([base])
  for (const change of changes) {
    const bytes = bytesToSign('evm', payloadOf({ ...transfer, ...change }))
    expect(bytes.length).toBe(32)
    seen.add(Buffer.from(bytes).toString('hex'))
  }
  expect(seen.size).toBe(changes.length + 1)
})

test('refuses a malformed signature', () => {
  const good = signatureOf(1n, 1n, 0)
  expect(() => assemble(transfer, good)).not.toThrow()
  expect(() => assemble(transfer, signatureOf(GROUP_ORDER - 1n, GROUP_ORDER / 2n, 1))).not.toThrow()
  const wrong = [
    new Uint8Array(0),
    good.subarray(0, 64),
    Buffer.concat([good, Buffer.from([0])]),
    signatureOf(1n, 1n, 2),
    signatureOf(1n, 1n, 27),
    signatureOf(0n, 1n, 0),
    signatureOf(1n, 0n, 0),
    signatureOf(GROUP_ORDER, 1n, 0),
    signatureOf(2n ** 256n - 1n, 1n, 0),
    // The upper half of s: EIP-2.
    signatureOf(1n, GROUP_ORDER / 2n + 1n, 0),
    signatureOf(1n, GROUP_ORDER - 1n, 1),
  ]
  for (const signature of wrong) expect(() => assemble(transfer, signature)).toThrow()
})

test('encodes the unsigned form as EIP-1559 says', () => {
  // 0x02 ‖ rlp([1, 0, 1 gwei, 2 gwei, 21000, to, 1, "", []]), written by hand: 39 bytes of fields after 0xe7.
  const form = '0x02e70180843b9aca008477359400825208945aaeb6053f3e94c9b9a09f33669435e7ef1beaed0180c0'
  expect(serializeUnsigned(transfer)).toBe(form)
  expect(Buffer.from(bytesToSign('evm', payloadOf(transfer))).toString('hex')).toBe(keccak256(form).slice(2))
})
