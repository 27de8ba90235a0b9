// Fees that are paid in an asset, through the API, on a runtime that names assets by their ids and takes fees in
// sufficient ones.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { encodeAddress } from '@polkadot/util-crypto'
import type { Hex } from '../../src/chains/chain.ts'
import { createRpc } from '../../src/chains/node/rpc.ts'
import { existentialDeposit } from '../../src/chains/substrate/account.ts'
import { createRuntimes, type Runtime } from '../../src/chains/substrate/runtime.ts'
import { storageKey } from '../../src/chains/substrate/storage.ts'
import { inspectTransaction } from '../../src/signing/transactions/inspect.ts'
import { differencesOf } from '../chains/substrate/specs.ts'
import { runCli } from '../support/cli.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Polkadot'
const SECRET = 'testnet-secret'
const UNIT = 10n ** 10n
const LEAST = 10_000n

let chain: Awaited<ReturnType<typeof startSubstrateChain>>
let service: Service
let worker: WorkerHere
let runtime: Runtime
let bob: string

const keyOf = (entry: string, parts: readonly unknown[]) => storageKey(runtime, 'assets', entry, parts)

/** A value in a map of pallet Assets. */
const entryOf = (entry: string, parts: readonly unknown[], value: object): readonly [Hex, string] => {
  const map = runtime.storage.assets?.[entry]?.meta.type
  if (map === undefined) throw new Error(`no map assets.${entry}`)
  const type = runtime.registry.createLookupType(map.asMap.value)
  return [keyOf(entry, parts), runtime.registry.createType(type, value).toHex()]
}

const assetOf = (more: object) => ({
  ...{ owner: bob, issuer: bob, admin: bob, freezer: bob, supply: 10n ** 12n, minBalance: LEAST },
  ...{ isSufficient: true, accounts: 1, ...more },
})

beforeAll(async () => {
  chain = await startSubstrateChain(network)
  service = await startService({ rpcUrls: { [network]: chain.wsUrl } })
  worker = await startWorkerHere(service)
  const rpc = createRpc({ rpcUrl: chain.wsUrl, network })
  runtime = await createRuntimes({ rpc, network, ss58Prefix: 0 }).at((await chain.rpc('chain_getBlockHash')) as Hex)
  bob = encodeAddress((await devAccount('Bob')).publicKey, 0)
  await chain.fund(bob)
  await chain.rpc('dev_setStorage', [
    [
      entryOf('asset', [1984], assetOf({})),
      entryOf('metadata', [1984], { name: 'Tether USD', symbol: 'USDT', decimals: 6 }),
      entryOf('asset', [7], assetOf({ isSufficient: false })),
      entryOf('asset', [8], assetOf({ isFrozen: true })),
    ],
  ])
  await chain.newBlock()
})

afterAll(async () => {
  await worker.stop()
  await service.close()
  await chain.stop()
})

const walletWith = async ({ planck, asset }: { readonly planck: bigint; readonly asset: bigint }): Promise<string> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address, planck)
  if (asset > 0n) {
    await chain.rpc('dev_setStorage', [[entryOf('account', [1984, address], { balance: asset, reason: 'Sufficient' })]])
    await chain.newBlock()
  }
  return address
}

const bodyOf = (from: string, unsigned: object) => ({
  ...{ network, signer_wallet_address: from, developer_secret: SECRET },
  unsigned_transaction: { to: bob, value: '5', asset_id: '1984', ...unsigned },
})
const send = (from: string, unsigned: object = {}) =>
  service.post('/transactions/sign-and-send', bodyOf(from, unsigned))
const sign = (from: string, unsigned: object = {}) => service.post('/transactions/sign', bodyOf(from, unsigned))
const preview = (from: string, unsigned: object = {}) =>
  service.post('/transactions/preview', {
    network,
    from,
    unsigned_transaction: bodyOf(from, unsigned).unsigned_transaction,
  })

const told = ({ status, json }: Answer) => [status, json.code ?? null]

/** The balances of the coin and of the asset. */
const held = async (address: string): Promise<readonly [bigint, bigint]> => {
  const { coin, tokens } = await service.ctx.chains.withNode(network).balances({ address, contracts: ['asset:1984'] })
  return [coin, tokens.get('asset:1984') ?? 0n]
}

describe('a fee in an asset', () => {
  test('is taken only from the asset, and is at most what the preview says', async () => {
    const from = await walletWith({ planck: 10n * UNIT, asset: 10n ** 6n })
    const { json: previewed } = await preview(from)
    expect(previewed.simulation).toMatchObject({
      success: true,
      asset_changes: [{ from, to: bob, raw_amount: '5' }],
      fee: { amount: expect.stringMatching(/^0\.0[0-9]+$/), token: { contract_address: 'asset:1984', symbol: 'USDT' } },
    })
    const before = await held(from)
    const { json } = await send(from)
    expect((await service.settled(json.transaction_id)).json).toMatchObject({ status: 'success' })
    const after = await held(from)
    expect(before[0] - after[0]).toBe(5n)
    const fee = before[1] - after[1]
    expect(fee).toBeGreaterThan(0n)
    expect(fee).toBeLessThanOrEqual(BigInt(previewed.simulation.fee.raw_amount))
    expect((await preview(from, { asset_id: undefined })).json.simulation.fee).toBeUndefined()
  }, 30_000)

  longTest(
    'raises no balance alarm if the runtime emits no event for it',
    async () => {
      const on = service.ctx.chains.withNode(network)
      const from = await walletWith({ planck: 10n * UNIT, asset: 10n ** 6n })
      const fromBlock = (await on.head()).latest.number + 1n
      const transfer = runtime.calls.assets?.transfer?.(1984, bob, 20_000)
      const { json } = await send(from, { to: undefined, value: undefined, input: transfer?.toHex() })
      expect((await service.settled(json.transaction_id)).json).toMatchObject({ status: 'success' })
      expect((await differencesOf(on, { fromBlock, of: [from] })).flat()).toEqual([])
      // A larger change of the asset than reported is still a difference.
      const lacking = await differencesOf(on, { fromBlock, of: [bob], change: () => [] })
      expect(lacking.flat()).toMatchObject([{ address: bob, contract: 'asset:1984', changed: 20_000n }])
    },
    30_000,
  )

  test('is part of what is signed', async () => {
    const from = await walletWith({ planck: UNIT, asset: 0n })
    const { json: raw } = await sign(from, { asset_id: 'asset:1984' })
    // After length and version (3 bytes), account (33) and signature (65): era, nonce and tip, then the id in an
    // Option.
    expect(
      Buffer.from(raw.slice(2), 'hex')
        .subarray(3 + 33 + 65 + 4)
        .toString('hex'),
    ).toStartWith('01c0070000')
  })

  longTest(
    'can be paid by a signer with only the existential deposit',
    async () => {
      const from = await walletWith({ planck: existentialDeposit(runtime), asset: 10n ** 6n })
      const before = await held(from)
      const { json } = await send(from, { to: undefined, value: undefined, input: '0x00011068696869' })
      expect((await service.settled(json.transaction_id)).json).toMatchObject({ status: 'success' })
      const after = await held(from)
      expect([before[0] - after[0], before[1] > after[1]]).toEqual([0n, true])
      const dear = await send(from, { value: '1' })
      expect(told(dear)).toEqual([400, 'balance_insufficient'])
      expect(dear.json.error).toContain('DOT for this transaction, beside')
    },
    30_000,
  )

  test('is refused if the signer has too little of the asset; the answer says how much is needed', async () => {
    const without = await walletWith({ planck: UNIT, asset: 0n })
    const refused = await send(without)
    expect(told(refused)).toEqual([400, 'balance_insufficient'])
    expect(refused.json.error).toMatch(/ needs 0\.\d+ of asset:1984 .*, and has 0 of asset:1984\.$/)
    const { simulation } = (await preview(without)).json
    expect(simulation).toMatchObject({
      success: false,
      asset_changes: [],
      error: expect.stringMatching(/^balance insuff/),
    })
    // The fee does not kill the asset's account.
    const least = await walletWith({ planck: UNIT, asset: LEAST })
    expect(told(await send(least))).toEqual([400, 'balance_insufficient'])
  })

  longTest(
    'reserves the asset while it waits, and is shown by `tx show`',
    async () => {
      const from = await walletWith({ planck: 10n * UNIT, asset: 10n ** 6n })
      const { simulation } = (await preview(from)).json
      const fee = BigInt(simulation.fee.raw_amount)
      // Enough for one and a half.
      const asset = LEAST + (3n * fee) / 2n
      await chain.rpc('dev_setStorage', [[entryOf('account', [1984, from], { balance: asset, reason: 'Sufficient' })]])
      await chain.newBlock()
      await chain.setMode('manual')
      try {
        const both = await Promise.all([send(from), send(from)])
        const [refused, taken] = both.sort((one, other) => other.status - one.status)
        expect([taken?.json.status, told(refused as Answer)]).toEqual(['submitted', [400, 'balance_insufficient']])
        expect(refused?.json.error).toMatch(/ lacks 0\.\d+ of asset:1984 for this and its pending transactions\.$/)
        const { transaction } = await inspectTransaction(service.ctx, { id: taken?.json.transaction_id })
        expect([transaction.feeAsset, transaction.feeAssetCost]).toEqual(['asset:1984', fee])
        const shown = await runCli(['tx', 'show', transaction.id], { ...service.variables, VAULT_SOCKET: '' })
        expect(shown.output).toContain(`paid in asset:1984, of which it takes at most ${fee} base units`)
        // Transactions that pay in the coin do not matter here.
        expect((await send(from, { asset_id: undefined })).json.status).toBe('submitted')
      } finally {
        await chain.setMode('instant')
      }
    },
    30_000,
  )

  longTest(
    'is refused in an asset that does not exist, is frozen, or is not sufficient',
    async () => {
      const from = await walletWith({ planck: 10n * UNIT, asset: 10n ** 6n })
      const FIELD = 'Field "unsigned_transaction.asset_id" must be'
      const sentences = {
        '99': `${FIELD} an asset of Polkadot: there is no asset:99.`,
        '8': `${FIELD} an asset that can move: asset:8 is frozen.`,
        '7': `${FIELD} a sufficient asset: the runtime takes no fee in asset:7.`,
        'foreign:0x0201090704': `${FIELD} the id of an asset of pallet Assets on Polkadot.`,
      }
      for (const [asset_id, sentence] of Object.entries(sentences)) {
        for (const act of [send, sign, preview]) {
          const answer = await act(from, { asset_id })
          expect([...told(answer), answer.json.error]).toEqual([400, 'invalid_input', sentence])
        }
      }
    },
    30_000,
  )

  test('is refused as bad input for a malformed id', async () => {
    const from = await walletWith({ planck: UNIT, asset: 0n })
    const malformed = [
      '',
      '-1',
      '0x7c0',
      '01984',
      String(2 ** 32),
      '9'.repeat(12),
      'USDT',
      'pool:0',
      'foreign:0x1',
      1984,
    ]
    for (const asset_id of someOf(malformed, 4)) {
      for (const act of [send, sign, preview]) {
        const answer = await act(from, { asset_id })
        expect(told(answer)).toEqual([400, 'invalid_input'])
        expect(answer.json.error).toMatch(/^Field "unsigned_transaction\.asset_id" must be /)
      }
    }
  })
})
