// Followers are woken by new blocks of real nodes, by WebSocket, through a proxy that can cut the connection.

import { afterEach, describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { evmNetworkRow, substrateNetworkRow } from '../../../src/platform/networks.ts'
import { startChain } from '../../support/chains.ts'
import { longTest } from '../../support/long.ts'
import { shared } from '../../support/shared.ts'
import { startSubstrateChain } from '../../support/substrate.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { createMemory } from '../evm/memory.ts'

const WAIT_MS = 250
const LONG_WAIT_MS = 2_000
/** Between blocks, as hints that come faster are left out. */
const APART_MS = 150
const FOR_EVER_MS = 3_600_000
const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })

const node = await shared(startChain('Ethereum'))
const proxy = await shared(startTcpProxy(node.rpcUrl.replace('http:', 'ws:')))
const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const chainAt = (rpcUrl: string) => createEvmChain({ row, rpcUrl, memory: createMemory() })

type Following = Pick<ReturnType<typeof chainAt>, 'nextBlock'>

const { signal } = new AbortController()

/** Whether a wait ended before its time. */
const isWoken = async (chain: Following, waitMs = WAIT_MS): Promise<boolean> => {
  const begunMs = performance.now()
  await chain.nextBlock({ sinceMs: begunMs, waitMs, signal })
  return performance.now() - begunMs < waitMs
}

/** Waits again and again, while blocks are made. */
const wakeBy = async (chain: Following, makeBlock: () => Promise<unknown>): Promise<void> => {
  for (let hasWoken = false; !hasWoken; ) {
    let isOver = false
    const woken = isWoken(chain, LONG_WAIT_MS).finally(() => {
      isOver = true
    })
    while (!isOver) {
      await makeBlock()
      await sleep(APART_MS)
    }
    hasWoken = await woken
  }
}

describe('a follower of an EVM network', () => {
  test('is woken by a new block, and not by itself', async () => {
    const chain = chainAt(proxy.url)
    await wakeBy(chain, () => node.mine())
    // The block may be told late.
    while (await isWoken(chain));
    expect(await isWoken(chain)).toBe(false)
  })

  longTest('does not wait for a block that came meanwhile', async () => {
    const chain = chainAt(proxy.url)
    await wakeBy(chain, () => node.mine())
    const sinceMs = performance.now()
    while (await isWoken(chain));
    const waiting = chain.nextBlock({ sinceMs: performance.now(), waitMs: FOR_EVER_MS, signal })
    await node.mine()
    await waiting
    await chain.nextBlock({ sinceMs, waitMs: FOR_EVER_MS, signal })
  })

  longTest('is woken by each of two blocks that come shortly after each other', async () => {
    const chain = chainAt(proxy.url)
    await wakeBy(chain, () => node.mine())
    while (await isWoken(chain));
    for (let block = 0; block < 2; block += 1) {
      const waiting = chain.nextBlock({ sinceMs: performance.now(), waitMs: FOR_EVER_MS, signal })
      await node.mine()
      await waiting
    }
  })

  longTest('is woken again after the connection was cut', async () => {
    const chain = chainAt(proxy.url)
    await wakeBy(chain, () => node.mine())
    proxy.cut()
    await wakeBy(chain, () => node.mine())
  })

  longTest(
    'only waits at a node that is asked by HTTP, at one that is away, and at one whose URL cannot be opened',
    async () => {
      const away = await startTcpProxy(node.rpcUrl.replace('http:', 'ws:'))
      await away.stop()
      for (const chain of [chainAt(node.rpcUrl), chainAt(away.url), chainAt(`${away.url}#not-allowed`)]) {
        const woken = isWoken(chain)
        await node.mine()
        expect(await woken).toBe(false)
      }
    },
  )

  test('stops waiting when the process stops', async () => {
    const stopping = new AbortController()
    const waiting = chainAt(proxy.url).nextBlock({
      sinceMs: performance.now(),
      waitMs: FOR_EVER_MS,
      signal: stopping.signal,
    })
    stopping.abort()
    await waiting
  })

  test('asks everything else by the WebSocket too', async () => {
    const chain = chainAt(proxy.url)
    const { latest } = await chain.head()
    expect((await chain.block(latest.number))?.hash).toBe(latest.hash)
    expect(await chain.isRightNode()).toBe(true)
  })
})

longTest('a follower of Polkadot is woken by a new block', async () => {
  const chopsticks = await startSubstrateChain('Polkadot')
  stops.push(chopsticks.stop)
  const polkadot = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })
  const chain = createSubstrateChain({ row: polkadot, rpcUrl: chopsticks.wsUrl, memory: createMemory() })
  await wakeBy(chain, () => chopsticks.newBlock())
})
