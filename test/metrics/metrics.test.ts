// GET /metrics of the whole service: a real API, worker and chain, and exact values.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import parse from 'parse-prometheus-text-format'
import postgres from 'postgres'
import { encodeFunctionData, type Hex } from 'viem'
import { freePort } from '../../devnet/port.ts'
import { createApp } from '../../src/api/app.ts'
import { readConfig } from '../../src/platform/config.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { startGate } from '../support/gate.ts'
import { holdTable } from '../support/locks.ts'
import { isLong, longTest } from '../support/long.ts'
import { alerts, groupsIn, questions, selectorsIn } from '../support/monitoring.ts'
import { programPath } from '../support/programs.ts'
import { type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { until } from '../support/until.ts'
import { type Metrics, readMetrics, type Series } from './exposition.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const GWEI = 1_000_000_000n
/**
 * For anvil, a block is final when it has two epochs of 32 blocks on top of it. In the suite an epoch has one block.
 */
const [CHAIN_FLAGS, BLOCKS_TO_FINAL] = isLong ? [[], 70] : [['--slots-in-an-epoch', '1'], 4]
const REORGANISED_BLOCKS = 3
/** How many transactions have been accepted after the first payment, after the mint, and after the whole story. */
const [FIRST_PAYMENT, WITH_MINT, WHOLE_STORY] = [2, 4, 9]
const acceptedInAll = isLong ? WHOLE_STORY : FIRST_PAYMENT
const NOBODY = { authorization: undefined, 'x-walletkit-project-id': undefined }

const chain = await shared(startChain(network, { flags: CHAIN_FLAGS }))
const gate = startGate(chain.rpcUrl)
afterTests(() => gate.stop())
const service = await shared(
  // Otherwise a chain that mines on demand has no such limit.
  startService({ rpcUrls: { [network]: gate.url }, variables: { ETHEREUM_STALLED_AFTER_SECONDS: '604800' } }),
)
const { sql } = service.database

const scrape = async (from: Service = service): Promise<Metrics> => {
  const answer = await from.call('/metrics', { headers: NOBODY })
  expect(answer.status).toBe(200)
  return readMetrics(answer.text)
}

const fundedWallet = async (): Promise<Hex> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

const send = async (from: Hex, unsigned_transaction: Record<string, string>): Promise<string> => {
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction,
    developer_secret: SECRET,
  })
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return answer.json.transaction_id
}

const pay = (from: Hex) => send(from, { to: RECIPIENT, value: '1' })

const stop = async (worker: ReturnType<Service['startWorker']>) => {
  worker.kill('SIGTERM')
  await worker.exited
}

/** The texts in backquotes. */
const wordsIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)

const textAt = async (url: string): Promise<string> => {
  const answer = await fetch(url)
  expect(answer.status).toBe(200)
  return answer.text()
}

/** Starts a worker that listens for scrapes. */
const startScrapedWorker = async (variables: Record<string, string> = {}) => {
  const port = await freePort()
  const process = service.startWorker({ WORKER_METRICS_PORT: String(port), ...variables })
  const metricsUrl = `http://127.0.0.1:${port}/metrics`
  const listens = () =>
    fetch(metricsUrl).then(
      () => true,
      () => false,
    )
  expect(await until(listens, (isUp) => isUp)).toBe(true)
  return { process, metricsUrl }
}

/** As if its clock had been started long ago, and blocks had come since then. */
const age = async (id: string, seconds: number) => {
  const started = () => sql`select from transactions where id = ${id} and clock_started_at is not null`
  expect((await until(started, (rows) => rows.length === 1)).length).toBe(1)
  await sql`
    with came as (update cursors set updated_at = now(), resumed_at = null where purpose = 'track')
    update transactions set
      clock_started_at = clock_started_at - make_interval(secs => ${seconds}),
      chosen_at = chosen_at - make_interval(secs => ${seconds})
    where id = ${id}`
}

const chosenOf = async (id: string) =>
  (await sql<{ chosen: number }[]>`select chosen from transactions where id = ${id}`)[0]?.chosen ?? -1

describe('before anything has happened', () => {
  test('every series with known labels is exposed with 0', async () => {
    const metrics = await scrape()
    for (const [name, labels] of [
      ['transactions_accepted_total', { network, kind: 'mint' }],
      ['transactions_broadcast_total', { network }],
      ['transactions_mined_total', { network }],
      ['transactions_put_back_total', { network }],
      ['transactions_succeeded_total', { network }],
      ['transactions_failed_total', { network, code: 'expired' }],
      ['transactions_unfinished', { network, status: 'pending' }],
      ['transactions_oldest_age_seconds', { network, status: 'submitted' }],
      ['ladder_steps_total', { network, step: 'cancel' }],
      ['reorganisations_total', { network, purpose: 'track' }],
      ['reorganised_blocks_total', { network, purpose: 'index' }],
      ['node_failures_total', { network, trouble: 'timeout' }],
      ['job_errors_total', { task: 'broadcast_transaction' }],
      ['jobs_ready', { task: 'track_blocks' }],
      ['jobs_failed', { task: 'reconcile' }],
      ['backfills_open', { network, state: 'pruned' }],
      ['doubtful_contracts', { network }],
    ] as const) {
      expect({ name, value: metrics.value(name, labels) }).toEqual({ name, value: 0 })
    }
    expect(metrics.value('database_up')).toBe(1)
    expect(metrics.value('node_up', { network })).toBe(1)
  })

  test('memory, processor time, descriptors and the event loop of the process are exposed', async () => {
    const { series } = await scrape()
    const of = (name: string) => series.find((each) => each.name === name)?.value ?? Number.NaN
    expect(of('process_resident_memory_bytes')).toBeGreaterThan(20_000_000)
    expect(of('process_resident_memory_bytes')).toBeLessThan(20_000_000_000)
    expect(of('process_cpu_seconds_total')).toBeGreaterThan(0)
    expect(of('process_open_fds')).toBeGreaterThan(3)
    expect(of('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0)
  })
})

describe('without a worker', () => {
  test('accepted transactions and their jobs are shown as waiting', async () => {
    const wallet = await fundedWallet()
    await using release = await holdTable(sql, 'audit_chain')
    const before = await scrape()
    const id = await pay(wallet)
    await sql`update transactions set created_at = created_at - interval '90 seconds' where id = ${id}`
    await sql`update graphile_worker._private_jobs set run_at = run_at - interval '90 seconds'`
    const after = await scrape()
    const of = (name: string, labels: Record<string, string>) => after.value(name, { network, ...labels })
    expect(of('transactions_accepted_total', { kind: 'send' })).toBe(1)
    expect(of('transactions_unfinished', { status: 'submitted' })).toBe(1)
    expect(of('transactions_oldest_age_seconds', { status: 'submitted' })).toBeCloseTo(92, -1)
    expect(of('transactions_oldest_age_seconds', { status: 'pending' })).toBe(0)
    expect(of('transactions_broadcast_total', {})).toBe(0)
    expect(after.value('jobs_ready', { task: 'broadcast_transaction' })).toBe(1)
    expect(after.value('jobs_oldest_ready_age_seconds', { task: 'broadcast_transaction' })).toBeCloseTo(92, -1)
    expect(after.value('audit_unchained_rows') - before.value('audit_unchained_rows')).toBe(1)
    expect(after.value('audit_unchained_age_seconds')).toBeGreaterThan(0)
    await release()
    const chained = async () => (await scrape()).value('audit_unchained_rows')
    if (isLong) expect(await until(chained, (rows) => rows === 0)).toBe(0)
  })
})

describe('a story with a payment, a mint, a revert, a climb, a cancel and a reorganisation', () => {
  let worker: Awaited<ReturnType<typeof startScrapedWorker>>

  const scrapeWorker = async () => readMetrics(await textAt(worker.metricsUrl))
  /** The series of both processes, added up as in Prometheus. */
  const scrapeBoth = async () =>
    readMetrics(await textAt(`${service.baseUrl}/metrics`), await textAt(worker.metricsUrl))

  /** The same figures, counted in the tables. */
  const rows = async () => {
    const [row] = await sql<Record<string, number>[]>`
      select count(*)::int as accepted, count(broadcast_at)::int as broadcast, count(mined_block_hash)::int as mined,
        count(*) filter (where status = 'success')::int as succeeded,
        count(*) filter (where error_code = 'expired')::int as expired,
        count(*) filter (where error_code = 'execution_reverted')::int as reverted,
        coalesce(sum(chosen) filter (where chosen < rungs), 0)::int as rungs,
        count(*) filter (where chosen = rungs)::int as cancels
      from transactions where network = ${network}`
    return row ?? {}
  }

  const figures = (metrics: Metrics) => {
    const sum = (name: string, labels: Record<string, string> = {}) => metrics.sum(name, { network, ...labels })
    return {
      accepted: sum('transactions_accepted_total'),
      broadcast: sum('transactions_broadcast_total'),
      mined: sum('transactions_mined_total') - sum('transactions_put_back_total'),
      succeeded: sum('transactions_succeeded_total'),
      expired: sum('transactions_failed_total', { code: 'expired' }),
      reverted: sum('transactions_failed_total', { code: 'execution_reverted' }),
      rungs: sum('ladder_steps_total', { step: 'rung' }),
      cancels: sum('ladder_steps_total', { step: 'cancel' }),
    }
  }

  const mintOne = async () => {
    const collection = await service.post('/nfts/collections', {
      network,
      name: 'Doors',
      symbol: 'DOOR',
      image_url: 'https://example.com/d.png',
      developer_secret: SECRET,
    })
    const made = (await service.settled(collection.json.transaction_id)).json
    const minted = await service.post('/nfts/mint', {
      network,
      contract_address: made.contract_address,
      recipient: RECIPIENT,
      metadata: { name: 'Door #1', description: 'A red door.', image: 'https://example.com/d1.png' },
      developer_secret: SECRET,
    })
    expect((await service.settled(minted.json.transaction_id)).json.status).toBe('success')
  }

  /** A transaction that would succeed when it is accepted, and reverts when it is mined. */
  const revertOne = async () => {
    const wallet = await fundedWallet()
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const owner = fundedAccount(0).address
    await chain.write({ contract: token, functionName: 'mint', args: [owner, 5n] })
    await chain.write({ contract: token, functionName: 'approve', args: [wallet, 5n] })
    const args = [owner, RECIPIENT, 5n]
    const input = encodeFunctionData({ abi: token.abi, functionName: 'transferFrom', args })
    using held = gate.hold('before', 'eth_sendRawTransaction')
    const id = await send(wallet, { to: token.address, input })
    await held.reached
    await chain.write({ contract: token, functionName: 'approve', args: [wallet, 0n] })
    held.release()
    expect((await service.settled(id)).json).toMatchObject({ status: 'failed', code: 'execution_reverted' })
  }

  const climbAndExpire = async () => {
    const [climber, other] = [await fundedWallet(), await fundedWallet()]
    await chain.setAutomine(false)
    const climbing = await pay(climber)
    const fixed = { maxFeePerGas: (20n * GWEI).toString(), maxPriorityFeePerGas: GWEI.toString() }
    const expiring = await send(other, { to: RECIPIENT, value: '7', ...fixed })
    for (let climbs = 1; climbs <= 2; climbs += 1) {
      await age(climbing, 4)
      await until(
        () => chosenOf(climbing),
        (chosen) => chosen >= climbs,
      )
    }
    await age(expiring, 30)
    await until(
      () => chosenOf(expiring),
      (chosen) => chosen === 1,
    )
    const { series } = await scrape()
    const pending = { network, status: 'pending' }
    const isPending = (name: string) =>
      series.find((each) => each.name === `strongroom_${name}` && Bun.deepEquals(each.labels, pending))?.value ?? 0
    expect(isPending('transactions_unfinished')).toBe(2)
    expect(isPending('transactions_oldest_age_seconds')).toBeGreaterThan(0)
    // Above the fee of the stuck transaction, so that the cancelling one is mined.
    const sentAs = (chosen: number) => () =>
      sql`select from transactions where id = ${expiring} and shown_hash = (
        select hash from tests.attempts where transaction_id = ${expiring} and kind = ${chosen === 1 ? 'cancel' : 'rung'})`
    await until(sentAs(1), (found) => found.length === 1)
    await chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(21n * GWEI).toString(16)}`])
    await chain.mine()
    await chain.setAutomine(true)
    await chain.rpc('anvil_setNextBlockBaseFeePerGas', ['0x1'])
    await chain.mine()
    expect((await service.settled(climbing)).json.status).toBe('success')
  }

  const followed = async () => {
    const head = await chain.publicClient.getBlockNumber({ cacheTime: 0 })
    const metrics = await scrape()
    const behind = metrics.series.filter((each) => each.name === 'strongroom_blocks_behind')
    const [row] = await sql<{ least: string }[]>`select min(block_number) as least from cursors`
    return behind.length === 2 && BigInt(row?.least ?? -1) === head && behind.every(({ value }) => value === 0)
  }

  const reorganiseOne = async () => {
    const wallet = await fundedWallet()
    const id = await pay(wallet)
    expect((await service.settled(id)).json.status).toBe('success')
    await chain.mine(2)
    expect(await until(followed, (all) => all)).toBe(true)
    using held = gate.hold('before', 'eth_sendRawTransaction')
    await chain.reorg({ depth: REORGANISED_BLOCKS })
    await held.reached
    held.release()
    expect((await service.settled(id)).json.status).toBe('success')
  }

  const finish = async () => {
    await chain.mine(BLOCKS_TO_FINAL)
    const left = async () => (await scrape()).sum('transactions_unfinished', { network })
    expect(await until(left, (transactions) => transactions === 0)).toBe(0)
  }

  test('begins with a worker that exposes every series with known labels with 0', async () => {
    worker = await startScrapedWorker()
    const metrics = await scrapeWorker()
    for (const [name, labels] of [
      ['transactions_succeeded_total', { network }],
      ['transactions_failed_total', { network, code: 'nonce_taken' }],
      ['ladder_steps_total', { network, step: 'rung' }],
      ['reorganisations_total', { network, purpose: 'index' }],
      ['deep_reorganisations_total', { network }],
      ['balance_differences_total', { network, asset: 'token' }],
      ['job_errors_total', { task: 'send_mail' }],
      ['job_wait_seconds_count', { task: 'send_mail' }],
      ['job_duration_seconds_bucket', { task: 'send_mail', le: '300' }],
    ] as const) {
      expect({ name, value: metrics.value(name, labels) }).toEqual({ name, value: 0 })
    }
  })

  /** The API counts what it records. The worker counts what it finds on the chain. */
  const areCountedApart = async (counts: { readonly accepted: number; readonly mined: number }) => {
    const [api, ofWorker] = [await scrape(), await scrapeWorker()]
    const sums = (name: string) => [api, ofWorker].map((each) => each.sum(name))
    expect(sums('transactions_accepted_total')).toEqual([counts.accepted, 0])
    expect(sums('transactions_mined_total')).toEqual([0, counts.mined])
  }

  /** All that was accepted so far, one of it by an earlier test, is final and was counted once. */
  const areCounted = async (accepted: number) => {
    await finish()
    const expected = await rows()
    expect(figures(await scrapeBoth())).toEqual(expected as ReturnType<typeof figures>)
    expect(expected).toMatchObject({ accepted, broadcast: accepted, mined: accepted })
    await areCountedApart({ accepted, mined: accepted })
  }

  test('counts its first payment exactly', async () => {
    await service.settled(await pay(await fundedWallet()))
    await areCounted(FIRST_PAYMENT)
  })

  longTest('counts its mint exactly', async () => {
    await chain.fund(
      (await service.get('/wallets/get-by-owner-id', { network, ownerID: service.project.projectId })).json.address,
    )
    await mintOne()
    await areCounted(WITH_MINT)
  })

  longTest('counts its other transactions exactly', async () => {
    await service.settled(await pay(await fundedWallet()))
    await revertOne()
    await climbAndExpire()
    await reorganiseOne()
    await finish()

    const metrics = await scrapeBoth()
    const expected = await rows()
    expect(figures(metrics)).toEqual(expected as ReturnType<typeof figures>)
    // One was accepted by an earlier test.
    const accepted = { send: 7, collection: 1, mint: 1, transfer: 0 }
    for (const [kind, value] of Object.entries(accepted)) {
      expect({ kind, value: metrics.value('transactions_accepted_total', { network, kind }) }).toEqual({ kind, value })
    }
    expect(expected).toMatchObject({
      accepted: WHOLE_STORY,
      broadcast: WHOLE_STORY,
      mined: WHOLE_STORY,
      succeeded: 7,
      expired: 1,
      reverted: 1,
      cancels: 1,
    })
    expect(expected.rungs).toBeGreaterThanOrEqual(2)
    expect(metrics.value('transactions_put_back_total', { network })).toBe(1)
    for (const purpose of ['track', 'index']) {
      expect(metrics.value('reorganisations_total', { network, purpose })).toBe(1)
      expect(metrics.value('reorganised_blocks_total', { network, purpose })).toBe(REORGANISED_BLOCKS)
    }
    expect(metrics.sum('transactions_oldest_age_seconds', { network })).toBe(0)
    await areCountedApart({ accepted: WHOLE_STORY, mined: WHOLE_STORY + 1 })
  })

  test('a failed job is counted as an error of its task by the worker that ran it', async () => {
    await sql`select public.add_strongroom_job('broadcast_transaction', '{}', null, null, now(), 1)`
    const errors = async () => (await scrapeWorker()).sum('job_errors_total')
    expect(await until(errors, (jobs) => jobs > 0)).toBe(1)
    const task = 'broadcast_transaction'
    expect((await scrapeWorker()).value('job_errors_total', { task })).toBe(1)
    const api = await scrape()
    expect(api.value('jobs_failed', { task })).toBe(1)
    expect(api.sum('job_errors_total')).toBe(0)
  })

  test('the waiting time and the running time of jobs are measured', async () => {
    const ran = (metrics: Metrics, name: string, task: string) => metrics.sum(`${name}_count`, { task })
    const metrics = await scrapeWorker()
    const broadcasts = ran(metrics, 'job_duration_seconds', 'broadcast_transaction')
    expect(broadcasts).toBeGreaterThanOrEqual(acceptedInAll)
    expect(ran(metrics, 'job_wait_seconds', 'broadcast_transaction')).toBe(broadcasts)
    expect(metrics.sum('job_duration_seconds_sum', { task: 'broadcast_transaction' })).toBeGreaterThan(0)
    // That job runs some seconds after the worker's start, which only the long run waits for.
    const reconciled = async () => ran(await scrapeWorker(), 'job_duration_seconds', 'reconcile')
    if (isLong) expect(await until(reconciled, (times) => times > 0)).toBeGreaterThan(0)
    for (const task of ['track_blocks', 'index_blocks']) {
      expect({ task, begun: ran(metrics, 'job_wait_seconds', task) > 0 }).toEqual({ task, begun: true })
    }
  })

  test('the worker exposes its counters and its process, and leaves the gauges to the API', async () => {
    const text = await (await fetch(worker.metricsUrl)).text()
    const gauges = readMetrics(text).series.filter(
      ({ name, type }) => type === 'gauge' && name.startsWith('strongroom_'),
    )
    expect(gauges).toEqual([])
    expect(readMetrics(text).series.some(({ name }) => name === 'process_resident_memory_bytes')).toBe(true)
    expect(text).not.toMatch(/0x[0-9a-f]{8}/i)
    await stop(worker.process)
  })

  test('new blocks show as blocks that the followers are behind', async () => {
    const [row] = await sql<{ at: string }[]>`select block_number as at from cursors where purpose = 'track'`
    await chain.mine(7)
    const behind = async () => (await scrape()).value('blocks_behind', { network, purpose: 'track' })
    const head = await chain.publicClient.getBlockNumber({ cacheTime: 0 })
    const expected = Number(head - BigInt(row?.at ?? 0))
    expect(expected).toBeGreaterThanOrEqual(7)
    expect(await until(behind, (blocks) => blocks === expected)).toBe(expected)
    expect((await scrape()).value('cursor_age_seconds', { network, purpose: 'track' })).toBeGreaterThan(0)
  })
})

describe('an unreachable node', () => {
  test('shows as down, and delays no scrape', async () => {
    const failures = async () => (await scrape()).sum('node_failures_total', { network, trouble: 'http' })
    const before = await failures()
    const up = async () => (await scrape()).value('node_up', { network })
    const ready = async () => (await scrape()).value('node_ready', { network, node: '1 (127.0.0.1)' })
    gate.setAway(true)
    try {
      await service.get('/transactions/status-by-hash', { network, transaction_hash: `0x${'ab'.repeat(32)}` })
      expect(await failures()).toBeGreaterThan(before)
      expect(await until(up, (value) => value === 0)).toBe(0)
      expect(await until(ready, (value) => value === 0)).toBe(0)
    } finally {
      gate.setAway(false)
    }
    // It takes seconds until the node is asked again.
    if (isLong) expect(await until(up, (value) => value === 1)).toBe(1)
    if (isLong) expect(await until(ready, (value) => value === 1)).toBe(1)
  })

  longTest('that never answers delays a scrape by one second', async () => {
    const head = await scrape()
    await Bun.sleep(1_001)
    using _held = gate.hold('before', 'eth_getBlockByNumber')
    const begun = performance.now()
    const metrics = await scrape()
    expect(performance.now() - begun).toBeLessThan(2_500)
    expect(metrics.value('node_up', { network })).toBe(0)
    const track = { network, purpose: 'track' }
    expect(metrics.value('blocks_behind', track)).toBe(head.value('blocks_behind', track))
  })
})

describe('with an unreachable or slow database', () => {
  const isBack = async () => {
    const up = async () => (await scrape()).value('database_up')
    expect(await until(up, (value) => value === 1)).toBe(1)
  }

  test('a scrape returns what the process knows itself', async () => {
    const { name, url } = service.database
    const admin = postgres(url.replace(/\/[^/]*$/, '/postgres'), { max: 1 })
    await admin.unsafe(`alter database ${name} with allow_connections false`)
    try {
      await admin`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = ${name} and application_name = 'strongroom-test'`
      const metrics = await scrape()
      expect(metrics.value('database_up')).toBe(0)
      expect(metrics.series.some(({ name }) => name === 'process_resident_memory_bytes')).toBe(true)
      expect(metrics.sum('transactions_accepted_total')).toBe(acceptedInAll)
      expect(metrics.series.some(({ name }) => name === 'strongroom_transactions_unfinished')).toBe(false)
    } finally {
      await admin.unsafe(`alter database ${name} with allow_connections true`)
      await admin.end()
    }
    await isBack()
  })

  const isBounded = async (scrapes: Promise<readonly Metrics[]>) => {
    const begun = performance.now()
    const all = await scrapes
    // Without a bound they would wait for ever.
    expect(performance.now() - begun).toBeLessThan(30_000)
    expect(all.map((metrics) => metrics.value('database_up'))).toEqual(all.map(() => 0))
  }

  longTest('simultaneous scrapes wait for some seconds, and only one of them queries it', async () => {
    await using release = await holdTable(sql, 'transactions', 'access exclusive')
    let most = 0
    let isOver = false
    const scrapes = isBounded(Promise.all(Array.from({ length: 20 }, () => scrape()))).finally(() => {
      isOver = true
    })
    while (!isOver) {
      // Others may wait for the table, too: once a minute the vault reads the catalogue.
      const waiting = await sql`
        select from pg_stat_activity where datname = ${service.database.name} and wait_event_type = 'Lock'
          and query like '%as "oldestSeconds"%from public.transactions%'`
      most = Math.max(most, waiting.length)
      await Bun.sleep(10)
    }
    await scrapes
    expect(most).toBe(1)
    await release()
    await isBack()
  })

  longTest('and no free connection, a scrape waits no longer', async () => {
    const held = Promise.withResolvers<void>()
    const { databaseMaxConnections } = service.ctx.config
    const taken = Array.from({ length: databaseMaxConnections }, () => Promise.withResolvers<void>())
    const holding = taken.map(({ resolve }) =>
      service.ctx.db.transaction(async (tx) => {
        await tx.execute('select 1')
        resolve()
        await held.promise
      }),
    )
    await Promise.all(taken.map(({ promise }) => promise))
    try {
      await isBounded(Promise.all([scrape()]))
    } finally {
      held.resolve()
      await Promise.all(holding)
    }
    await isBack()
  })
})

describe('requests', () => {
  const requests = (metrics: Metrics, labels: Record<string, string>) =>
    metrics.sum('http_request_duration_seconds_count', labels)

  test('are counted by method, path template and status, including failed ones', async () => {
    const before = await scrape()
    const { address } = await service.newWallet({ network })
    await service.get('/wallets/get-by-address', { network, address })
    await service.get('/wallets/get-by-id', { network, id: 'not-a-uuid' })
    await service.call('/metadata/unknown.json')
    await service.call('/wallets', { headers: NOBODY })
    await service.call('/wallets', { method: 'DELETE' })
    await service.call('/nowhere/at/all')
    const expected = [
      [{ method: 'POST', route: '/wallets', status: '200' }, 1],
      [{ method: 'GET', route: '/wallets/get-by-address', status: '200' }, 1],
      [{ method: 'GET', route: '/wallets/get-by-id', status: '400' }, 1],
      [{ method: 'GET', route: '/metadata/:file', status: '404' }, 1],
      [{ method: 'GET', route: '/wallets', status: '400' }, 1],
      [{ method: 'DELETE', route: 'other', status: '405' }, 1],
      [{ method: 'GET', route: 'other', status: '404' }, 1],
    ] as const
    const counted = async () => {
      const after = await scrape()
      return expected.map(([labels]) => requests(after, labels) - requests(before, labels))
    }
    const wanted = expected.map(([, times]) => times)
    expect(await until(counted, (times) => Bun.deepEquals(times, wanted))).toEqual(wanted)
  })

  test('with unknown methods and paths create no series', async () => {
    const labels = async () => {
      const { series } = await scrape()
      return new Set(
        series
          .filter(({ family }) => family === 'strongroom_http_request_duration_seconds')
          .map((each) => JSON.stringify([each.labels.method, each.labels.route, each.labels.status])),
      )
    }
    const before = await labels()
    for (let each = 0; each < 20; each += 1) await service.call(`/nowhere/${each}`, { method: 'GET' })
    expect(await labels()).toEqual(before)
  })
})

describe('the exposed text', () => {
  let scraped: ReturnType<Service['call']> | undefined
  /** One text for all of them, since each scrape reads the tables. */
  const scrapeOnce = () => {
    scraped ??= service.call('/metrics', { headers: NOBODY })
    return scraped
  }

  test("is read the same by another project's parser", async () => {
    const { text } = await scrapeOnce()
    const ours = readMetrics(text)
    const theirs = parse(text)
    const shown = theirs.filter(({ metrics }) => metrics.length > 0)
    expect(new Set(shown.map(({ name }) => name))).toEqual(new Set(ours.series.map(({ family }) => family)))
    const accepted = theirs.find(({ name }) => name === 'strongroom_transactions_accepted_total')
    expect(accepted).toMatchObject({ type: 'COUNTER' })
    // All others of the whole story are a collection and its mint.
    const payments = isLong ? WHOLE_STORY - 2 : FIRST_PAYMENT
    expect(accepted?.metrics).toContainEqual({ labels: { network, kind: 'send' }, value: String(payments) })
    const ran = theirs.find(({ name }) => name === 'strongroom_job_duration_seconds')
    expect(ran).toMatchObject({ type: 'HISTOGRAM' })
  })

  test('matches the documentation: each metric with its labels', async () => {
    const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
    const { series } = readMetrics((await scrapeOnce()).text)
    const ours = series.filter(({ family }) => family.startsWith('strongroom_'))
    const labelsOf = (all: readonly Series[]) => [...new Set(all.flatMap(({ labels }) => Object.keys(labels)))]
    const families = Map.groupBy(ours, ({ family }) => family)
    const shown = [...families].map(([name, all]) => [
      name,
      labelsOf(all)
        .filter((label) => label !== 'le')
        .sort(),
    ])
    const documented = [...page.matchAll(/^\| ((?:`strongroom_[a-z0-9_]+`(?:, )?)+) \| ([^|]*)\|/gm)].flatMap(
      ([, names = '', labels = '']) => wordsIn(names).map((name) => [name, wordsIn(labels).toSorted()] as const),
    )
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(shown))
  })

  test('has what each alert and each question of the dashboard asks for', async () => {
    const { series } = readMetrics((await scrapeOnce()).text)
    // Prometheus adds these two. Statuses and routes come with requests.
    const added = ['job', 'instance']
    const comeLater = ['status', 'route']
    const asked = [...alerts().map(({ expr }) => expr), ...questions()]
    expect(asked.length).toBeGreaterThan(50)
    for (const expression of asked) {
      for (const { name, matchers } of selectorsIn(expression)) {
        const of = series.filter((each) => each.name === name)
        expect({ expression, name, isThere: of.length > 0 }).toEqual({ expression, name, isThere: true })
        const labels = [...added, ...of.flatMap((each) => Object.keys(each.labels))]
        for (const { label, values } of matchers) {
          expect({ expression, labels }).toEqual({ expression, labels: expect.arrayContaining([label]) })
          if (added.includes(label) || values === '.*' || (comeLater.includes(label) && name.includes('http'))) continue
          const known = of.map((each) => each.labels[label])
          expect({ expression, known }).toEqual({ expression, known: expect.arrayContaining(values.split('|')) })
        }
      }
      const shown = series.filter((each) => selectorsIn(expression).some(({ name }) => each.name === name))
      const all = [...added, ...shown.flatMap((each) => Object.keys(each.labels))]
      expect({ expression, all }).toEqual({ expression, all: expect.arrayContaining([...groupsIn(expression)]) })
    }
  })

  test('alerts and the dashboard add counters of all processes up, and take gauges of the deployment once', async () => {
    const { series } = await scrape()
    const typeOf = (name: string) => series.find((each) => each.name === name)?.type
    for (const expression of [...alerts().map(({ expr }) => expr), ...questions()]) {
      const [one] = selectorsIn(expression).filter(({ name }) => name.startsWith('strongroom_'))
      if (one === undefined) continue
      const isAddedUp = /\bsum(?: by \([a-z, ]+\))? ?\((?:increase|rate)\(/.test(expression)
      expect({ expression, isAddedUp }).toEqual({ expression, isAddedUp: typeOf(one.name) !== 'gauge' })
      const isOnce = /\b(?:max|min)(?: by \([a-z, ]+\))? ?\(strongroom_/.test(expression)
      expect({ expression, isOnce }).toEqual({ expression, isOnce: typeOf(one.name) === 'gauge' })
    }
  })

  test('contains no wallet, transaction, project or caller', async () => {
    const { text, headers } = await scrapeOnce()
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(text).not.toMatch(/0x[0-9a-f]{8}/i)
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/i)
    expect(text).not.toContain(service.project.projectId)
    const names = new Set(readMetrics(text).series.flatMap(({ labels }) => Object.keys(labels)))
    expect([...names].sort()).toEqual(
      [
        'asset',
        'code',
        'kind',
        'outcome',
        'le',
        'method',
        'network',
        'node',
        'purpose',
        'reason',
        'route',
        'state',
        'status',
        'step',
        'task',
        'trouble',
      ].sort(),
    )
  })
})

describe('the metrics token', () => {
  const TOKEN = 'a-token-of-some-length'

  test('is required once it is set', async () => {
    const config = readConfig({ ...service.variables, METRICS_TOKEN: TOKEN })
    const app = createApp({ ...service.ctx, config })
    const read = async (authorization: string | undefined) =>
      app.fetch(new Request('http://localhost/metrics', authorization ? { headers: { authorization } } : {}))
    for (const wrong of [undefined, 'Bearer ', `Bearer ${TOKEN}x`, TOKEN, `Bearer ${service.project.apiKey}`]) {
      const answer = await read(wrong)
      expect({ wrong, status: answer.status }).toEqual({ wrong, status: 401 })
      expect(await answer.json()).toEqual({ error: expect.stringContaining('METRICS_TOKEN'), code: 'unauthorized' })
    }
    const right = await read(`Bearer ${TOKEN}`)
    expect(right.status).toBe(200)
    expect(readMetrics(await right.text()).value('database_up')).toBe(1)
  })

  longTest('that is not set leaves the metrics closed, except on the devnet', async () => {
    const closed = await startService({ variables: { DEVNET: 'false' } })
    try {
      for (const authorization of [undefined, `Bearer ${TOKEN}`, `Bearer ${closed.project.apiKey}`]) {
        const answer = await closed.call('/metrics', { headers: { ...NOBODY, authorization } })
        expect({ status: answer.status, code: answer.json.code }).toEqual({ status: 401, code: 'unauthorized' })
        expect(answer.text).not.toContain('strongroom_')
      }
    } finally {
      await closed.close()
    }
  })

  longTest(
    "is not needed at the metrics' own listener, which serves nothing else; the main listener is then closed",
    async () => {
      const server = Bun.spawn(['bun', programPath('src/main/api')], {
        env: { PATH: process.env.PATH ?? '', ...service.variables, PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'info' },
        stdout: 'pipe',
        stderr: 'inherit',
      })
      let log = ''
      for await (const chunk of server.stdout) {
        log += Buffer.from(chunk).toString()
        if (log.includes('"url":')) break
      }
      try {
        const metricsUrl = /"metricsUrl":"([^"]+)"/.exec(log)?.[1] ?? ''
        const url = /"url":"([^"]+)"/.exec(log)?.[1] ?? ''
        expect((await fetch(`${url}/metrics`)).status).toBe(401)
        expect((await fetch(`${url}/nowhere`)).status).toBe(404)
        const apart = await fetch(metricsUrl)
        expect(apart.status).toBe(200)
        const metrics = readMetrics(await apart.text())
        expect(metrics.value('database_up')).toBe(1)
        // This listener exposes the counts of the main one.
        expect(metrics.sum('http_request_duration_seconds_count', { route: 'other', status: '404' })).toBe(1)
        for (const path of ['/healthz', '/wallets', '/openapi/json']) {
          const answer = await fetch(new URL(path, metricsUrl))
          expect({ path, status: answer.status }).toEqual({ path, status: 404 })
          expect(await answer.json()).toEqual({ error: 'There is no such path.', code: 'not_found' })
        }
      } finally {
        server.kill('SIGTERM')
        expect(await server.exited).toBe(0)
      }
    },
  )

  longTest("is also required at a worker's listener, which serves nothing else", async () => {
    const worker = await startScrapedWorker({ METRICS_TOKEN: TOKEN })
    const read = (authorization?: string) =>
      fetch(worker.metricsUrl, { headers: authorization === undefined ? {} : { authorization } })
    for (const wrong of [undefined, `Bearer ${TOKEN}x`]) {
      const answer = await read(wrong)
      expect({ wrong, status: answer.status }).toEqual({ wrong, status: 401 })
      expect(answer.headers.get('www-authenticate')).toStartWith('Bearer realm="Strongroom"')
      expect(await answer.json()).toEqual({ error: expect.stringContaining('METRICS_TOKEN'), code: 'unauthorized' })
    }
    const right = await read(`Bearer ${TOKEN}`)
    expect(right.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const metrics = readMetrics(await right.text())
    expect(metrics.value('security_events_total', { kind: 'metrics_token_wrong' })).toBe(1)
    for (const path of ['/healthz', '/wallets']) {
      expect({ path, status: (await fetch(new URL(path, worker.metricsUrl))).status }).toEqual({ path, status: 404 })
    }
    await stop(worker.process)
    const [written] = await sql`select action, actor from audit where action = 'metrics_token_wrong'`
    expect(written).toMatchObject({ actor: 'stranger' })
  })

  test('is refused at the start if it is too short or cannot be sent as a bearer token', () => {
    for (const METRICS_TOKEN of ['short', 'a token with spaces in it']) {
      expect(() => readConfig({ ...service.variables, METRICS_TOKEN })).toThrow('METRICS_TOKEN must be 16 to 256')
    }
  })
})
