// PostgreSQL is restarted under load, orderly or not, and connections are cut: every request ends in time, with success
// or a correct error, nothing is half done, and the worker continues by itself.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import type { Hex } from 'viem'
import { type PostgresServer, startPostgres } from '../../devnet/postgres.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { createDatabaseOn, onServer, startTestPostgres } from '../support/postgres.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const SENDERS = 4
/** Requests at a time for each sender. */
const AT_ONCE = 3
/** Somewhat longer than the time limit for a connection. */
const ANSWER_MAX_MS = 20_000
const RETRY_MS = 100

let folder: string
let server: PostgresServer
let chain: TestChain
let service: Service
let worker: ReturnType<Service['startWorker']>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-database-'))
  server = await startTestPostgres(join(folder, 'postgres'), { durable: true })
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl }, database: await createDatabaseOn(server.url) })
  // Three jobs never end, so only one place is left, and some jobs wait in the worker when it happens.
  worker = service.startWorker({ LOG_LEVEL: 'silent', WORKER_CONCURRENCY: '4' })
  // From now on the worker follows the blocks.
  const first = await sendFrom(await newWallet())
  expect((await service.settled(first.json.transaction_id)).json).toMatchObject({ status: 'success' })
})

afterAll(async () => {
  await service.close()
  await chain.stop()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const restart = async (graceMs?: number) => {
  await server.stop(graceMs)
  server = await startPostgres({ dataDirectory: join(folder, 'postgres'), durable: true, port: server.port })
}

/** Cuts all connections, including the job queue's. */
const cut = () =>
  onServer(
    server.url,
    (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'strongroom-%'`,
  )

const newWallet = async (): Promise<Hex> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

const sendFrom = (wallet: Hex, headers: Record<string, string> = {}) =>
  service.post(
    '/transactions/sign-and-send',
    {
      network,
      signer_wallet_address: wallet,
      unsigned_transaction: { to: RECIPIENT, value: '1' },
      developer_secret: SECRET,
    },
    headers,
  )

type Seen = { readonly answer: Answer; readonly tookMs: number }

/** Repeats all kinds of requests in turn until it is stopped, and keeps every answer. */
const load = (wallets: readonly Hex[]) => {
  const seen: Seen[] = []
  let stopping = false
  const ask = async (call: () => Promise<Answer>): Promise<Answer> => {
    const begun = performance.now()
    const answer = await call()
    seen.push({ answer, tookMs: performance.now() - begun })
    return answer
  }
  const complete = { gasLimit: '21000', maxFeePerGas: '9', maxPriorityFeePerGas: '9', nonce: '7' }
  const others: ((wallet: Hex) => Promise<Answer>)[] = [
    (wallet) =>
      service.post('/transactions/sign', {
        network,
        signer_wallet_address: wallet,
        unsigned_transaction: { to: RECIPIENT, ...complete },
        developer_secret: SECRET,
      }),
    (address) => service.get('/wallets/get-by-address', { network, address }),
    () => service.post('/wallets', { network, name: 'A', control_mode: 'developer', developer_secret: SECRET }),
  ]
  const accepted: string[] = []
  let unknown = 0
  const sendOnce = async (wallet: Hex) => {
    const answer = await ask(() => sendFrom(wallet))
    if (answer.status === 200) accepted.push(answer.json.transaction_id)
    else unknown += 1
  }
  /** Repeats a request with an idempotency key until it is answered. */
  const sendUntilAnswered = async (wallet: Hex) => {
    const headers = { 'idempotency-key': randomUUID() }
    while (!stopping) {
      const answer = await ask(() => sendFrom(wallet, headers))
      if (answer.status === 200) return void accepted.push(answer.json.transaction_id)
      await Bun.sleep(RETRY_MS)
    }
  }
  const kinds = [sendOnce, sendUntilAnswered, ...others.map((call) => (wallet: Hex) => ask(() => call(wallet)))]
  const loops = Array.from({ length: AT_ONCE * wallets.length }, async (_, index) => {
    const wallet = wallets[index % wallets.length] ?? '0x'
    for (let turn = index; !stopping; turn += 1) await kinds[turn % kinds.length]?.(wallet)
  })
  return {
    seen,
    accepted,
    /** The number of requests whose callers were told that the result is not known. */
    unknown: () => unknown,
    /** Resolves once every request has its answer. */
    stop: async () => {
      stopping = true
      await Promise.all(loops)
    },
  }
}

const expectClean = (seen: readonly Seen[]) => {
  for (const { answer, tookMs } of seen) {
    expect(tookMs).toBeLessThan(ANSWER_MAX_MS)
    if (answer.status === 200) continue
    expect({ status: answer.status, json: answer.json }).toEqual({
      status: 503,
      json: { error: expect.any(String), code: 'unavailable' },
    })
  }
}

/** Checks that each database transaction was written as a whole or not at all. */
const wholeness = (sql: Sql) => sql<Record<string, number>[]>`
  select
    (select count(*)::int from transactions t
      where (select count(*) from tests.attempts a where a.transaction_id = t.id) <> t.rungs + 1) as without_attempts,
    (select count(*)::int from transactions t
      where (select count(*) from audit a where a.details ->> 'transaction' = t.id::text) <> 1) as without_audit,
    (select count(*)::int from wallets w
      where not exists (select from owner_locks l where l.keyring_id = w.keyring_id)
        or not exists (select from wallet_keys k where k.wallet_id = w.id)) as without_keys`

type Disturbance = (hasFailed: () => boolean) => Promise<void>

const disturbances: Readonly<Record<string, Disturbance>> = {
  'dies and comes back': () => restart(0),
  'is restarted while others are served': () => restart(),
  'loses every connection, again and again': async (hasFailed) => {
    // Losing an idle connection affects nobody.
    for (let each = 0; each < 8 || (!hasFailed() && each < 200); each += 1) {
      await cut()
      await Bun.sleep(100)
    }
  },
}
for (const [name, disturb] of Object.entries(disturbances)) {
  test(`PostgreSQL ${name}: requests end cleanly, nothing is half done, and all that was recorded is mined`, async () => {
    const wallets = await Promise.all(Array.from({ length: SENDERS }, newWallet))
    const running = load(wallets)
    const succeeded = () => running.seen.filter(({ answer }) => answer.status === 200).length
    const untilMoreSucceed = async () => {
      const enough = succeeded() + 2 * AT_ONCE * SENDERS
      for (const deadline = Date.now() + 30_000; succeeded() < enough && Date.now() < deadline; ) await Bun.sleep(20)
      expect(succeeded()).toBeGreaterThanOrEqual(enough)
    }
    try {
      await untilMoreSucceed()
      await disturb(() => succeeded() < running.seen.length)
      await untilMoreSucceed()
    } finally {
      await running.stop()
      expectClean(running.seen)
    }
    expect(succeeded()).toBeLessThan(running.seen.length)
    const ids = await onServer(server.url, async (sql) => {
      const [whole] = await wholeness(sql)
      expect(whole).toEqual({ without_attempts: 0, without_audit: 0, without_keys: 0 })
      const rows = await sql<{ id: string }[]>`select id from transactions where signer_address in ${sql(wallets)}`
      return rows.map(({ id }) => id)
    })
    expect(new Set(running.accepted).size).toBe(running.accepted.length)
    expect(ids).toEqual(expect.arrayContaining(running.accepted))
    expect(ids.length - running.accepted.length).toBeWithin(0, running.unknown() + 1)
    // A failed job is added again by the reconciler, which may have failed too: so wait more than twice its period.
    const settled = await Promise.all(ids.map((id) => service.settled(id, 100_000)))
    expect(settled.map(({ json }) => json.status)).toEqual(ids.map(() => 'success'))
    const signers = await onServer(
      server.url,
      (sql) => sql<{ signer: Hex; n: number; highest: number }[]>`
        select signer_address as signer, count(*)::int as n, max(nonce)::int as highest
        from transactions where signer_address in ${sql(wallets)} group by 1`,
    )
    expect(signers.length).toBe(SENDERS)
    for (const { signer, n, highest } of signers) {
      const mined = await chain.publicClient.getTransactionCount({ address: signer })
      expect({ n, highest }).toEqual({ n: mined, highest: mined - 1 })
    }
    expect((await service.get('/readyz')).json).toMatchObject({ status: 'ready' })
    expect(worker.exitCode).toBeNull()
  }, 170_000)
}
