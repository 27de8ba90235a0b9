// Paseo's test Asset Hub as it was made in 2025: what the local Asset Hub of the tests does not have.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Intent } from '../../../src/chains/chain.ts'
import { livesOn, own, people } from './collections.ts'
import { lacksSpecs, type SpecChain, startSpec } from './specs.ts'

const UNIT = 10n ** 10n
const NEW = own({ publicKey: new Uint8Array(32).fill(7) })

describe.skipIf(lacksSpecs('an Asset Hub with Nfts that runs calls in advance', 'hub'))('an Asset Hub of today', () => {
  let hub: SpecChain
  let [hers, his] = ['', '']

  beforeAll(async () => {
    hub = await startSpec('hub')
    ;({ hers, his } = await people())
    await hub.local.fund(hers, 10_000n * UNIT)
    await hub.local.fund(his, 10_000n * UNIT)
    await hub.local.newBlock()
  }, 60_000)
  afterAll(() => hub?.local.stop())

  const coins = (to: string, value: bigint): Intent => ({ to, value, input: '0x' })

  test('runs a bundle in advance: each call alone, one after the other', async () => {
    const bundle = [coins(NEW, UNIT), coins(NEW, 10n ** 30n), coins(NEW, UNIT)]
    const previews = await hub.chain.preview(hers, bundle)
    expect(previews.map(({ success, error }) => [success, error])).toEqual([
      [true, null],
      [false, 'execution reverted: Arithmetic.Underflow'],
      [true, null],
    ])
    expect(previews[0]?.changes).toMatchObject([{ standard: 'native', from: hers, to: NEW, amount: UNIT }])
  })

  test('a collection of pallet Nfts is created, minted in, listed and moved', async () => {
    expect(await livesOn(hub.chain)).toMatch(/^[0-9]+$/)
  }, 60_000)
})

describe.skipIf(lacksSpecs("Kusama's Asset Hub, which has Nfts and no DryRunApi", 'kusama'))(
  'an Asset Hub that has pallet Nfts and runs nothing in advance',
  () => {
    let kusama: SpecChain
    beforeAll(async () => {
      kusama = await startSpec('kusama')
      const { hers, his } = await people()
      await kusama.local.fund(hers, 10_000n * UNIT)
      await kusama.local.fund(his, 10_000n * UNIT)
      await kusama.local.newBlock()
    }, 60_000)
    afterAll(() => kusama?.local.stop())

    test('a collection of pallet Nfts is created, minted in, listed and moved', async () => {
      expect(await livesOn(kusama.chain)).toMatch(/^[0-9]+$/)
    }, 60_000)
  },
)
