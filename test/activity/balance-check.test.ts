// Indexed movements are compared with balances: they agree if the reader is right, and a wrong reader is reported.

import { expect, test } from 'bun:test'
import { encodeFunctionData } from 'viem'
import { balanceChecksEnded, startBalanceCheck } from '../../src/assets/activity/check-balances.ts'
import { indexStep } from '../../src/assets/activity/index-blocks.ts'
import type { BlockMovements, Chain, RecordedMovement } from '../../src/chains/chain.ts'
import type { Log } from '../../src/platform/process/log.ts'
import { fundedAccount } from '../support/chains.ts'
import { shared } from '../support/shared.ts'
import { startWorld } from './world.ts'

const [outsider, wallet, other] = [fundedAccount(0), fundedAccount(1), fundedAccount(2)]
const lines: [level: string, facts: Record<string, unknown>, message: string][] = []

const world = await shared(startWorld())
const project = await world.createProject()
for (const { address } of [wallet, other]) await world.watch(project, address)
const forwarder = await world.chain.deploy('CoinForwarder')
const note = (level: string) => (facts: Record<string, unknown>, message: string) => lines.push([level, facts, message])
const log = { error: note('error'), warn: note('warn'), info: note('info') } as unknown as Log
const worker = { ...world.open({ balanceCheckPercent: 100 }), log }

/** A payment by a contract, within a transaction of another account. */
const forward = async (planck: bigint): Promise<void> => {
  const data = encodeFunctionData({ abi: forwarder.abi, functionName: 'split', args: [[wallet.address]] })
  const sending = { account: outsider, to: forwarder.address, data, value: planck, gas: 400_000n }
  await world.chain.receiptOf(await world.chain.walletClient.sendTransaction(sending))
}

const index = async (chain: Chain): Promise<void> => {
  for (let steps = 0; steps < 100; steps += 1) {
    const result = await indexStep(worker, chain)
    await balanceChecksEnded(chain)
    if (result === 'caught_up') return
  }
  throw new Error('the indexer did not catch up')
}

const honest = (): Chain => worker.chains.withNode('Ethereum')

/** A reader of movements with a defect. */
const reading = (change: (movements: readonly RecordedMovement[]) => readonly RecordedMovement[]): Chain => {
  const chain = honest()
  const spoilt = (block: BlockMovements) => ({ ...block, movements: change(block.movements) })
  return { ...chain, movements: async (range) => (await chain.movements(range))?.map(spoilt) ?? null }
}

type Counter = 'balanceChecks' | 'balanceDifferences'

/** What was counted since the last call. */
const counted = async (name: Counter): Promise<readonly { labels: object; value: number }[]> => {
  const counter = worker.metrics.chains[name]
  const { values } = await counter.get()
  counter.reset()
  return values.filter(({ value }) => value > 0).map(({ labels, value }) => ({ labels, value }))
}

test('finds no difference for coin movements, also within transactions, and for fees', async () => {
  await world.chain.send({ account: wallet, to: other.address, value: 5n })
  await forward(70n)
  await index(honest())
  expect(lines).toEqual([])
  const [checks] = await counted('balanceChecks')
  expect(checks?.labels).toEqual({ network: 'Ethereum' })
  expect(checks?.value).toBeGreaterThanOrEqual(3)
  expect(await counted('balanceDifferences')).toEqual([])
})

test('a reader that leaves out coins is detected, logged with the missing amount and counted; indexing goes on', async () => {
  await forward(700n)
  await world.chain.send({ account: wallet, to: other.address, value: 9n })
  // All movements within transactions.
  await index(reading((movements) => movements.filter(({ logIndex }) => logIndex >= -1)))
  expect(lines.splice(0)).toEqual([
    [
      'error',
      {
        network: 'Ethereum',
        ...{ block: expect.any(String), blockHash: expect.any(String), address: wallet.address, contract: null },
        ...{ changed: '700', expected: '0' },
      },
      'a balance change differs from the activity',
    ],
  ])
  expect(await counted('balanceDifferences')).toEqual([{ labels: { network: 'Ethereum', asset: 'coin' }, value: 1 }])
})

test('a reader that reports a movement twice or with another amount is detected', async () => {
  for (const defect of [
    (movements: readonly RecordedMovement[]) => movements.map((each) => ({ ...each, amount: each.amount + 1n })),
    (movements: readonly RecordedMovement[]) => [
      ...movements,
      ...movements.map((each) => ({ ...each, logIndex: each.logIndex + 1_000 })),
    ],
  ]) {
    await forward(3n)
    await index(reading(defect))
    expect(lines.splice(0).map(([level, facts]) => [level, facts.address])).toEqual([['error', wallet.address]])
  }
})

test('a check that fails is logged, and indexing goes on', async () => {
  await forward(4n)
  const chain: Chain = { ...honest(), checkBalances: () => Promise.reject(new Error('the node is away')) }
  await index(chain)
  expect(lines.splice(0).map(([level, , message]) => [level, message])).toEqual([
    ['warn', 'could not check the balances of a block'],
  ])
  await index(honest())
  expect(lines).toEqual([])
})

test('one check of a few blocks runs at a time for a network; without a check the indexer makes no such requests', async () => {
  const gate = Promise.withResolvers<null>()
  let asked = 0
  const slow: Chain = {
    ...honest(),
    checkBalances: () => {
      asked += 1
      return gate.promise
    },
  }
  const head = await honest().head()
  const blocks = (await honest().movements({ fromBlock: 1n, toBlock: head.latest.number })) ?? []
  expect(blocks.length).toBeGreaterThan(5)
  for (let times = 0; times < 3; times += 1) startBalanceCheck(worker, { chain: slow, blocks, moved: new Set() })
  gate.resolve(null)
  await balanceChecksEnded(slow)
  expect(asked).toBe(4)
  // On a devnet, where no check is configured.
  startBalanceCheck(world.open(), { chain: slow, blocks, moved: new Set() })
  await balanceChecksEnded(slow)
  expect(asked).toBe(4)
})
