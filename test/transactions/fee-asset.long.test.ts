// Fees that are paid in an asset, through the API, on a runtime that names assets by their ids and takes fees in
// sufficient ones. The suite has short cases of it in substrate.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { encodeAddress } from '@polkadot/util-crypto'
import { existentialDeposit } from '../../src/chains/substrate/account.ts'
import { inspectTransaction } from '../../src/signing/transactions/inspect.ts'
import { differencesOf } from '../chains/substrate/specs.ts'
import { runCli } from '../support/cli.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'
import { type FeeAssets, LEAST, startFeeAssets } from './fee-asset-world.ts'

const network = 'Polkadot'
const UNIT = 10n ** 10n

let chain: TestSubstrateChain
let service: Service
let worker: WorkerHere
let assets: FeeAssets
let bob: string

beforeAll(async () => {
  chain = await startSubstrateChain(network)
  service = await startService({ rpcUrls: { [network]: chain.wsUrl } })
  worker = await startWorkerHere(service)
  bob = encodeAddress((await devAccount('Bob')).publicKey, 0)
  await chain.fund(bob)
  assets = await startFeeAssets({ chain, service, to: bob })
})

afterAll(async () => {
  await worker.stop()
  await service.close()
  await chain.stop()
})

const told = ({ status, json }: Answer) => [status, json.code ?? null]

describe('a fee in an asset', () => {
  test('raises no balance alarm if the runtime emits no event for it', async () => {
    const on = service.ctx.chains.withNode(network)
    const from = await assets.walletWith({ planck: 10n * UNIT, asset: 10n ** 6n })
    const fromBlock = (await on.head()).latest.number + 1n
    const transfer = assets.runtime.calls.assets?.transfer?.(1984, bob, 20_000)
    const { json } = await assets.send(from, { to: undefined, value: undefined, input: transfer?.toHex() })
    expect((await service.settled(json.transaction_id)).json).toMatchObject({ status: 'success' })
    expect((await differencesOf(on, { fromBlock, of: [from] })).flat()).toEqual([])
    // A larger change of the asset than reported is still a difference.
    const lacking = await differencesOf(on, { fromBlock, of: [bob], change: () => [] })
    expect(lacking.flat()).toMatchObject([{ address: bob, contract: 'asset:1984', changed: 20_000n }])
  }, 30_000)

  test('can be paid by a signer with only the existential deposit', async () => {
    const from = await assets.walletWith({ planck: existentialDeposit(assets.runtime), asset: 10n ** 6n })
    const before = await assets.held(from)
    const { json } = await assets.send(from, { to: undefined, value: undefined, input: '0x00011068696869' })
    expect((await service.settled(json.transaction_id)).json).toMatchObject({ status: 'success' })
    const after = await assets.held(from)
    expect([before[0] - after[0], before[1] > after[1]]).toEqual([0n, true])
    const dear = await assets.send(from, { value: '1' })
    expect(told(dear)).toEqual([400, 'balance_insufficient'])
    expect(dear.json.error).toContain('DOT for this transaction, beside')
  }, 30_000)

  test('reserves the asset while it waits, and is shown by `tx show`', async () => {
    const from = await assets.walletWith({ planck: 10n * UNIT, asset: 10n ** 6n })
    const { simulation } = (await assets.preview(from)).json
    const fee = BigInt(simulation.fee.raw_amount)
    // Enough for one and a half.
    const asset = LEAST + (3n * fee) / 2n
    await assets.giveAsset(from, asset)
    await chain.setMode('manual')
    try {
      const both = await Promise.all([assets.send(from), assets.send(from)])
      const [refused, taken] = both.sort((one, other) => other.status - one.status)
      expect([taken?.json.status, told(refused as Answer)]).toEqual(['submitted', [400, 'balance_insufficient']])
      expect(refused?.json.error).toMatch(/ lacks 0\.\d+ of asset:1984 for this and its pending transactions\.$/)
      const { transaction } = await inspectTransaction(service.ctx, { id: taken?.json.transaction_id })
      expect([transaction.feeAsset, transaction.feeAssetCost]).toEqual(['asset:1984', fee])
      const shown = await runCli(['tx', 'show', transaction.id], { ...service.variables, VAULT_SOCKET: '' })
      expect(shown.output).toContain(`paid in asset:1984, of which it takes at most ${fee} base units`)
      // Transactions that pay in the coin do not matter here.
      expect((await assets.send(from, { asset_id: undefined })).json.status).toBe('submitted')
    } finally {
      await chain.setMode('instant')
    }
  }, 30_000)

  test('is refused in an asset that does not exist, is frozen, or is not sufficient', async () => {
    const from = await assets.walletWith({ planck: 10n * UNIT, asset: 10n ** 6n })
    const FIELD = 'Field "unsigned_transaction.asset_id" must be'
    const sentences = {
      '99': `${FIELD} an asset of Polkadot: there is no asset:99.`,
      '8': `${FIELD} an asset that can move: asset:8 is frozen.`,
      '7': `${FIELD} a sufficient asset: the runtime takes no fee in asset:7.`,
      'foreign:0x0201090704': `${FIELD} the id of an asset of pallet Assets on Polkadot.`,
    }
    for (const [asset_id, sentence] of Object.entries(sentences)) {
      for (const act of [assets.send, assets.sign, assets.preview]) {
        const answer = await act(from, { asset_id })
        expect([...told(answer), answer.json.error]).toEqual([400, 'invalid_input', sentence])
      }
    }
  }, 30_000)
})
