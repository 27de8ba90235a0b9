// Faults of a worker at work, with real parts: a chain behind a gate that can hold requests back, and worker processes
// that are killed.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { encodeFunctionData, type Hex } from 'viem'
import { addJob } from '../../db/jobs.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Gate, startGate } from '../support/gate.ts'
import { longTest, someOf } from '../support/long.ts'
import { ageTransactions } from '../support/rows.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
/** With one slot per epoch, a block is final when two blocks are above it. */
const SLOTS = ['--slots-in-an-epoch', '1']
const BLOCKS_TO_FINAL = 4

let chain: TestChain
let gate: Gate
let service: Service
let sql: Sql
let workers: WorkerHere[] = []

beforeAll(async () => {
  chain = await startChain(network, { flags: SLOTS })
  gate = startGate(chain.rpcUrl)
  service = await startService({ rpcUrls: { [network]: gate.url } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
})

afterEach(async () => {
  gate.setAway(false)
  await Promise.all(workers.map((worker) => worker.stop()))
  workers = []
})

afterAll(async () => {
  await sql.end()
  await service.close()
  await gate.stop()
  await chain.stop()
})

const startWorker = async () => {
  workers.push(await startWorkerHere(service))
}

/** A process, which can be killed. */
const startProcess = () => {
  const worker = service.startWorker()
  const stop = async () => {
    worker.kill('SIGTERM')
    await worker.exited
  }
  workers.push({ stop })
  return worker
}

/** Kills it like the kernel when memory runs out: no handler runs. */
const kill = async (worker: ReturnType<Service['startWorker']>) => {
  worker.kill('SIGKILL')
  await worker.exited
}

const fundedWallet = async (): Promise<Hex> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

const send = async (from: Hex, unsigned: Record<string, string> = { to: RECIPIENT, value: '1' }): Promise<string> => {
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: unsigned,
    developer_secret: SECRET,
  })
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return answer.json.transaction_id
}

const statusOf = async (id: string) => (await service.get('/transactions/status-by-id', { id })).json

const until = async <Value>(look: () => Promise<Value>, right: (value: Value) => boolean): Promise<Value> => {
  const deadline = Date.now() + 20_000
  for (;;) {
    const value = await look()
    if (right(value) || Date.now() > deadline) return value
    await Bun.sleep(20)
  }
}

const sentCount = (address: Hex) => chain.publicClient.getTransactionCount({ address })

/** Makes running jobs look old, so that a dead worker's jobs are given back at once. */
const ageLocks = () => sql`update graphile_worker._private_jobs set locked_at = locked_at - interval '1 minute'`

/** Makes waiting transactions look unchecked for long, so that the reconciler checks them. */
const reconcile = async () => {
  await ageTransactions(sql)
  await addJob(service.ctx.db, 'reconcile', { again: false })
}

describe('a worker that is killed', () => {
  const steps = [
    ['after the node took it, before that is written down', 'after', 'eth_sendRawTransaction', 'answered'],
    ['before the node hears of the transaction', 'before', 'eth_sendRawTransaction', 'forgotten'],
    ['after it was mined, before that is told', 'before', 'eth_getTransactionReceipt', 'forgotten'],
  ] as const

  for (const [name, when, method, how] of someOf(steps, 3)) {
    test(`${name}: the next one ends it, and it has one effect`, async () => {
      const wallet = await fundedWallet()
      const worker = startProcess()
      using held = gate.hold(when, method)
      const id = await send(wallet)
      await held.reached
      await kill(worker)
      held.release(how)
      await ageLocks()
      await startWorker()
      expect((await service.settled(id)).json).toMatchObject({ status: 'success' })
      expect(await sentCount(wallet)).toBe(1)
    })
  }

  longTest('leaves its jobs to a worker that starts at once, which takes them within seconds', async () => {
    const wallet = await fundedWallet()
    const worker = startProcess()
    using held = gate.hold('before', 'eth_sendRawTransaction')
    const id = await send(wallet)
    await held.reached
    await kill(worker)
    held.release('forgotten')
    await startWorker()
    const begun = Date.now()
    expect((await service.settled(id)).json).toMatchObject({ status: 'success' })
    expect(Date.now() - begun).toBeLessThan(10_000)
  })

  longTest('leaves its jobs to another running worker, which keeps its own', async () => {
    const [wallet, other] = [await fundedWallet(), await fundedWallet()]
    const killed = startProcess()
    using first = gate.hold('before', 'eth_sendRawTransaction')
    const id = await send(wallet)
    await first.reached
    // The other one must take the next job.
    killed.kill('SIGSTOP')
    await startWorker()
    using second = gate.hold('before', 'eth_sendRawTransaction')
    const otherId = await send(other)
    await second.reached
    const jobOf = async () =>
      (
        await sql`select locked_by, attempts from graphile_worker._private_jobs where key = ${`broadcast:${otherId}`}`
      )[0]
    const running = await jobOf()
    await kill(killed)
    first.release('forgotten')
    await ageLocks()
    await addJob(service.ctx.db, 'reconcile', { again: false })
    expect((await service.settled(id)).json).toMatchObject({ status: 'success' })
    expect(await jobOf()).toEqual(running)
    second.release('answered')
    expect((await service.settled(otherId)).json).toMatchObject({ status: 'success' })
    expect([await sentCount(wallet), await sentCount(other)]).toEqual([1, 1])
  })

  longTest('by SIGTERM during a request to a node ends within seconds, and the next one continues', async () => {
    const wallet = await fundedWallet()
    const worker = startProcess()
    using held = gate.hold('before', 'eth_sendRawTransaction')
    const id = await send(wallet)
    await held.reached
    worker.kill('SIGTERM')
    held.release('forgotten')
    await worker.exited
    expect(worker.exitCode).toBe(0)
    await startWorker()
    await reconcile()
    expect((await service.settled(id)).json).toMatchObject({ status: 'success' })
    expect(await sentCount(wallet)).toBe(1)
  })
})

describe('a worker whose database connections are cut', () => {
  /** Cuts only the worker's connections: its own pool's and the job queue's. */
  const cut = () => sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${service.database.name}
      and (application_name = 'strongroom-worker' or application_name like 'strongroom-jobs-%')`

  longTest('repeatedly while it sends: mines every transaction once', async () => {
    const wallet = await fundedWallet()
    const worker = startProcess()
    const ids = [await send(wallet)]
    await service.settled(ids[0] ?? '')
    let connectionsCut = 0
    for (let each = 0; each < 10; each += 1) {
      ids.push(await send(wallet))
      connectionsCut += (await cut()).length
    }
    expect(connectionsCut).toBeGreaterThan(4)
    const statuses = async () => {
      // A failed job waits longer each time, and so does the clean-up after dead queues.
      await sql`update graphile_worker._private_jobs set run_at = now() where run_at > now()`
      await addJob(service.ctx.db, 'reconcile', { again: false })
      return Promise.all(ids.map(async (id) => (await statusOf(id)).status))
    }
    const settled = await until(statuses, (all) => all.every((status) => status === 'success'))
    expect(settled).toEqual(ids.map(() => 'success'))
    expect(await sentCount(wallet)).toBe(ids.length)
    expect(worker.exitCode).toBeNull()
  })

  longTest('while it completes a job: continues with other jobs', async () => {
    const wallet = await fundedWallet()
    const worker = startProcess()
    using held = gate.hold('after', 'eth_sendRawTransaction')
    const first = await send(wallet)
    await held.reached
    await sql.begin(async (tx) => {
      await tx`lock table graphile_worker._private_jobs in share row exclusive mode`
      held.release()
      // Inside of the transaction the view would not change.
      const deletes = () => sql`
        select from pg_stat_activity
        where datname = ${service.database.name} and wait_event_type = 'Lock'
          and query like '%delete from "graphile_worker"._private_jobs%'`
      // That of a follower or of the reconciler may wait with it: all of them are cut.
      expect((await until(deletes, (rows) => rows.length > 0)).length).toBeGreaterThan(0)
      await cut()
    })
    expect((await service.settled(first)).json).toMatchObject({ status: 'success' })
    expect((await service.settled(await send(wallet))).json).toMatchObject({ status: 'success' })
    expect(worker.exitCode).toBeNull()
  })
})

describe('a node that is away', () => {
  longTest('for a while: recorded transactions are sent when it is back', async () => {
    const wallet = await fundedWallet()
    const id = await send(wallet)
    gate.setAway(true)
    await startWorker()
    const lastError = async () =>
      (
        await sql<{ error: string | null }[]>`
        select max(last_error) as error from tests.attempts where transaction_id = ${id}`
      )[0]
    expect((await until(lastError, (row) => row?.error != null))?.error).toStartWith('unknown: ')
    expect(await statusOf(id)).toMatchObject({ status: 'submitted', transaction_hash: null })
    gate.setAway(false)
    expect((await service.settled(id)).json).toMatchObject({ status: 'success' })
    expect(await sentCount(wallet)).toBe(1)
  })

  longTest('during a request: nothing is recorded, and the next request gets the nonce', async () => {
    const wallet = await fundedWallet()
    const counts = () =>
      sql`select (select count(*) from transactions) as transactions, (select count(*) from audit) as audit`
    const before = await counts()
    gate.setAway(true)
    const refused = await service.post('/transactions/sign-and-send', {
      network,
      signer_wallet_address: wallet,
      unsigned_transaction: { to: RECIPIENT, value: '1' },
      developer_secret: SECRET,
    })
    expect({ status: refused.status, code: refused.json.code }).toEqual({ status: 503, code: 'node_unavailable' })
    expect([...(await counts())]).toEqual([...before])
    gate.setAway(false)
    await startWorker()
    expect((await service.settled(await send(wallet))).json.status).toBe('success')
  })
})

describe('a chain with reorganisations and failures', () => {
  const blockOf = async (id: string) =>
    (await sql<{ hash: string | null }[]>`select mined_block_hash as hash from transactions where id = ${id}`)[0]?.hash

  longTest('a reorganised transaction is pending again, and then mined once', async () => {
    const wallet = await fundedWallet()
    await startWorker()
    const id = await send(wallet)
    const settled = await service.settled(id)
    const lost = await blockOf(id)
    using held = gate.hold('before', 'eth_sendRawTransaction')
    await chain.reorg({ depth: 1 })
    await held.reached
    expect(await statusOf(id)).toMatchObject({ status: 'pending', contract_address: null })
    expect(await sentCount(wallet)).toBe(0)
    held.release()
    const again = await service.settled(id)
    expect(again.json).toEqual(settled.json)
    expect(await blockOf(id)).not.toBe(lost)
    expect(await sentCount(wallet)).toBe(1)
  })

  longTest('an execution that fails on the chain is failed, with the reason', async () => {
    const wallet = await fundedWallet()
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const owner = fundedAccount(0).address
    await chain.write({ contract: token, functionName: 'mint', args: [owner, 5n] })
    await chain.write({ contract: token, functionName: 'approve', args: [wallet, 5n] })
    const args = [owner, RECIPIENT, 5n]
    const input = encodeFunctionData({ abi: token.abi, functionName: 'transferFrom', args })
    const id = await send(wallet, { to: token.address, input })
    await chain.write({ contract: token, functionName: 'approve', args: [wallet, 0n] })
    await startWorker()
    const settled = (await service.settled(id)).json
    expect(settled).toMatchObject({ status: 'failed', code: 'execution_reverted', contract_address: null })
    expect(settled.error).toStartWith(
      'The transaction was mined, and its execution reverted: execution reverted: ERC20InsufficientAllowance(',
    )
    expect(settled.transaction_hash).toMatch(/^0x[0-9a-f]{64}$/)
    const query = { network, transaction_hash: settled.transaction_hash }
    expect((await service.get('/transactions/status-by-hash', query)).json.status).toBe('failed')
  })
})

describe('a final transaction', () => {
  /** Whether any attempt still has its bytes, and whether each has its hash. */
  const rawOf = async (id: string) => {
    const rows = await sql<{ raw: boolean; hash: boolean }[]>`
      select bool_or(raw is not null) as raw, bool_and(length(hash) = 66) as hash
      from tests.attempts where transaction_id = ${id}`
    return rows.map(({ raw, hash }) => ({ raw, hash }))
  }

  longTest('keeps its hash and loses its signed bytes, which were kept until then', async () => {
    const wallet = await fundedWallet()
    await startWorker()
    const id = await send(wallet)
    await service.settled(id)
    expect(await rawOf(id)).toEqual([{ raw: true, hash: true }])
    await chain.mine(BLOCKS_TO_FINAL)
    expect(
      await until(
        () => rawOf(id),
        ([attempt]) => attempt?.raw === false,
      ),
    ).toEqual([{ raw: false, hash: true }])
    expect(await statusOf(id)).toMatchObject({ status: 'success' })
  })

  longTest(
    'an outside transaction with our nonce fails ours when it is final, and the nonce is not used again',
    async () => {
      const wallet = await fundedWallet()
      const id = await send(wallet, { to: RECIPIENT, value: '1' })
      const outside = await service.post('/transactions/sign', {
        network,
        signer_wallet_address: wallet,
        unsigned_transaction: { to: RECIPIENT, value: '2', nonce: '0' },
        developer_secret: SECRET,
      })
      await chain.receiptOf((await chain.rpc('eth_sendRawTransaction', [outside.json])) as Hex)
      await startWorker()
      const noted = async () =>
        (
          await sql<{ error: string | null }[]>`
        select max(last_error) as error from tests.attempts where transaction_id = ${id}`
        )[0]
      await until(noted, (row) => row?.error != null)
      await reconcile()
      const jobs = () => sql`select from graphile_worker.jobs where task_identifier = 'reconcile' and run_at <= now()`
      await until(jobs, (rows) => rows.length === 0)
      expect((await statusOf(id)).status).toBe('submitted')
      await chain.mine(BLOCKS_TO_FINAL)
      // It is reported once the tracker has processed every final block without finding ours.
      const latest = await chain.publicClient.getBlockNumber({ cacheTime: 0 })
      const tracked = () => sql<{ at: string }[]>`select block_number as at from cursors where purpose = 'track'`
      await until(tracked, (rows) => BigInt(rows[0]?.at ?? 0) >= latest)
      await reconcile()
      expect((await service.settled(id)).json).toMatchObject({ status: 'failed', code: 'nonce_taken' })
      expect(await rawOf(id)).toEqual([{ raw: false, hash: true }])
      expect((await service.settled(await send(wallet))).json.status).toBe('success')
      expect(await sentCount(wallet)).toBe(2)
    },
  )
})
