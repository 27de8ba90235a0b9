// Paseo's test Asset Hub of 2025, for what the tests' local Asset Hub lacks.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Intent, Movement, RecordedMovement } from '../../../src/chains/chain.ts'
import { toHex } from '../../../src/chains/substrate/scale.ts'
import { storageKey } from '../../../src/chains/substrate/storage.ts'
import type { AppError } from '../../../src/platform/errors.ts'
import { polkadot } from '../../../src/platform/networks/polkadot.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { devAccount } from '../../support/substrate.ts'
import { type Account, livesOn, own, people } from './collections.ts'
import { differencesOf, lacksSpecs, type SpecChain, startSpec } from './specs.ts'

type Call = ReturnType<SpecChain['call']>

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
    const { alice } = await people()
    await hub.local.rpc('dev_setStorage', [[[storageKey(hub.runtime, 'sudo', 'key'), toHex(alice.publicKey)]]])
    await hub.local.newBlock()
  }, 60_000)
  afterAll(() => hub?.local.stop())

  const coins = (to: string, value: bigint): Intent => ({ to, value, input: '0x' })

  test('simulates the calls of a bundle one after the other', async () => {
    const bundle = [coins(NEW, UNIT), coins(NEW, 10n ** 30n), coins(NEW, UNIT)]
    const previews = await hub.chain.preview(hers, bundle)
    expect(previews.map(({ success, error }) => [success, error])).toEqual([
      [true, null],
      [false, 'execution reverted: Arithmetic.Underflow'],
      [true, null],
    ])
    expect(previews[0]?.changes).toMatchObject([{ standard: 'native', from: hers, to: NEW, amount: UNIT }])
  }, 60_000)

  test('refuses a call that it cannot decode as bad input, also in a dry run', async () => {
    const tooLong = hub.call('nfts', 'setMetadata', 1, 1, `0x${'00'.repeat(300)}`)
    const intent = hub.intentOf(tooLong)
    const asked = [
      () => hub.chain.preview(hers, [intent]),
      () => hub.chain.fill(intent, hers, { nonce: 0 }),
      () => hub.chain.prepare(intent, hers, { pending: async () => [] }),
    ]
    for (const ask of asked) await expect(ask()).rejects.toMatchObject({ code: 'invalid_input' })
  })

  test('names a collection of Uniques with its pallet, and one of Nfts by its digits', async () => {
    const { alice } = await people()
    const config = { settings: 0, mintSettings: { mintType: 'Issuer', defaultItemSettings: 0 } }
    const older = await hub.send(hub.call('uniques', 'create', 5, hers), alice)
    expect(older.status).toMatchObject({ success: true, contractAddress: 'uniques:5' })
    const newer = await hub.send(hub.call('nfts', 'create', hers, config), alice)
    expect(newer.status).toMatchObject({ success: true, contractAddress: expect.stringMatching(/^[0-9]+$/) })
  }, 60_000)

  test('a collection of pallet Nfts is created, minted in, listed and moved', async () => {
    expect(await livesOn(hub.chain)).toMatch(/^[0-9]+$/)
  }, 60_000)

  /** The movements of an account's address by its call. */
  const movesBy = async (account: Account, call: Call) => {
    const who = own(account)
    const [preview] = await hub.chain.preview(who, [hub.intentOf(call)])
    const { number } = await hub.send(call, account)
    const [block] = (await hub.chain.movements({ fromBlock: number, toBlock: number })) ?? []
    const of = (moves: readonly Movement[]) =>
      moves
        .filter(({ from, to }) => from === who || to === who)
        .map(({ contract, from, to, amount }) => [contract, from === who ? to : from, from === who ? -amount : amount])
    return { foretold: of(preview?.changes ?? []), happened: of(block?.movements ?? []) }
  }
  const hersIn = async (call: Call) => movesBy((await people()).alice, call)

  test('a swap is reported on both sides, and the preview shows the same', async () => {
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
      [null, polkadot.nobody, -10n * UNIT],
      ['asset:7', polkadot.nobody, 987n],
    ])
    expect(there.foretold).toEqual(there.happened)
    const back = await swap([asset, coin], 100n)
    expect(back.happened).toEqual([
      ['asset:7', polkadot.nobody, -100n],
      [null, polkadot.nobody, expect.any(BigInt)],
    ])
    expect(back.foretold).toEqual(back.happened)
  }, 60_000)

  describe('what moves all that the fee leaves is foretold without the fee', () => {
    const DEPOSIT = 10n ** 8n
    const fresh = async (name: Parameters<typeof devAccount>[0]): Promise<Account> => {
      const account = await devAccount(name)
      await hub.local.fund(own(account), UNIT)
      await hub.local.newBlock()
      return account
    }

    test.each([false, true])(
      'transfer_all, which keeps the account alive: %p',
      async (keepAlive) => {
        const charlie = await fresh('Charlie')
        const { foretold, happened } = await movesBy(charlie, hub.call('balances', 'transferAll', hers, keepAlive))
        expect(happened).toEqual([[null, hers, expect.any(BigInt)]])
        expect(happened[0]?.[2]).toBeGreaterThan(-UNIT)
        expect(foretold).toEqual(happened)
      },
      60_000,
    )

    test('a transfer that leaves dust', async () => {
      const dave = await fresh('Dave')
      const most = UNIT - DEPOSIT - DEPOSIT / 2n
      const { foretold, happened } = await movesBy(dave, hub.call('balances', 'transferAllowDeath', hers, most))
      expect(happened).toEqual([
        [null, polkadot.nobody, expect.any(BigInt)],
        [null, hers, -most],
      ])
      expect(foretold).toEqual(happened)
    }, 60_000)

    test('in a bundle, and a fee that cannot be paid', async () => {
      const eve = await fresh('Eve')
      const all = hub.intentOf(hub.call('balances', 'transferAll', hers, false))
      const [remark, moved, broke] = await hub.chain.preview(own(eve), [
        hub.intentOf(hub.call('system', 'remarkWithEvent', '0x01')),
        all,
        all,
      ])
      expect(remark).toMatchObject({ success: true, changes: [] })
      expect(moved?.success).toBe(true)
      const [{ amount = 0n } = {}] = moved?.changes ?? []
      const [alone] = await hub.chain.preview(own(eve), [all])
      // The remark costs a fee too.
      expect(amount).toBeLessThan(alone?.changes?.[0]?.amount ?? 0n)
      expect(broke).toMatchObject({ success: false, error: expect.stringMatching(/^balance insufficient: .* fee /) })
    }, 60_000)
  })

  test('a refusal says how much of a frozen balance can be moved', async () => {
    const ferdie = own(await devAccount('Ferdie'))
    const type = hub.runtime.storage.system?.account?.meta.type.asMap.value
    if (type === undefined) throw new Error('no System.Account')
    const { registry } = hub.runtime
    const account = { providers: 1, data: { free: 10n * UNIT, frozen: 9n * UNIT } }
    const value = registry.createType(registry.createLookupType(type), account).toHex()
    await hub.local.rpc('dev_setStorage', [[[storageKey(hub.runtime, 'system', 'account', [ferdie]), value]]])
    await hub.local.newBlock()
    const refused = hub.chain.prepare(coins(NEW, 2n * UNIT), ferdie, { pending: async () => [] })
    await expect(refused).rejects.toMatchObject({
      code: 'balance_insufficient',
      message: expect.stringMatching(
        /^\S+ needs 2\.\d+ DOT for this transaction and its fee, and can move 1 DOT of its 10 DOT: the other 9 DOT are bonded, locked or frozen\.$/,
      ),
    })
  }, 60_000)

  describe('a call whose weight no block holds', () => {
    /** Each of them may remove a thousand accounts. */
    const heavy = () =>
      hub.call(
        'utility',
        'forceBatch',
        Array.from({ length: 40 }, () => hub.call('assets', 'destroyAccounts', 7)),
      )

    test('is refused before it is sent, and the preview says so', async () => {
      const { alice } = await people()
      const intent = hub.intentOf(heavy())
      const reason =
        /^execution reverted: no block holds this call: \S.* % of what a block allows for one\. Split it\.$/
      await expect(hub.chain.prepare(intent, hers, { pending: async () => [] })).rejects.toMatchObject({
        code: 'execution_reverted',
        message: expect.stringMatching(reason),
      })
      const [preview] = await hub.chain.preview(hers, [intent])
      expect(preview).toMatchObject({ success: false, error: expect.stringMatching(reason), changes: [] })
      // The node says the same of what was only filled in.
      const unsigned = await hub.chain.fill(intent, hers, { nonce: async ({ pendingCount }) => pendingCount })
      const signed = hub.chain.assemble(unsigned, alice.sign(bytesToSign('substrate', hub.chain.payloadOf(unsigned))))
      expect(await hub.chain.broadcast(signed.raw)).toMatchObject({
        kind: 'rejected',
        reason: expect.stringContaining('block limits'),
      })
    }, 60_000)
  })

  test('changes by governance are reported, and a reserved deposit is not', async () => {
    const { coin } = await hub.chain.balances({ address: hers, contracts: [] })
    const set = (planck: bigint) =>
      hersIn(hub.call('sudo', 'sudo', hub.call('balances', 'forceSetBalance', hers, planck)))
    // Her fee is withdrawn before her balance is set, and refunded after.
    const { happened } = await set(coin + UNIT)
    const fee = happened[0]?.[2] as bigint
    expect(happened).toEqual([[null, polkadot.nobody, fee]])
    expect(fee).toBeGreaterThan(UNIT)
    expect(fee).toBeLessThan(2n * UNIT)
    expect(await hersIn(hub.call('proxy', 'addProxy', his, 'Any', 0))).toEqual({ foretold: [], happened: [] })
  }, 60_000)

  describe('a failed inner call of a successful call is reported as failed', () => {
    const pay = (planck: bigint) => hub.call('balances', 'transferKeepAlive', NEW, planck)
    const tooMuch = () => pay(10n ** 30n)
    const batch = (...calls: readonly Call[]) => hub.call('utility', 'batch', calls)
    const forHim = (call: Call) => hub.call('proxy', 'proxy', his, null, call)
    const previewOf = async (call: Call) => (await hub.chain.preview(hers, [hub.intentOf(call)]))[0]

    type Case = {
      readonly call: () => Call
      readonly reason: string
      readonly from?: () => string
      readonly moves?: readonly bigint[]
    }
    const INTERRUPTED = 'Utility.BatchInterrupted: Arithmetic.Underflow (the calls before it were done)'
    const CASES: Readonly<Record<string, Case>> = {
      'a batch that is interrupted: what came before is done': {
        call: () => batch(pay(UNIT), tooMuch(), pay(2n * UNIT)),
        reason: INTERRUPTED,
        moves: [UNIT],
      },
      'a batch that goes on: the others are done': {
        call: () => hub.call('utility', 'forceBatch', [tooMuch(), pay(UNIT), tooMuch(), pay(2n * UNIT)]),
        reason: 'Utility.ItemFailed: Arithmetic.Underflow (the calls beside it were done), and 1 more',
        moves: [UNIT, 2n * UNIT],
      },
      "a proxy's call": { call: () => forHim(tooMuch()), reason: 'Proxy.ProxyExecuted: Arithmetic.Underflow' },
      "a batch as a proxy's call, which itself succeeds": {
        call: () => forHim(batch(pay(UNIT), tooMuch())),
        reason: INTERRUPTED,
        from: () => his,
        moves: [UNIT],
      },
      "root's call": {
        call: () => hub.call('sudo', 'sudo', hub.call('balances', 'forceTransfer', NEW, his, 10n ** 30n)),
        reason: 'Sudo.Sudid: Arithmetic.Underflow',
      },
      'a call that is dispatched as somebody else': {
        call: () => hub.call('sudo', 'sudo', hub.call('utility', 'dispatchAs', { system: { Signed: his } }, tooMuch())),
        reason: 'Utility.DispatchedAs: Arithmetic.Underflow',
      },
    }

    let sent: ReadonlyMap<string, Awaited<ReturnType<SpecChain['send']>>>
    beforeAll(async () => {
      const { alice, bob } = await people()
      await hub.send(hub.call('proxy', 'addProxy', hers, 'Any', 0), bob)
      const all = await hub.sendAll(
        Object.values(CASES).map(({ call }) => call()),
        alice,
      )
      sent = new Map(all.map((each, index) => [Object.keys(CASES)[index] ?? '', each]))
    }, 60_000)

    test.each(Object.keys(CASES))('%s', async (name) => {
      const { call, reason, from = () => hers, moves = [] } = CASES[name] as Case
      const moved = moves.map((amount) => expect.objectContaining({ from: from(), to: NEW, amount }))
      const failed = { success: false, error: `execution reverted: ${reason}`, changes: moved }
      expect(await previewOf(call())).toMatchObject(failed)
      const { status, number, hash } = sent.get(name) ?? {}
      expect(status).toMatchObject({ success: false, reason, failedWithin: false })
      const [block] = (await hub.chain.movements({ fromBlock: number ?? 0n, toBlock: number ?? 0n })) ?? []
      expect(block?.movements.filter(({ transactionHash, to }) => transactionHash === hash && to === NEW)).toEqual(
        moved,
      )
    })

    test('also in a bundle whose other calls succeed', async () => {
      const bundle = [pay(UNIT), batch(pay(UNIT), tooMuch()), pay(UNIT)].map(hub.intentOf)
      const previews = await hub.chain.preview(hers, bundle)
      expect(previews.map(({ success, error }) => [success, error])).toEqual([
        [true, null],
        [false, `execution reverted: ${INTERRUPTED}`],
        [true, null],
      ])
    })

    test('a call that would fail is refused, except in a force_batch', async () => {
      const judged = (call: Call) =>
        hub.chain.prepare(hub.intentOf(call), hers, { pending: async () => [] }).then(
          () => null,
          ({ code, message }: AppError) => [code, message],
        )
      // The sender's balance does not matter here.
      const unknown = hub.call('assets', 'transfer', 99, NEW, 1)
      const reason = INTERRUPTED.replace('Arithmetic.Underflow', 'Assets.Unknown')
      const goesOn = (...calls: readonly Call[]) => hub.call('utility', 'forceBatch', calls)
      expect(await judged(batch(pay(UNIT), unknown))).toEqual(['execution_reverted', `execution reverted: ${reason}`])
      expect(await judged(goesOn(pay(UNIT), unknown))).toBeNull()
      // The inner batch does not continue after a failure.
      expect((await judged(goesOn(unknown, batch(unknown))))?.[0]).toBe('execution_reverted')
    }, 60_000)

    test("a multisig's call, for the last signatory who approves it", async () => {
      const { alice, bob } = await people()
      const weight = { refTime: 10_000_000_000n, proofSize: 100_000n }
      const approve = (by: Account, other: Account, when: object | null) =>
        hub.send(hub.call('multisig', 'asMulti', 2, [other.address], when, tooMuch(), weight), by)
      const { number, index, status } = await approve(alice, bob, null)
      expect(status).toMatchObject({ success: true, reason: null })
      const last = await approve(bob, alice, { height: number, index })
      const reason = expect.stringMatching(/^Multisig\.MultisigExecuted: [A-Z]/)
      expect(last.status).toMatchObject({ success: false, reason })
    }, 60_000)

    test('a call whose fallback ran is a success', async () => {
      const either = hub.call('utility', 'ifElse', tooMuch(), pay(UNIT))
      expect(await previewOf(either)).toMatchObject({ success: true, error: null })
      expect((await hub.send(either, (await people()).alice)).status).toMatchObject({ success: true, reason: null })
    }, 60_000)
  })

  test('all reported movements agree with balances of the coin and of assets', async () => {
    const found = await differencesOf(hub.chain, { fromBlock: 2n, of: [hers, his, NEW] })
    expect(found.length).toBeGreaterThanOrEqual(12)
    expect(found.flat()).toEqual([])
    const withoutAssets = (movements: readonly RecordedMovement[]) =>
      movements.filter(({ contract }) => contract === null)
    const lacking = (await differencesOf(hub.chain, { fromBlock: 2n, of: [hers], change: withoutAssets })).flat()
    expect(new Set(lacking.map(({ contract }) => contract))).toEqual(new Set(['asset:7', 'pool:0']))
  }, 60_000)
})

/** The same walk on a further runtime. */
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

    test('a collection of pallet Nfts is created, minted in, listed and moved; reported movements agree with balances', async () => {
      expect(await livesOn(kusama.chain)).toMatch(/^[0-9]+$/)
      const { hers, his } = await people()
      expect((await differencesOf(kusama.chain, { fromBlock: 2n, of: [hers, his] })).flat()).toEqual([])
    }, 60_000)
  },
)
