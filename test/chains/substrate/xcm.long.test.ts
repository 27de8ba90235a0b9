// Coins from and to other chains, on a runtime of SDK stable2603. Its XCM uses the same deposit and withdraw events as
// fees.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { BlockMovements, Movement } from '../../../src/chains/chain.ts'
import { polkadot } from '../../../src/platform/networks/polkadot.ts'
import { type Account, people } from './collections.ts'
import { differencesOf, lacksSpecs, type SpecChain, startSpec } from './specs.ts'

const UNIT = 10n ** 10n
const NONE = polkadot.nobody

describe.skipIf(lacksSpecs('coins that move by XCM', 'bulletin'))('coins that move by XCM', () => {
  let chain: SpecChain
  let [hers, his] = ['', '']
  let [alice, bob]: [Account?, Account?] = []

  beforeAll(async () => {
    chain = await startSpec('bulletin')
    ;({ alice, bob, hers, his } = await people())
    await chain.local.fund(hers, 1_000n * UNIT)
    await chain.local.newBlock()
  }, 60_000)
  afterAll(() => chain?.local.stop())

  const account = (who: Account | undefined) => ({ AccountId32: { network: null, id: who?.publicKey } })
  const DOT = { parents: 1, interior: 'Here' }
  const dot = (planck: bigint) => ({ id: DOT, fun: { Fungible: planck } })

  const coin = (from: string, to: string, amount: unknown) => ({
    ...{ standard: 'native', contract: null, tokenId: null },
    ...{ from, to, amount },
  })

  /** The movements of the newest block, without positions. */
  const told = async (
    number?: bigint,
  ): Promise<{ readonly block: BlockMovements; readonly moved: readonly Movement[] }> => {
    const at = number ?? (await chain.chain.head()).latest.number
    const [block] = (await chain.chain.movements({ fromBlock: at, toBlock: at })) ?? []
    if (block === undefined) throw new Error('expected the block')
    const moved = block.movements.map(({ transactionHash, logIndex, itemIndex, initiatedBy, ...movement }) => movement)
    return { block, moved }
  }

  const planckOf = async (address: string): Promise<bigint> =>
    (await chain.chain.balances({ address, contracts: [] })).coin

  test('a fee in an asset is refused by a runtime that takes fees only in the coin', async () => {
    const intent = { to: his, value: UNIT, input: '0x', feeAsset: 'asset:1984' } as const
    for (const ask of [
      () => chain.chain.prepare(intent, hers, { pending: async () => [] }),
      () => chain.chain.fill(intent, hers, { nonce: 0 }),
      () => chain.chain.preview(hers, [intent]),
    ]) {
      await expect(ask()).rejects.toMatchObject({
        code: 'invalid_input',
        message:
          'Field "unsigned_transaction.asset_id" must be absent on Polkadot: its runtime takes fees only in the coin.',
      })
    }
  })

  test('the preview and the movements of a teleport show what it takes, without the fee', async () => {
    if (alice === undefined) throw new Error('expected an account')
    const beneficiary = { V4: { parents: 0, interior: { X1: [account(bob)] } } }
    const assets = { V4: [dot(5n * UNIT)] }
    const teleport = chain.call(
      'polkadotXcm',
      'limitedTeleportAssets',
      { V4: DOT },
      beneficiary,
      assets,
      0,
      'Unlimited',
    )
    const [preview] = await chain.chain.preview(hers, [chain.intentOf(teleport)])
    expect(preview).toMatchObject({ success: true, error: null })
    // The cost of delivering the message comes on top of the five coins, and is not a fee of the extrinsic.
    const changes = [coin(hers, NONE, 5n * UNIT), coin(hers, NONE, expect.any(BigInt))]
    expect(preview?.changes).toEqual(changes as Movement[])
    const before = await planckOf(hers)
    const { number, hash } = await chain.send(teleport, alice)
    const { block, moved } = await told(number)
    expect(moved).toEqual(preview?.changes ?? [])
    const causes = block.movements.map(({ transactionHash, initiatedBy }) => ({ transactionHash, initiatedBy }))
    expect(causes).toEqual(Array(2).fill({ transactionHash: hash, initiatedBy: hers }))
    const gone = before - (await planckOf(hers))
    const movedAway = moved.reduce((sum, { amount }) => sum + amount, 0n)
    expect(gone).toBeGreaterThan(movedAway)
    expect(gone - movedAway).toBeLessThan(UNIT / 10n)
  })

  const arriving = (planck: bigint) =>
    chain.runtime.registry
      .createType('XcmVersionedXcm' as 'u32', {
        V4: [
          { ReceiveTeleportedAsset: [dot(planck)] },
          'ClearOrigin',
          { BuyExecution: { fees: dot(planck), weightLimit: 'Unlimited' } },
          {
            DepositAsset: {
              assets: { Wild: { AllCounted: 1 } },
              beneficiary: { parents: 0, interior: { X1: [account(bob)] } },
            },
          },
        ],
      })
      .toHex()

  test.each([
    ['the relay chain', (message: string) => ({ downward: [message] })],
    ['another parachain', (message: string) => ({ horizontal: { 1000: [message] } })],
  ])('coins that arrive from %s are reported with the block, less the cost of delivery', async (_, from) => {
    const before = await planckOf(his)
    await chain.local.rpc('dev_newBlock', [{ messages: from(arriving(7n * UNIT)) }])
    const { block, moved } = await told()
    const arrived = (await planckOf(his)) - before
    expect(arrived).toBeGreaterThan((69n * UNIT) / 10n)
    expect(moved).toEqual([coin(NONE, his, arrived)] as Movement[])
    // A message of another chain, and no extrinsic, brought them.
    expect(block.movements[0]).toMatchObject({ transactionHash: block.hash, initiatedBy: null })
  })

  test('reported movements agree with balances; without deposits and withdrawals they do not', async () => {
    const of = [hers, his]
    const honest = await differencesOf(chain.chain, { fromBlock: 2n, of })
    expect(honest.length).toBeGreaterThanOrEqual(4)
    expect(honest.flat()).toEqual([])
    const withoutNobody = (movements: BlockMovements['movements']) =>
      movements.filter(({ from, to }) => from !== NONE && to !== NONE)
    const found = (await differencesOf(chain.chain, { fromBlock: 2n, of, change: withoutNobody })).flat()
    expect(found.map(({ address, contract }) => [address, contract])).toEqual([
      [hers, null],
      [his, null],
      [his, null],
    ])
    const [gone, come] = found.map(({ changed, expected }) => changed - expected)
    expect(gone).toBeLessThan(-5n * UNIT)
    expect(come).toBeGreaterThan((69n * UNIT) / 10n)
  })
})
