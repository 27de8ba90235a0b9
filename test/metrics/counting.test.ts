// What happens to a transaction is counted once, after the commit. A rolled-back change is not counted.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import type { TransactionRow } from '../../db/queries/transactions.ts'
import { createMetrics, type Metrics } from '../../src/platform/metrics/metrics.ts'
import { countOutcome, recordObservation } from '../../src/signing/transactions/record-observation.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'
import { readMetrics } from './exposition.ts'

const network = 'Base'

/** Every series of transactions that is not 0, by its name and its labels without the network. */
const totals = async (metrics: Metrics): Promise<Record<string, number>> => {
  const { series } = readMetrics(await metrics.text())
  const counted = series.filter(({ name, value }) => value > 0 && /^strongroom_(?:transactions|ladder)_/.test(name))
  return Object.fromEntries(
    counted.map(({ name, labels: { network: _, ...labels }, value }) => [
      [name.replace('strongroom_', ''), ...Object.values(labels)].join(' '),
      value,
    ]),
  )
}

describe('the counters of a transaction', () => {
  const RECORDED = {
    ...{ network, kind: 'send', status: 'submitted', chosen: 0, rungs: 3, final: false, errorCode: null },
    ...{ broadcastAt: null, minedBlockHash: null },
  } as TransactionRow

  /** The totals after the row was written with each of these changes, one after the other. */
  const after = (...steps: readonly Partial<TransactionRow>[]) => {
    const metrics = createMetrics([network])
    let before = RECORDED
    for (const step of steps) {
      const row = { ...before, ...step }
      countOutcome(metrics, { before, after: row })
      before = row
    }
    return totals(metrics)
  }

  test('count each step once, even if the same row is written again', async () => {
    const steps: readonly Partial<TransactionRow>[] = [
      { broadcastAt: new Date(), status: 'pending' },
      { chosen: 1 },
      { chosen: 2 },
      { minedBlockHash: '0x1' },
      { minedBlockHash: null },
      { minedBlockHash: '0x2' },
      { status: 'success' },
      { final: true },
    ]
    expect(await after(...steps.flatMap((step) => [step, step, {}]))).toEqual({
      'ladder_steps_total rung': 2,
      transactions_broadcast_total: 1,
      transactions_mined_total: 2,
      transactions_put_back_total: 1,
      transactions_succeeded_total: 1,
    })
  })

  test('count a move to another block as put back and mined again', async () => {
    expect(await after({ broadcastAt: new Date(), minedBlockHash: '0x1' }, { minedBlockHash: '0x2' })).toEqual({
      transactions_broadcast_total: 1,
      transactions_mined_total: 2,
      transactions_put_back_total: 1,
    })
  })

  test('count a failure by its code, and only when it is final', async () => {
    const reverted = { status: 'failed', errorCode: 'execution_reverted' } as const
    const steps = [reverted, { status: 'pending', errorCode: null }, { chosen: 3 }] as const
    expect(await after(...steps)).toEqual({ 'ladder_steps_total cancel': 1 })
    expect(await after(...steps, { status: 'failed', errorCode: 'expired', final: true })).toEqual({
      'ladder_steps_total cancel': 1,
      'transactions_failed_total expired': 1,
    })
  })
})

describe('a process counts', () => {
  let chain: TestChain
  let service: Service
  let sql: Sql
  let signer: string
  let before: Record<string, number>

  beforeAll(async () => {
    chain = await startChain(network)
    service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
    sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
    const wallet = await service.newWallet({ network })
    signer = wallet.address
    await chain.fund(wallet.address)
  })

  beforeEach(async () => {
    before = await totals(service.ctx.metrics)
  })

  afterAll(async () => {
    await sql.end()
    await service.close()
    await chain.stop()
  })

  const send = () =>
    service.post('/transactions/sign-and-send', {
      network,
      signer_wallet_address: signer,
      unsigned_transaction: { to: fundedAccount(5).address, value: '1' },
      developer_secret: 'testnet-secret',
    })

  /** By how much the totals have grown since the test began. */
  const more = async () =>
    Object.fromEntries(
      Object.entries(await totals(service.ctx.metrics))
        .map(([name, value]) => [name, value - (before[name] ?? 0)] as const)
        .filter(([, difference]) => difference !== 0),
    )

  test('a transaction when it is recorded, but not if the commit fails', async () => {
    expect((await send()).json.status).toBe('submitted')
    expect(await more()).toEqual({ 'transactions_accepted_total send': 1 })
    await sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create constraint trigger refuse after insert on transactions deferrable initially deferred
        for each row execute function refuse();`)
    expect((await send()).status).toBe(500)
    await sql`drop function refuse cascade`
    expect(await more()).toEqual({ 'transactions_accepted_total send': 1 })
    expect(await sql`select from transactions`).toHaveLength(1)
  })

  test('what it learnt from the chain once, but not if the commit fails', async () => {
    const { ctx } = service
    const { transaction_id: transactionId } = (await send()).json
    const [attempt] = await sql<{ hash: string }[]>`
      select hash from tests.attempts where transaction_id = ${transactionId} and kind = 'rung' and rung = 0`
    const accepted = { transactionId, observation: { kind: 'accepted', hash: attempt?.hash ?? '' } } as const
    const undone = ctx.db.transaction(async (tx) => {
      await recordObservation(ctx, tx, accepted)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await more()).toEqual({ 'transactions_accepted_total send': 1 })
    for (let times = 0; times < 2; times += 1) await ctx.recordObservation(accepted)
    await Promise.all([1, 2].map(() => ctx.recordObservation({ transactionId, observation: { kind: 'underpriced' } })))
    expect(await more()).toEqual({
      'transactions_accepted_total send': 1,
      transactions_broadcast_total: 1,
      'ladder_steps_total rung': 2,
    })
  })
})
