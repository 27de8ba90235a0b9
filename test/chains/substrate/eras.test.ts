// How long extrinsics stay valid: five minutes by the measured block time, or what the caller chooses.

import { afterAll, describe, expect, test } from 'bun:test'
import { createRpc } from '../../../src/chains/node/rpc.ts'
import { chosenEra, createEras } from '../../../src/chains/substrate/eras.ts'
import { startFakeNode } from '../evm/fake-node.ts'
import { assetHubRuntime } from './metadata.ts'

const ROW = { era: { seconds: 300, least: 16, most: 1_024 }, blockIntervalMs: 6_000 }
const NOW_MS = 1_800_000_000_000
const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`

const u64 = (value: number): string => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return `0x${bytes.toString('hex')}`
}

/** A chain whose newest final block is `newest`. */
const chainOf = (input: {
  readonly newest: number
  readonly blockMs: () => number
  /** For how long it stood still, ten blocks ago. */
  readonly stoodMs?: number
}) => {
  const node = startFakeNode({
    behaviour: ({ method, params: [first, second] }) => {
      if (method === 'chain_getBlockHash') return { result: hashOf(Number(first)) }
      const above = input.newest - Number(second)
      const age = above * input.blockMs() + (above > 10 ? (input.stoodMs ?? 0) : 0)
      return method === 'state_getStorage' ? { result: u64(NOW_MS - age) } : undefined
    },
  })
  nodes.push(node)
  const number = BigInt(input.newest)
  const head = {
    number,
    hash: `0x${'aa'.repeat(32)}`,
    parentHash: `0x${'ab'.repeat(32)}`,
    timestampMs: NOW_MS,
  } as const
  return { rpc: createRpc({ rpcUrl: node.rpcUrl, network: 'Vara' }), head, calls: node.calls }
}

const nodes: ReturnType<typeof startFakeNode>[] = []
afterAll(() => {
  for (const node of nodes) node.stop()
})

describe('an era', () => {
  test.each([
    ['2 s', 2_000, 256],
    ['3 s', 3_000, 128],
    ['6 s', 6_000, 64],
    ['12 s', 12_000, 32],
    ['10 ms', 10, 1_024],
    ['no time', 0, 16],
  ])('of a chain with a block every %s has so many blocks', async (_, blockMs, blocks) => {
    const { rpc, head } = chainOf({ newest: 1_000, blockMs: () => blockMs })
    expect(await createEras({ rpc, row: ROW }).blocks(head)).toBe(blocks)
  })

  test.each([
    ['a minute', 60_000],
    ['an hour', 3_600_000],
    ['a week', 604_800_000],
  ])('of a chain that stood still for %s has as many blocks as before', async (_, stoodMs) => {
    const { rpc, head } = chainOf({ newest: 1_000, blockMs: () => 6_000, stoodMs })
    expect(await createEras({ rpc, row: ROW }).blocks(head)).toBe(64)
  })

  test('of a new chain is measured on the blocks that exist', async () => {
    for (const [newest, blocks] of [
      [0, 16],
      [3, 128],
    ] as const) {
      const { rpc, head } = chainOf({ newest, blockMs: () => 3_000 })
      expect(await createEras({ rpc, row: ROW }).blocks(head)).toBe(blocks)
    }
  })

  test('is measured again after ten minutes, without questions in between', async () => {
    let [blockMs, nowMs] = [6_000, 0]
    const { rpc, head, calls } = chainOf({ newest: 1_000, blockMs: () => blockMs })
    const eras = createEras({ rpc, row: ROW, nowMs: () => nowMs })
    expect(await eras.blocks(head)).toBe(64)
    const asked = calls.length
    blockMs = 2_000
    nowMs = 599_999
    expect(await eras.blocks(head)).toBe(64)
    expect(calls.length).toBe(asked)
    nowMs = 600_000
    expect(await eras.blocks(head)).toBe(256)
  })
})

describe('a caller’s own era', () => {
  const runtime = assetHubRuntime()

  // This runtime keeps the hashes of 4,096 blocks.
  test.each([4, 64, 4_096])('may have %d blocks', (period) => {
    expect(chosenEra(runtime, { period })).toBe(period)
  })

  test.each([0, 1, 2, 3, 100, 8_192, 2 ** 17])('is refused with %d blocks', (period) => {
    expect(() => chosenEra(runtime, { period })).toThrow(
      'Field "unsigned_transaction.era" must be a power of two from 4 to 4096',
    )
  })
})
