// Paseo's test Asset Hub as it was made in 2025: what the local Asset Hub of the tests does not have.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Intent, Movement } from '../../../src/chains/chain.ts'
import { NOBODY } from '../../../src/chains/networks.ts'
import { toHex } from '../../../src/chains/substrate/extrinsic.ts'
import { storageKey } from '../../../src/chains/substrate/storage.ts'
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

  /** What a call of hers moved, by her address alone. */
  const hersIn = async (call: ReturnType<SpecChain['call']>) => {
    const { alice } = await people()
    const [preview] = await hub.chain.preview(hers, [hub.intentOf(call)])
    const { number } = await hub.send(call, alice)
    const [block] = (await hub.chain.movements({ fromBlock: number, toBlock: number })) ?? []
    const of = (moves: readonly Movement[]) =>
      moves
        .filter(({ from, to }) => from === hers || to === hers)
        .map(({ contract, from, to, amount }) => [
          contract,
          from === hers ? to : from,
          from === hers ? -amount : amount,
        ])
    return { foretold: of(preview?.changes ?? []), happened: of(block?.movements ?? []) }
  }

  test('a swap is told on both sides, and foretold so', async () => {
    const coin = { parents: 1, interior: 'Here' }
    const asset = { parents: 0, interior: { X2: [{ PalletInstance: 50 }, { GeneralIndex: 7 }] } }
    await hersIn(
      hub.call('utility', 'batchAll', [
        hub.call('assets', 'create', 7, hers, 10),
        hub.call('assets', 'mint', 7, hers, 1_000_000n),
        hub.call('assetConversion', 'createPool', coin, asset),
        hub.call('assetConversion', 'addLiquidity', coin, asset, 1_000n * UNIT, 100_000n, 1n, 1n, hers),
      ]),
    )
    const swap = (path: readonly unknown[], amount: bigint) =>
      hersIn(hub.call('assetConversion', 'swapExactTokensForTokens', path, amount, 1n, hers, true))
    const there = await swap([coin, asset], 10n * UNIT)
    expect(there.happened).toEqual([
      [null, NOBODY.Polkadot, -10n * UNIT],
      ['asset:7', NOBODY.Polkadot, 987n],
    ])
    expect(there.foretold).toEqual(there.happened)
    const back = await swap([asset, coin], 100n)
    expect(back.happened).toEqual([
      ['asset:7', NOBODY.Polkadot, -100n],
      [null, NOBODY.Polkadot, expect.any(BigInt)],
    ])
    expect(back.foretold).toEqual(back.happened)
  }, 60_000)

  test('what governance gives and takes is told, and a deposit that is reserved is not', async () => {
    const { alice } = await people()
    const sudoKey = storageKey(hub.runtime, 'sudo', 'key')
    await hub.local.rpc('dev_setStorage', [[[sudoKey, toHex(alice.publicKey)]]])
    const { coin } = await hub.chain.balances({ address: hers, contracts: [] })
    const set = (planck: bigint) =>
      hersIn(hub.call('sudo', 'sudo', hub.call('balances', 'forceSetBalance', hers, planck)))
    // Her own fee is taken before, and given back after.
    const { happened } = await set(coin + UNIT)
    const fee = happened[0]?.[2] as bigint
    expect(happened).toEqual([[null, NOBODY.Polkadot, fee]])
    expect(fee).toBeGreaterThan(UNIT)
    expect(fee).toBeLessThan(2n * UNIT)
    expect(await hersIn(hub.call('proxy', 'addProxy', his, 'Any', 0))).toEqual({ foretold: [], happened: [] })
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
