// Fees in an asset, on runtimes that name it by a Location and swap it in a pool, and on one that names it by its id.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ApiPromise, WsProvider } from '@polkadot/api'
import type { ProviderInterface } from '@polkadot/rpc-provider/types'
import type { Intent, SubstrateUnsigned } from '../../../src/chains/chain.ts'
import { parseFeeAsset } from '../../../src/chains/substrate/contracts.ts'
import { payloadOf } from '../../../src/chains/substrate/extrinsic.ts'
import { feeAssetOf } from '../../../src/chains/substrate/fee-assets.ts'
import { compact, toHex } from '../../../src/chains/substrate/scale.ts'
import { storageKey } from '../../../src/chains/substrate/storage.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { isLeftOut } from '../../support/long.ts'
import { own, sendOn } from './collections.ts'
import { coinLocation, refusalOf, UNIT, USDT, usdtLocation, withFeeAsset } from './fee-asset-world.ts'
import { FOREIGN } from './foreign-assets.ts'
import { assetHubRuntime, varaRuntime } from './metadata.ts'
import { differencesOf, lacksSpecs, type Spec, type SpecChain, startSpec } from './specs.ts'

const POLKADOT = { network: 'Polkadot' } as const
const NEW = own({ publicKey: new Uint8Array(32).fill(9) })

describe('the asset of a fee', () => {
  const runtime = assetHubRuntime()
  const typeOfLocation = runtime.registry.lookup.types.find(
    ({ type: { path } }) => path.join('::') === 'staging_xcm::v5::location::Location',
  )

  test.each([0, 1, 63, 64, 1984, 16_384, 2 ** 30, 2 ** 32 - 1])(
    '%i is spelled as the codec spells its Location',
    (id) => {
      const location = { parents: 0, interior: { X2: [{ PalletInstance: 50 }, { GeneralIndex: id }] } }
      const type = runtime.registry.createLookupType(typeOfLocation?.id ?? 0)
      expect(feeAssetOf(runtime, POLKADOT, `asset:${id}`)).toBe(runtime.registry.createType(type, location).toHex())
    },
  )

  test('may be a foreign asset, by its Location in the form of the runtime', () => {
    expect(feeAssetOf(runtime, POLKADOT, FOREIGN.ether)).toBe('0x0201090704')
    for (const word of ['foreign:0x02', 'foreign:0x020109070400', 'foreign:0xffff']) {
      expect(() => feeAssetOf(runtime, POLKADOT, word)).toThrow('must be a Location in SCALE')
    }
  })

  test('is refused by a runtime that takes fees only in the coin', () => {
    const vara = varaRuntime()
    if (vara === null) return console.log('Not run on Vara: VARA_METADATA names no file with its metadata.')
    expect(() => feeAssetOf(vara, { network: 'Vara' }, USDT)).toThrow(
      'Field "unsigned_transaction.asset_id" must be absent on Vara: its runtime takes fees only in the coin.',
    )
  })

  test('is given by digits below 2^32, or by its contract', () => {
    expect(
      ['0', '1984', 'asset:1984', String(2 ** 32 - 1), FOREIGN.weth].map((each) => parseFeeAsset(each, 'asset_id')),
    ).toEqual(['asset:0', USDT, USDT, `asset:${2 ** 32 - 1}`, FOREIGN.weth])
    const malformed = [
      '',
      '-1',
      '1.5',
      '0x7c0',
      '01984',
      ' 1984',
      String(2 ** 32),
      '9'.repeat(40),
      'USDT',
      'asset:',
      'pool:0',
    ]
    for (const text of [...malformed, 'uniques:5', 'foreign:0x1', 'foreign:0xAB', 'foreign:', '{"parents":0}']) {
      expect(() => parseFeeAsset(text, 'asset_id')).toThrow('Field "asset_id" must be the id of an asset')
    }
  })
})

const HUBS: Readonly<Record<string, Spec>> = {
  'an Asset Hub with Locations of XCM 5, which runs calls in advance': 'hub',
  "Kusama's Asset Hub with Locations of XCM 3": 'kusama',
}

describe.each(Object.entries(HUBS))('on %s', (name, spec) => {
  if (isLeftOut(`fees in assets on ${name}`)) return
  if (lacksSpecs(`fees in assets on ${name}`, spec)) return
  let on: SpecChain
  let world: Awaited<ReturnType<typeof withFeeAsset>>
  let [hers, his] = ['', '']
  const pay = (value: bigint, more: Partial<Intent> = {}): Intent => ({
    ...{ to: his, value, input: '0x', feeAsset: USDT },
    ...more,
  })
  const call = (pallet: string, method: string, ...values: readonly unknown[]): Intent => ({
    ...on.intentOf(on.call(pallet, method, ...values)),
    feeAsset: USDT,
  })

  beforeAll(async () => {
    on = await startSpec(spec)
    world = await withFeeAsset(on)
    ;({ hers, his } = world)
  }, 120_000)
  afterAll(() => on?.local.stop())

  test('the signed bytes are those of @polkadot/api with this asset', async () => {
    const unsigned = (await world.prepare(pay(UNIT, { maxPriorityFeePerGas: 7n }), world.alice)).unsigned
    const { nonce, blockHash, era } = unsigned as SubstrateUnsigned
    const provider = new WsProvider(on.local.wsUrl)
    const api = await ApiPromise.create({ provider: provider as unknown as ProviderInterface, noInitWarn: true })
    try {
      let bytes = ''
      const signRaw = async ({ data }: { readonly data: string }) => {
        bytes = data
        return { id: 1, signature: `0x01${'00'.repeat(64)}` as const }
      }
      await api.tx.balances?.transferKeepAlive?.(his, UNIT).signAsync(hers, {
        ...{ signer: { signRaw }, assetId: usdtLocation, nonce, blockHash, tip: 7n },
        era: api.createType('ExtrinsicEra', era),
      })
      expect(toHex(bytesToSign('substrate', payloadOf(unsigned as SubstrateUnsigned))) as string).toBe(bytes)
    } finally {
      await api.disconnect()
    }
  }, 60_000)

  test('a transfer takes its amount in the coin and its fee in the asset, at most the quoted one', async () => {
    const [preview] = await on.chain.preview(hers, [pay(UNIT)])
    const quoted = preview?.feeInAsset?.amount ?? 0n
    expect(preview).toMatchObject({ success: true, feeInAsset: { contract: USDT } })
    expect(preview?.changes).toEqual([
      { standard: 'native', contract: null, tokenId: null, from: hers, to: his, amount: UNIT },
    ])
    const before = await world.held(hers)
    const { status, worstCost } = await sendOn(on.chain, { intent: pay(UNIT), by: world.alice })
    expect([status.success, worstCost]).toEqual([true, UNIT])
    const after = await world.held(hers)
    const fee = before.asset - after.asset
    expect(before.coin - after.coin).toBe(UNIT)
    expect(fee).toBeGreaterThan(0n)
    expect(fee).toBeLessThanOrEqual(quoted)
    // A quarter above the current fee, for congestion and for the pool's price.
    expect(quoted).toBeLessThan((fee * 13n) / 10n)
  }, 60_000)

  test('a sender without coins to spend pays in the asset, and moves the asset', async () => {
    const { charlie } = world
    const mine = own(charlie)
    const before = await world.held(mine)
    const { status } = await sendOn(on.chain, { intent: call('assets', 'transfer', 1984, his, 400_000), by: charlie })
    expect(status.success).toBe(true)
    const after = await world.held(mine)
    expect(after.coin).toBe(before.coin)
    expect(before.asset - after.asset).toBeGreaterThan(400_000n)
    expect(await refusalOf(world.prepare(on.intentOf(on.call('system', 'remark', '0x')), charlie))).toEqual([
      'balance_insufficient',
      expect.stringContaining('for this transaction and its fee'),
    ])
    expect(await refusalOf(world.prepare(pay(1n), charlie))).toEqual([
      'balance_insufficient',
      expect.stringContaining('for this transaction, beside'),
    ])
    // The fee is taken first, so less than the whole balance is left.
    for (const [method, amount] of [
      ['transfer', after.asset],
      ['transferKeepAlive', after.asset - 10_000n],
    ] as const) {
      const intents = [call('assets', method, 1984, his, amount)]
      intents.push(call('utility', 'batchAll', [on.call('assets', method, 1984, his, amount)]))
      for (const intent of intents) {
        const [code, sentence] = (await refusalOf(world.prepare(intent, charlie))) ?? []
        expect([code, sentence]).toEqual(['balance_insufficient', expect.stringContaining('of asset:1984')])
      }
    }
  }, 60_000)

  test.skipIf(spec !== 'hub')(
    'is refused with a reason where it cannot be paid',
    async () => {
      await on.send(on.call('assets', 'freezeAsset', 7), world.alice)
      const nowhere = `foreign:${toHex(Buffer.concat([Uint8Array.of(1, 1, 0), compact(4_000n)]))}`
      const FIELD = 'Field "unsigned_transaction.asset_id" must be an asset'
      const cases: readonly (readonly [Partial<Intent>, string])[] = [
        [{ feeAsset: 'asset:99' }, `${FIELD} of Polkadot: there is no asset:99.`],
        [{ feeAsset: nowhere }, `${FIELD} of Polkadot: there is no ${nowhere}.`],
        // The coin itself, and an asset of another pallet.
        [{ feeAsset: 'foreign:0x0100' }, `${FIELD} of Polkadot: there is no foreign:0x0100.`],
        [{ feeAsset: 'foreign:0x0002043205011f' }, `${FIELD} of Polkadot: there is no foreign:0x0002043205011f.`],
        [{ feeAsset: 'asset:7' }, `${FIELD} that can move: asset:7 is frozen.`],
        [
          { feeAsset: 'asset:8' },
          `${FIELD} that a pool exchanges for PAS: no pool takes asset:8, or none has enough PAS.`,
        ],
        // More coins than the pool has.
        [
          { maxPriorityFeePerGas: 1_000n * UNIT },
          `${FIELD} that a pool exchanges for PAS: no pool takes ${USDT}, or none has enough PAS.`,
        ],
      ]
      for (const [more, sentence] of cases) {
        const told = ['invalid_input', sentence.replaceAll('PAS', on.row.coin.symbol)]
        expect(await refusalOf(world.prepare(pay(1n, more), world.alice))).toEqual(told as never)
      }
      const unknown = pay(1n, { feeAsset: 'asset:99' })
      const asked = [on.chain.fill(unknown, hers, { nonce: 0 }), on.chain.preview(hers, [unknown])].map(refusalOf)
      for (const each of asked) expect((await each)?.[1]).toContain('there is no asset:99')
    },
    60_000,
  )

  // fee-asset.test.ts shows the same on the local Asset Hub.
  test('a sender with too little of the asset is refused, sees it in a preview, and may still sign', async () => {
    const poor = own(world.dave)
    const sentence = /needs 0\.\d+ of asset:1984 for the fee of this transaction.*, and has 0 of asset:1984\.$/
    expect(await refusalOf(world.prepare(pay(1n), world.dave))).toEqual([
      'balance_insufficient',
      expect.stringMatching(sentence),
    ])
    const bundle: Intent[] = [pay(1n), { to: his, value: 2n, input: '0x' }]
    const previews = await on.chain.preview(poor, bundle)
    expect(previews.map(({ success, changes }) => [success, changes?.length])).toEqual([
      [false, 0],
      [true, 1],
    ])
    expect(previews[0]?.error).toStartWith(`balance insufficient: ${poor} needs`)
    expect(previews[1]?.feeInAsset).toBeUndefined()
    expect(await on.chain.fill(pay(1n), poor, { nonce: 0 })).toMatchObject({ feeAsset: '0x0002043205011f' })
  }, 60_000)

  test.skipIf(spec !== 'hub')(
    'of a bundle each pays behind those before it',
    async () => {
      const { asset } = await world.held(own(world.charlie))
      const dear = { ...call('system', 'remark', '0x'), maxPriorityFeePerGas: UNIT / 25n }
      const [one] = await on.chain.preview(own(world.charlie), [dear])
      const most = Number((asset - 10_000n) / (one?.feeInAsset?.amount ?? 1n))
      expect(most).toBeGreaterThan(0)
      const previews = await on.chain.preview(own(world.charlie), Array(most + 1).fill(dear))
      expect(previews.map(({ success }) => success)).toEqual([...Array(most).fill(true), false])
    },
    60_000,
  )

  test.skipIf(spec !== 'hub')(
    'a foreign asset pays by its Location',
    async () => {
      const ether = { parents: 2, interior: { X1: [{ GlobalConsensus: { Ethereum: { chainId: 1 } } }] } }
      const feeAsset = FOREIGN.ether
      await on.local.rpc('dev_setStorage', [[[storageKey(on.runtime, 'sudo', 'key'), toHex(world.alice.publicKey)]]])
      const made = await on.sendAll(
        [
          on.call('sudo', 'sudo', on.call('foreignAssets', 'forceCreate', ether, hers, true, 1_000)),
          on.call('foreignAssets', 'mint', ether, hers, 10n ** 20n),
          on.call('assetConversion', 'createPool', coinLocation, ether),
          on.call('assetConversion', 'addLiquidity', coinLocation, ether, 1_000n * UNIT, 10n ** 18n, 1, 1, hers),
        ],
        world.alice,
      )
      expect(made.map(({ status }) => [status.success, status.reason])).toEqual(made.map(() => [true, null]))
      const held = async () => {
        const { coin, tokens } = await on.chain.balances({ address: hers, contracts: [feeAsset] })
        return { coin, asset: tokens.get(feeAsset) ?? 0n }
      }
      const before = await held()
      // The state in which extrinsics are filled may be a second old.
      while ((await refusalOf(on.chain.fill(pay(UNIT, { feeAsset }), hers, { nonce: 0 }))) !== null) await Bun.sleep(50)
      const { status, moved } = await world.send(pay(UNIT, { feeAsset }), world.alice)
      expect(status).toMatchObject({ kind: 'mined', success: true })
      expect(moved).toEqual([{ contract: null, from: hers, to: his, amount: UNIT }])
      const after = await held()
      expect([before.coin - after.coin, before.asset > after.asset]).toEqual([UNIT, true])
      const all = { ...call('foreignAssets', 'transfer', ether, his, after.asset), feeAsset }
      expect(await refusalOf(world.prepare(all, world.alice))).toEqual([
        'balance_insufficient',
        expect.stringContaining(`of ${feeAsset} for the fee`),
      ])
    },
    60_000,
  )

  test('reported movements and fees agree with balances, also for failed and refunded extrinsics', async () => {
    const fromBlock = (await on.chain.head()).latest.number + 1n
    const tooMuch = on.call('balances', 'transferKeepAlive', NEW, 10n ** 30n)
    const costly = on.call('balances', 'transferKeepAlive', NEW, UNIT)
    const sent = [
      await world.send(pay(3n), world.alice),
      await world.send(pay(10n ** 30n), world.alice),
      await world.send(call('utility', 'batch', [tooMuch, costly, costly, costly]), world.alice),
      await world.send(call('assets', 'transfer', 1984, his, 5n), world.alice),
    ]
    expect(sent.map(({ status }) => status?.kind === 'mined' && status.success)).toEqual([true, false, false, true])
    const swapped = spec === 'kusama'
    const told = sent.map(({ moved }) => moved)
    if (!swapped) {
      expect(told).toEqual([
        [{ contract: null, from: hers, to: his, amount: 3n }],
        [],
        [],
        [{ contract: USDT, from: hers, to: his, amount: 5n }],
      ])
    }
    const found = await differencesOf(on.chain, { fromBlock, of: [hers] })
    expect([found.length, found.flat()]).toEqual([sent.length, []])
    // If the fees were left out, each block would differ.
    const lacking = await differencesOf(on.chain, { fromBlock, of: [hers], change: () => [] })
    expect(lacking.map((each) => each.some(({ contract }) => contract === USDT))).toEqual(
      swapped ? [true, true, true, true] : [false, false, false, true],
    )
  }, 60_000)
})
