import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeAbiParameters, type Hex, keccak256, stringToHex } from 'viem'
import { asStandard } from '../../../src/chains/chain.ts'
import {
  checksumMovement,
  parseTransfers,
  TRANSFER_BATCH_TOPIC,
  TRANSFER_SINGLE_TOPIC,
  TRANSFER_TOPIC,
} from '../../../src/chains/evm/logs.ts'
import { roundsOf } from '../../support/long.ts'

const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`
const contract: Hex = `0x${'c0'.repeat(20)}`
const alice = word(0xa11cen)
const bob = word(0xb0bn)
const from = `0x${alice.slice(26)}`
const to = `0x${bob.slice(26)}`
const join = (...words: readonly Hex[]): Hex => `0x${words.map((each) => each.slice(2)).join('')}`
const read = (topics: readonly Hex[], data: Hex, address: Hex = contract) => parseTransfers({ address, topics, data })

test('the topics are the hashes of the events’ signatures', () => {
  const digest = (signature: string): Hex => keccak256(stringToHex(signature))
  expect(digest('Transfer(address,address,uint256)')).toBe(TRANSFER_TOPIC)
  expect(digest('TransferSingle(address,address,address,uint256,uint256)')).toBe(TRANSFER_SINGLE_TOPIC)
  expect(digest('TransferBatch(address,address,address,uint256[],uint256[])')).toBe(TRANSFER_BATCH_TOPIC)
})

test('the number of topics distinguishes ERC-20 from ERC-721', () => {
  expect(read([TRANSFER_TOPIC, alice, bob], word(5n))).toEqual([
    { standard: 'erc20', contract, tokenId: null, from, to, amount: 5n },
  ] as never)
  expect(read([TRANSFER_TOPIC, alice, bob, word(5n)], '0x')).toEqual([
    { standard: 'erc721', contract, tokenId: 5n, from, to, amount: 1n },
  ] as never)
  expect(read([TRANSFER_TOPIC], join(alice, bob, word(5n)))).toMatchObject([
    { standard: 'erc20', from, to, amount: 5n },
  ])
})

test('an event with unusual indexing is read by the contract’s standard', () => {
  const [unindexed] = read([TRANSFER_TOPIC, alice, bob], word(5n)).map(checksumMovement)
  const [indexed] = read([TRANSFER_TOPIC, alice, bob, word(5n)], '0x').map(checksumMovement)
  if (unindexed === undefined || indexed === undefined) throw new Error('expected movements')
  expect(asStandard(unindexed, 'erc721')).toMatchObject({ standard: 'erc721', tokenId: 5n, amount: 1n })
  expect(asStandard(indexed, 'erc20')).toMatchObject({ standard: 'erc20', tokenId: null, amount: 5n })
  for (const standard of ['erc20', 'other', undefined] as const) expect(asStandard(unindexed, standard)).toBe(unindexed)
  for (const standard of ['erc721', 'other', undefined] as const) expect(asStandard(indexed, standard)).toBe(indexed)
})

test('the address that a simulation uses for the native coin means the coin', () => {
  const native: Hex = `0x${'ee'.repeat(20)}`
  expect(read([TRANSFER_TOPIC, alice, bob], word(5n), native)).toMatchObject([{ standard: 'native', contract: null }])
})

const batchData = (ids: readonly bigint[], amounts: readonly bigint[]): Hex =>
  encodeAbiParameters([{ type: 'uint256[]' }, { type: 'uint256[]' }], [ids, amounts])
const batch = (data: Hex) => read([TRANSFER_BATCH_TOPIC, alice, alice, bob], data)

test('reads single transfers and batches of ERC-1155', () => {
  expect(read([TRANSFER_SINGLE_TOPIC, alice, alice, bob], join(word(7n), word(9n)))).toMatchObject([
    { standard: 'erc1155', tokenId: 7n, amount: 9n, from, to },
  ])
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.bigInt(0n, 2n ** 256n - 1n), fc.bigInt(0n, 2n ** 256n - 1n)), { maxLength: 20 }),
      (items) => {
        const told = batch(
          batchData(
            items.map(([id]) => id),
            items.map(([, amount]) => amount),
          ),
        )
        expect(told.map(({ tokenId, amount }) => [tokenId, amount])).toEqual(items as never)
      },
    ),
    { numRuns: 100, seed: 3 },
  )
})

test('a batch whose lists are too short or differ in length is ignored', () => {
  const good = batchData([1n], [2n])
  const wrong: Hex[] = [
    '0x',
    word(64n),
    good.slice(0, -64) as Hex,
    batchData([1n, 2n], [3n]),
    // Both lists claim five items and have one.
    join(word(0x40n), word(0x80n), word(5n), word(1n), word(5n), word(2n)),
    join(word(0x40n), word(0x40n), word(2n ** 255n), word(1n)),
    join(word(0x41n), word(0x80n), word(1n), word(1n), word(1n), word(2n)),
    join(word(2n ** 256n - 32n), word(0x40n), word(0n)),
  ]
  for (const data of wrong) expect([data, batch(data)]).toEqual([data, []])
  for (const topics of [[], [TRANSFER_BATCH_TOPIC], [TRANSFER_BATCH_TOPIC, alice, alice]]) {
    expect(read(topics as Hex[], good)).toEqual([])
  }
})

test('never throws, whatever a contract emits', () => {
  const topic = fc.constantFrom<Hex>(
    TRANSFER_TOPIC,
    TRANSFER_SINGLE_TOPIC,
    TRANSFER_BATCH_TOPIC,
    alice,
    word(2n ** 256n - 1n),
  )
  const data = fc.uint8Array({ maxLength: 200 }).map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`)
  const words = fc.array(fc.constantFrom(word(0n), word(1n), word(32n), word(64n), word(2n ** 255n)), { maxLength: 8 })
  fc.assert(
    fc.property(
      fc.array(topic, { maxLength: 4 }),
      fc.oneof(
        data,
        words.map((each) => join(...each)),
      ),
      (topics, bytes) => {
        read(topics, bytes).map(checksumMovement)
      },
    ),
    { numRuns: roundsOf(5_000), seed: 11 },
  )
})
