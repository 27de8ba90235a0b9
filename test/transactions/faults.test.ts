// The worker and a faulty node: for each job, each request of the job and each fault, nothing wrong is reported, and
// once the node works again, the transaction is mined once.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import type { Hex } from 'viem'
import { addJob } from '../../db/jobs.ts'
import { startRound } from '../../src/blocks/follow.ts'
import type { Chain } from '../../src/chains/chain.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { AppError } from '../../src/platform/errors.ts'
import { broadcastTransaction } from '../../src/signing/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/signing/transactions/reconcile.ts'
import { trackStep } from '../../src/signing/transactions/track.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { ANSWER_FAULT_NAMES, type Fault, type Gate, REPLY_FAULT_NAMES, startGate } from '../support/gate.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { ageTransactions } from '../support/rows.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerCtx } from '../support/worker-here.ts'

const network = 'Ethereum'
const NODE_TIMEOUT_MS = 2_000
const MAX_STEPS = 100
const FAULTS: readonly Fault[] = [...ANSWER_FAULT_NAMES, ...REPLY_FAULT_NAMES]
/** Slow faults are tested once, at the most important request. */
const SLOW: readonly Fault[] = ['hangs', 'answers more than anybody reads']
const QUICK = FAULTS.filter((fault) => !SLOW.includes(fault))

/** The faults of a job's nth request: in the suite one of them, and at the next request another. */
const faultsAt = (nth: number): readonly Fault[] =>
  QUICK.filter((_, index) => isLong || index === (3 * nth) % QUICK.length)

let chain: TestChain
let gate: Gate
let service: Service
let sql: Sql
let ctx: WorkerCtx
let node: Chain

beforeAll(async () => {
  chain = await startChain(network)
  gate = startGate(chain.rpcUrl)
  const variables = { NODE_TIMEOUT_MS: String(NODE_TIMEOUT_MS) }
  service = await startService({ rpcUrls: { [network]: gate.url }, variables })
  sql = postgres(service.database.url, { max: 2 })
})

/** Each case begins like a process that has just started and has not called the node yet. */
beforeEach(async () => {
  const variables = { ...service.variables, DATABASE_URL: service.database.workerUrl, VAULT_SOCKET: '' }
  ctx = await createWorkerCtx({ config: readConfig(variables), process: 'test-worker' })
  node = ctx.chains.withNode(network)
})

afterEach(async () => {
  gate.heal()
  await ctx.close({ timeoutSeconds: 2 })
})

afterAll(async () => {
  await sql.end()
  await service.close()
  await gate.stop()
  await chain.stop()
})

type Sent = { readonly id: string; readonly hash: Hex; readonly wallet: Hex; readonly recipient: Hex }

/** A recorded transaction of a new wallet to a new address, so that its effect can be counted. */
const record = async (): Promise<Sent> => {
  const { address: wallet } = await service.newWallet({ network })
  const recipient: Hex = `0x${randomBytes(20).toString('hex')}`
  await chain.fund(wallet)
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: wallet,
    unsigned_transaction: { to: recipient, value: '1' },
    developer_secret: 'testnet-secret',
  })
  expect(answer.json).toMatchObject({ status: 'submitted' })
  const id: string = answer.json.transaction_id
  const [first] = await sql<{ hash: Hex }[]>`
    select hash from tests.attempts where transaction_id = ${id} and kind = 'rung' and rung = 0`
  return { id, hash: first?.hash ?? '0x', wallet, recipient }
}

const rowOf = async ({ id }: Sent) =>
  (
    await sql`
    select status, holds_nonce, final, mined_block_hash, shown_hash,
      (select max(last_error) from tests.attempts where transaction_id = id) as last_error
    from transactions where id = ${id}`
  )[0]

const catchUp = async () => {
  for (let steps = 0; steps < MAX_STEPS; steps += 1) if ((await trackStep(ctx, node)) === 'caught_up') return
  throw new Error('the tracker did not catch up')
}

/** The node answers just before it mines. */
const untilMined = async ({ hash }: Sent) => {
  const receipt = () => chain.rpc('eth_getTransactionReceipt', [hash])
  for (const deadline = Date.now() + 5_000; (await receipt()) === null && Date.now() < deadline; ) await Bun.sleep(20)
}

const expectMinedOnce = async (sent: Sent) => {
  await untilMined(sent)
  await catchUp()
  expect((await rowOf(sent))?.status).toBe('success')
  expect(await chain.publicClient.getTransactionCount({ address: sent.wallet })).toBe(1)
  expect(await chain.publicClient.getBalance({ address: sent.recipient })).toBe(1n)
}

/** Resolves to null, or to the code of an error that the node caused. */
const codeOf = async (work: Promise<unknown>): Promise<string | null> => {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error === null) return null
  if (error instanceof AppError) return error.code
  throw error
}

describe('a node that took a transaction and then', () => {
  for (const fault of [...faultsAt(0), ...(isLong ? SLOW : [])]) {
    test(`${fault}: nobody knows, it is sent again, and it is mined once`, async () => {
      const sent = await record()
      gate.spoil({ fault, method: 'eth_sendRawTransaction' })
      const begun = performance.now()
      expect(await broadcastTransaction(ctx, sent.id)).toBe('try_again')
      expect(performance.now() - begun).toBeLessThan(5 * NODE_TIMEOUT_MS)
      const { last_error: why, ...row } = (await rowOf(sent)) ?? {}
      expect(row).toEqual({
        ...{ status: 'submitted', holds_nonce: true, final: false },
        ...{ mined_block_hash: null, shown_hash: null },
      })
      expect(why).toStartWith('unknown: ')
      if (fault === 'hangs') expect(why).toContain(`${NODE_TIMEOUT_MS} ms`)
      gate.heal()
      // The node has mined it meanwhile: its nonce is used, and it is found by its own hash.
      expect(await broadcastTransaction(ctx, sent.id)).toBe('done')
      await expectMinedOnce(sent)
    })
  }
})

describe('a node that took a transaction, has not mined it, and then', () => {
  for (const fault of ['drops the connection', 'answers 500'] as const) {
    longTest(`${fault}: it knows the transaction when it comes again`, async () => {
      const sent = await record()
      await chain.setAutomine(false)
      gate.spoil({ fault, method: 'eth_sendRawTransaction', times: 1 })
      expect(await broadcastTransaction(ctx, sent.id)).toBe('try_again')
      expect(await broadcastTransaction(ctx, sent.id)).toBe('done')
      expect((await rowOf(sent))?.status).toBe('pending')
      await chain.setAutomine(true)
      await chain.mine()
      await expectMinedOnce(sent)
    })
  }
})

describe('before a transaction is sent, a node that', () => {
  for (const fault of faultsAt(1)) {
    test(`does not say who it is, but ${fault}, is sent nothing`, async () => {
      const sent = await record()
      gate.takeRequests()
      gate.spoil({ fault, method: 'eth_chainId' })
      for (let each = 0; each < 2; each += 1) expect(await broadcastTransaction(ctx, sent.id)).toBe('try_again')
      expect(gate.takeRequests()).toEqual([['eth_chainId'], ['eth_chainId']])
      expect(await rowOf(sent)).toMatchObject({ status: 'submitted', last_error: expect.stringMatching(/^unknown: /) })
      gate.heal()
      expect(await broadcastTransaction(ctx, sent.id)).toBe('done')
      await expectMinedOnce(sent)
    })
  }
})

describe('the tracker, if its node fails at', () => {
  const methods = ['eth_chainId', 'eth_getTransactionReceipt', 'eth_blockNumber', 'eth_getBlockByNumber']
  for (const [nth, method] of someOf(methods, 3).entries()) {
    test(`${method} fails, in any way, tells nothing, and goes on from there`, async () => {
      await catchUp()
      for (const fault of faultsAt(nth)) {
        const sent = await record()
        await broadcastTransaction(ctx, sent.id)
        await untilMined(sent)
        gate.spoil({ fault, method })
        const codes = new Set<string | null>()
        for (let steps = 0; steps < 3; steps += 1) codes.add(await codeOf(trackStep(ctx, node)))
        const isTold = (await rowOf(sent))?.status === 'success'
        gate.heal()
        // A node without this transaction answers null.
        const mayBeNull = fault === 'answers null' && method === 'eth_getTransactionReceipt'
        expect({ fault, isTold, codes: [...codes].filter((code) => code !== null) }).toEqual({
          ...{ fault, isTold: false },
          codes: mayBeNull ? [] : ['node_unavailable'],
        })
        await expectMinedOnce(sent)
      }
    })
  }

  /** After a request that timed out, the node is asked again when it has answered a probe. */
  const untilAnswered = async () => {
    while (!(await node.head().then(Boolean, () => false))) await sleep(20)
  }

  longTest('any request by not answering: waits for the configured time', async () => {
    await catchUp()
    const sent = await record()
    await broadcastTransaction(ctx, sent.id)
    await untilMined(sent)
    for (const method of ['eth_chainId', 'eth_getTransactionReceipt']) {
      gate.spoil({ fault: 'hangs', method })
      const ends: unknown[] = []
      for (let steps = 0; steps < 2 && ends.length === 0; steps += 1) {
        await trackStep(ctx, node).catch((error: unknown) => ends.push(error))
      }
      expect(ends).toMatchObject([{ message: `The Ethereum node did not answer within ${NODE_TIMEOUT_MS} ms.` }])
      gate.heal()
      await untilAnswered()
    }
    await expectMinedOnce(sent)
  })
})

describe('the reconciler, if its node fails at', () => {
  const methods = ['eth_getTransactionReceipt', 'eth_getTransactionByHash', 'eth_getTransactionCount', 'eth_chainId']
  const quiet = () => ageTransactions(sql, '1 hour')
  const jobsOf = async ({ id }: Sent) =>
    (await sql`select from graphile_worker._private_jobs where key = ${`broadcast:${id}`}`).length
  const clearJobs = () => sql`delete from graphile_worker._private_jobs`

  for (const [nth, method] of someOf(methods, 2).entries()) {
    test(`${method} fails, in any way, learns nothing, and sends what was never sent afterwards`, async () => {
      await catchUp()
      for (const fault of faultsAt(nth)) {
        const sent = await record()
        await clearJobs()
        gate.spoil({ fault, method })
        await quiet()
        await reconcileTransactions(ctx, startRound(node))
        gate.heal()
        // Here it is true that the node has no such transaction.
        const isSo = fault === 'answers null' && /Receipt|ByHash/.test(method)
        const state = { status: (await rowOf(sent))?.status, jobs: await jobsOf(sent) }
        expect({ fault, ...state }).toEqual({ fault, status: 'submitted', jobs: isSo ? 1 : 0 })
        await quiet()
        await reconcileTransactions(ctx, startRound(node))
        expect(await jobsOf(sent)).toBe(1)
        expect(await broadcastTransaction(ctx, sent.id)).toBe('done')
        await expectMinedOnce(sent)
      }
    })
  }
})

describe('a node that drops', () => {
  test('some or all pending transactions: they are sent again and each is mined once', async () => {
    await chain.setAutomine(false)
    const sent = await Promise.all(Array.from({ length: isLong ? 3 : 2 }, record))
    for (const { id } of sent) expect(await broadcastTransaction(ctx, id)).toBe('done')
    const hashes = sent.map(({ hash }) => hash)
    const reconcile = async () => {
      await ageTransactions(sql, '1 hour')
      await sql`delete from graphile_worker._private_jobs`
      await reconcileTransactions(ctx, startRound(node))
      const jobs = await sql<{ key: string }[]>`select key from graphile_worker._private_jobs order by key`
      return jobs.map(({ key }) => key)
    }
    expect(await reconcile()).toEqual([])
    await chain.rpc('anvil_dropTransaction', [hashes[1]])
    expect(await reconcile()).toEqual([`broadcast:${sent[1]?.id}`])
    await chain.rpc('anvil_dropAllTransactions')
    expect(await reconcile()).toEqual(sent.map(({ id }) => `broadcast:${id}`).toSorted())
    for (const { id } of sent) expect(await broadcastTransaction(ctx, id)).toBe('done')
    await chain.setAutomine(true)
    await chain.mine()
    for (const each of sent) await expectMinedOnce(each)
    expect(await Promise.all(sent.map(async (each) => (await rowOf(each))?.shown_hash))).toEqual(hashes)
  })
})

/** mulberry32: the same numbers for the same seed. */
const randomOf = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

describe('a node that sometimes fails, in any way, at any request', () => {
  const METHODS = [
    ...['eth_chainId', 'eth_getTransactionCount', 'eth_getBalance', 'eth_feeHistory', 'eth_estimateGas'],
    ...['eth_sendRawTransaction', 'eth_getBlockByNumber', 'eth_getTransactionReceipt', 'eth_getTransactionByHash'],
  ]
  /** The percentage of bad answers; a third of all batches of five contain one. */
  const SPOILT_PERCENT = 8

  longTest(
    'callers get proper answers, and every accepted transaction is mined once, without a nonce gap',
    async () => {
      const random = randomOf(20_261_121)
      const wallets = await Promise.all(
        Array.from({ length: 8 }, async () => {
          const { address } = await service.newWallet({ network })
          await chain.fund(address)
          return address
        }),
      )
      const faults = FAULTS.filter((fault) => fault !== 'answers more than anybody reads')
      for (const method of METHODS) {
        for (const fault of faults) {
          gate.spoil({ fault, method, where: () => random() < SPOILT_PERCENT / 100 / faults.length })
        }
      }
      const worker = await startWorkerHere(service, { LOG_LEVEL: 'silent' })
      const answers = await Promise.all(
        wallets.flatMap((wallet) =>
          Array.from({ length: 5 }, () =>
            service.post('/transactions/sign-and-send', {
              network,
              signer_wallet_address: wallet,
              unsigned_transaction: { to: fundedAccount(5).address, value: '1' },
              developer_secret: 'testnet-secret',
            }),
          ),
        ),
      )
      const refused = answers.filter(({ status }) => status !== 200)
      expect(refused.length).toBeWithin(1, answers.length)
      for (const { status, json } of refused) {
        expect({ status, json }).toEqual({ status: 503, json: { error: expect.any(String), code: 'node_unavailable' } })
      }
      const ids: string[] = answers.filter(({ status }) => status === 200).map(({ json }) => json.transaction_id)
      const isSome = async () =>
        (await Promise.all(ids.map((id) => service.get('/transactions/status-by-id', { id })))).some(
          ({ json }) => json.status === 'success',
        )
      for (const deadline = Date.now() + 10_000; !(await isSome()) && Date.now() < deadline; ) await Bun.sleep(250)
      gate.heal()
      // Each waits longer after each failure.
      await ageTransactions(sql)
      await sql`update graphile_worker._private_jobs set run_at = now() where run_at > now() and key like 'broadcast:%'`
      await addJob(service.ctx.db, 'reconcile', { again: false })
      const settled = await Promise.all(ids.map((id) => service.settled(id)))
      await worker.stop()
      expect(settled.map(({ json }) => json.status)).toEqual(ids.map(() => 'success'))
      const counts = wallets.map((address) => chain.publicClient.getTransactionCount({ address }))
      expect((await Promise.all(counts)).reduce((sum, count) => sum + count, 0)).toBe(ids.length)
      const rows = await sql<{ n: number; highest: number }[]>`
      select count(*)::int as n, max(nonce)::int as highest from transactions
      where signer_address in ${sql(wallets)} group by signer_address`
      expect(rows.filter(({ n, highest }) => n !== highest + 1)).toEqual([])
    },
  )
})
