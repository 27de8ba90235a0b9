// Many intents at the same time, over HTTP: each is mined once, and no nonce is left out.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import type { Address } from 'viem'
import { createApp } from '../../src/api/app.ts'
import { startRound } from '../../src/blocks/follow.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { broadcastTransaction } from '../../src/signing/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/signing/transactions/reconcile.ts'
import { trackStep } from '../../src/signing/transactions/track.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const MANY = 500
/** As many connections as a server's client pool has. */
const CONNECTIONS = 64
const SETTLED_WITHIN_MS = 60_000
const TEST_TIMEOUT_MS = 120_000

let chain: TestChain
let service: Service
let worker: WorkerHere
let sql: Sql

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  sql = postgres(service.database.url, { max: 1 })
  worker = await startWorkerHere(service)
})

afterAll(async () => {
  await sql.end()
  await worker.stop()
  await service.close()
  await chain.stop()
})

/** Runs work for each number below `count`, with limited concurrency. */
const each = async <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> => {
  const results: Result[] = []
  let next = 0
  const client = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
  return results
}

const fundedWallet = async (): Promise<Address> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

/** A new address for each intent, so that its balance shows the intent's effect. */
const recipientOf = (run: number, index: number): Address =>
  `0x${(BigInt(run) * 1_000_000n + BigInt(index) + 2n ** 159n).toString(16).padStart(40, '0')}`

const send = async (input: { from: Address; to: Address; value: string }): Promise<string> => {
  const body = {
    network,
    signer_wallet_address: input.from,
    unsigned_transaction: { to: input.to, value: input.value },
    developer_secret: SECRET,
  }
  const answer = await service.post('/transactions/sign-and-send', body)
  if (answer.status !== 200) throw new Error(`not accepted: ${answer.text}`)
  return answer.json.transaction_id
}

type Tally = { readonly status: string; readonly count: number }

/** The state of the first unfinished transaction, of the tracker and of the node. */
const whatIsLive = async (ids: readonly string[]): Promise<string> => {
  const [row] = await sql`
    select nonce, status, chosen, rungs, clock_started_at, broadcast_at, mined_block_number, mined_block_hash, updated_at, now(), (
      select json_agg(json_build_object('kind', kind, 'rung', rung, 'at', broadcast_at, 'error', last_error)) from tests.attempts
      where transaction_id = id) as attempts
    from transactions where id = any(${[...ids]}) and status in ('submitted', 'pending') order by nonce limit 1`
  const cursors = await sql`select purpose, block_number from cursors`
  const node = [await chain.rpc('eth_blockNumber'), await chain.rpc('txpool_status')]
  return JSON.stringify({ row, cursors: [...cursors], node })
}

/** Waits until nothing is live. */
const statuses = async (ids: readonly string[]): Promise<readonly Tally[]> => {
  const deadline = Date.now() + SETTLED_WITHIN_MS
  for (;;) {
    const rows = await sql<Tally[]>`
      select status, count(*)::int as count from transactions where id = any(${[...ids]}) group by status`
    if (rows.every(({ status }) => status !== 'submitted' && status !== 'pending')) return [...rows]
    if (Date.now() > deadline) throw new Error(`it did not end: ${await whatIsLive(ids)}`)
    await Bun.sleep(50)
  }
}

const noncesOf = async (address: Address): Promise<number[]> =>
  (
    await sql<{ nonce: number }[]>`
      select nonce::int from transactions where signer_address = ${address} order by nonce`
  ).map(({ nonce }) => nonce)

describe(`${MANY} intents at once`, () => {
  const runs = [
    ['of one signer', 1, 1],
    ['of as many signers', 2, MANY],
  ] as const

  for (const [name, run, signers] of runs) {
    test(
      `${name} are each mined once, without a gap`,
      async () => {
        const wallets = await each(signers, fundedWallet)
        const ids = await each(MANY, (index) =>
          send({ from: wallets[index % signers] as Address, to: recipientOf(run, index), value: String(index + 1) }),
        )
        expect(await statuses(ids)).toEqual([{ status: 'success', count: MANY }])
        const received = await each(MANY, (index) =>
          chain.publicClient.getBalance({ address: recipientOf(run, index) }),
        )
        expect(received).toEqual(Array.from({ length: MANY }, (_, index) => BigInt(index + 1)))
        const mined = await each(signers, (index) =>
          chain.publicClient.getTransactionCount({ address: wallets[index] as Address }),
        )
        expect(mined).toEqual(Array(signers).fill(MANY / signers))
        expect(await noncesOf(wallets[0] as Address)).toEqual([...Array(MANY / signers).keys()])
      },
      TEST_TIMEOUT_MS,
    )
  }
})

/** A separate service without a worker process: the worker's steps run in this process. */
const startStepped = async () => {
  const own = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  const db = postgres(own.database.url, { max: 1 })
  // From the next connection on, PostgreSQL scans a whole table only if no index helps.
  await db.unsafe(`alter database ${own.database.name} set enable_seqscan = off`)
  await db`set enable_seqscan = off`
  const api = await createApiCtx({ config: readConfig(own.variables), process: 'stepped-api' })
  const variables = { ...own.variables, DATABASE_URL: own.database.workerUrl, VAULT_SOCKET: '' }
  const worker = await createWorkerCtx({ config: readConfig(variables), process: 'stepped-worker' })
  const server = listen({ fetch: createApp(api).fetch, hostname: '127.0.0.1', port: 0, log: api.log })
  const client = own.as(own.project, `http://127.0.0.1:${server.port}`)
  const onChain = worker.chains.withNode(network)
  const stop = async () => {
    await server.stop(true)
    await Promise.all([api, worker].map((ctx) => ctx.close({ timeoutSeconds: 5 })))
  }
  const close = async () => {
    await db.end()
    await own.close()
  }
  const step = () => trackStep(worker, onChain)
  const catchUp = async () => {
    while ((await step()) !== 'caught_up');
  }
  return { db, client, worker, onChain, step, catchUp, stop, close }
}

const sendBy = async (client: Pick<Service, 'post'>, from: Address, input: string): Promise<string> => {
  const answer = await client.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: { to: recipientOf(3, 0), value: '1', input },
    developer_secret: SECRET,
  })
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return answer.json.transaction_id
}

describe("a tracker's first step", () => {
  const cases = [
    // Two epochs of 32 make a block final.
    ['misses nothing of what is final by then', 70],
    ['is below what was mined before it', 3],
  ] as const
  test.each(cases)('%s', async (_, blocksAbove) => {
    const { client, worker, catchUp, stop, close } = await startStepped()
    const { address } = await client.newWallet({ network })
    await chain.fund(address)
    const ids = [await sendBy(client, address, '0x'), await sendBy(client, address, '0x')]
    for (const id of ids) await broadcastTransaction(worker, id)
    await chain.mine(blocksAbove)
    await catchUp()
    for (const id of ids) {
      expect((await client.get('/transactions/status-by-id', { id })).json).toMatchObject({ status: 'success' })
    }
    await stop()
    await close()
  })
})

describe('transactions that were settled long ago', () => {
  test('cost nothing: no step scans a whole table', async () => {
    const { db, client, worker, onChain, step, catchUp, stop, close } = await startStepped()
    await step()
    const { address } = await client.newWallet({ network })
    await chain.fund(address)
    const ids: string[] = []
    // The last one is simulated after the others.
    for (const input of ['0x', '0x', '0x01']) ids.push(await sendBy(client, address, input))
    for (const id of ids) await broadcastTransaction(worker, id)
    await catchUp()
    await db`
      update transactions set status = 'pending', mined_block_hash = null, updated_at = now() - interval '1 hour'
      where id = any(${ids})`
    await step()
    await reconcileTransactions(worker, startRound(onChain))
    await stop()
    // A connection reports its statistics when it ends.
    const connections = () => db`select from pg_stat_activity where application_name like 'strongroom-stepped-%'`
    while ((await connections()).length > 0) await Bun.sleep(10)
    const scans = await db<{ table: string; scans: number }[]>`
      select relname as table, seq_scan::int as scans from pg_stat_user_tables
      where relname in ('transactions', 'ladders') and seq_scan > 0`
    await close()
    expect([...scans]).toEqual([])
  })
})
