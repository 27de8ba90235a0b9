// Processes that neither work nor end: stopped by a signal, or cut off from the database without a word. Their
// connections and locks stay, so others must find out by themselves. Real processes, a real network in between.

import { afterEach, describe, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import type { Hex } from 'viem'
import { fundedAccount, startChain } from '../support/chains.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { startVaultProcess } from '../support/vault.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
/** Two seconds until somebody looks for dead workers; the rest is a slow machine's. */
const TAKEN_OVER_MS = 60_000
/** What is promised: ten seconds of silence, two until somebody looks, and the followers' start. */
const WITHIN_MS = 15_000
/** For the API that loses its network. Longer than its transaction may be idle, so that others get the signer first. */
const ANSWER_TIMEOUT_MS = 12_000

let workers: ReturnType<Service['startWorker']>[] = []

const chain = await shared(startChain(network))
const service = await shared(startService({ rpcUrls: { [network]: chain.rpcUrl } }))
/** One before each of two workers. */
const proxies = await Promise.all([
  startTcpProxy(service.database.workerUrl),
  startTcpProxy(service.database.workerUrl),
])
const { sql } = service.database
afterTests(async () => {
  for (const proxy of proxies) await proxy.stop()
})

afterEach(async () => {
  for (const proxy of proxies) proxy.thaw()
  for (const worker of workers) {
    worker.kill('SIGCONT')
    worker.kill('SIGKILL')
  }
  await Promise.all(workers.map((worker) => worker.exited))
  workers = []
  // A killed worker counts as living for some seconds. The next test shall not take it for one of its own.
  await sql`update workers set seen_at = seen_at - interval '30 s'`
})

const startWorker = (changes: Record<string, string> = {}) => {
  const worker = service.startWorker(changes)
  workers.push(worker)
  return worker
}

const fundedWallet = async (): Promise<Hex> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

const intentOf = (from: Hex) => ({
  network,
  signer_wallet_address: from,
  unsigned_transaction: { to: RECIPIENT, value: '1' },
  developer_secret: SECRET,
})

const send = async (from: Hex): Promise<string> => {
  const answer = await service.post('/transactions/sign-and-send', intentOf(from))
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return answer.json.transaction_id
}

/** The living pools that run the followers of the network. */
const holders = async (): Promise<readonly string[]> => {
  const rows = await sql<{ pool: string }[]>`
    select distinct locked_by as pool from strongroom_views.jobs
    where key in (${`track_blocks:${network}`}, ${`index_blocks:${network}`}) and state = 'running'`
  return rows.map(({ pool }) => pool)
}

/** Makes what a silent pool wrote last as old as it were after half a minute. */
const passHalfMinute = async (pool: string): Promise<void> => {
  await sql`update workers set seen_at = seen_at - interval '30 s' where id = ${pool}`
  await sql`update cursors set stepped_at = stepped_at - interval '30 s'`
}

/** Waits until a pool has said once more that it lives. */
const untilSeenAgain = async (pool: string): Promise<void> => {
  const seen = async () => String((await sql`select seen_at::text from workers where id = ${pool}`)[0]?.seen_at)
  const before = await seen()
  expect(await until(seen, (now) => now !== before, TAKEN_OVER_MS)).not.toBe(before)
}

const living = () => sql<{ id: string }[]>`select id from strongroom_views.workers where lives`

/** A worker and the name of its pool. */
type Member = { readonly worker: ReturnType<typeof startWorker>; readonly pool: string }

/** Starts two workers, one after the other, so that each one's pool is known. */
const startTwo = async (
  first: Record<string, string> = {},
  second: Record<string, string> = {},
): Promise<readonly [Member, Member]> => {
  const start = async (changes: Record<string, string>, others: readonly string[]): Promise<Member> => {
    const worker = startWorker(changes)
    const rows = await until(living, ({ length }) => length > others.length, TAKEN_OVER_MS)
    const [pool = '', ...more] = rows.map(({ id }) => id).filter((id) => !others.includes(id))
    expect(more).toEqual([])
    expect(pool).not.toBe('')
    return { worker, pool }
  }
  const member = await start(first, [])
  return [member, await start(second, [member.pool])]
}

const stateOf = async (): Promise<string> => (await service.get('/readyz')).json.networks[network]

const sentCount = async (from: Hex): Promise<number> =>
  Number(await chain.publicClient.getTransactionCount({ address: from }))

/**
 * Everything goes on although `stop` silenced the worker with the followers, and when it is back nothing happens twice.
 */
const survives = async (
  members: readonly [Member, Member],
  { stop, goOn }: { readonly stop: (index: number) => void; readonly goOn: (index: number) => void },
) => {
  const wallet = await fundedWallet()
  await service.settled(await send(wallet), TAKEN_OVER_MS)
  // Followers move between workers every half a minute, so either may have them now.
  const [pool = ''] = await until(holders, ({ length }) => length > 0, TAKEN_OVER_MS)
  const index = members.findIndex((member) => member.pool === pool)
  expect(index).not.toBe(-1)
  stop(index)
  await passHalfMinute(pool)
  const id = await send(wallet)
  expect((await service.settled(id, TAKEN_OVER_MS)).json).toMatchObject({ status: 'success' })
  expect(await until(holders, (pools) => pools.length > 0 && !pools.includes(pool), TAKEN_OVER_MS)).not.toContain(pool)
  goOn(index)
  const after = await Promise.all([send(wallet), send(wallet), send(wallet)])
  for (const each of after) {
    expect((await service.settled(each, TAKEN_OVER_MS)).json).toMatchObject({ status: 'success' })
  }
  // The worker enrols again, and both live.
  expect((await until(living, ({ length }) => length === 2, TAKEN_OVER_MS)).length).toBe(2)
  expect(members[index]?.worker.exitCode).toBeNull()
  expect(await sentCount(wallet)).toBe(5)
}

describe('a worker that holds the followers of a network', () => {
  test('and is stopped by a signal: another one takes them over', async () => {
    const two = await startTwo()
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => (index: number) => two[index]?.worker.kill(name)
    await survives(two, { stop: signal('SIGSTOP'), goOn: signal('SIGCONT') })
  })

  test('and is stopped by a signal: another one has them within 15 seconds', async () => {
    const two = await startTwo()
    const wallet = await fundedWallet()
    await service.settled(await send(wallet), TAKEN_OVER_MS)
    const [pool = ''] = await until(holders, ({ length }) => length > 0, TAKEN_OVER_MS)
    const stopped = performance.now()
    two.find((member) => member.pool === pool)?.worker.kill('SIGSTOP')
    const isOther = (pools: readonly string[]) => pools.length > 0 && !pools.includes(pool)
    expect(await until(holders, isOther, TAKEN_OVER_MS)).not.toContain(pool)
    expect(performance.now() - stopped).toBeLessThan(WITHIN_MS)
    expect((await service.settled(await send(wallet), TAKEN_OVER_MS)).json).toMatchObject({ status: 'success' })
  })

  test('and loses its network without a word: another one takes them over', async () => {
    const two = await startTwo({ DATABASE_URL: proxies[0].url }, { DATABASE_URL: proxies[1].url })
    await survives(two, { stop: (index) => proxies[index]?.freeze(), goOn: (index) => proxies[index]?.thaw() })
  })

  test('and is stopped with nobody beside it: /readyz and the views say so, until it goes on', async () => {
    const wallet = await fundedWallet()
    const worker = startWorker()
    await service.settled(await send(wallet), TAKEN_OVER_MS)
    expect(await stateOf()).toBe('ready')
    const [pool = ''] = await until(holders, ({ length }) => length > 0, TAKEN_OVER_MS)
    worker.kill('SIGSTOP')
    await passHalfMinute(pool)
    expect(await until(stateOf, (state) => state === 'stalled', TAKEN_OVER_MS)).toBe('stalled')
    const states = await sql`select distinct state from strongroom_views.jobs where task = 'track_blocks'`
    expect([...states]).toEqual([{ state: 'abandoned' }])
    expect([...(await sql`select lives from strongroom_views.workers`)]).toEqual([{ lives: false }])
    worker.kill('SIGCONT')
    expect(await until(stateOf, (state) => state === 'ready', TAKEN_OVER_MS)).toBe('ready')
  })
})

test('a worker whose clock jumps by a day, ahead and behind, goes on and counts as living', async () => {
  const wallet = await fundedWallet()
  const preload = fileURLToPath(new URL('../support/jumping-clock.ts', import.meta.url))
  const [first] = await startTwo({ BUN_OPTIONS: `--preload=${preload}` })
  await service.settled(await send(wallet), TAKEN_OVER_MS)
  for (let jump = 0; jump < 2; jump += 1) {
    first.worker.kill('SIGUSR2')
    const ids = [await send(wallet), await send(wallet)]
    for (const id of ids) expect((await service.settled(id, TAKEN_OVER_MS)).json).toMatchObject({ status: 'success' })
    await untilSeenAgain(first.pool)
    expect(await stateOf()).toBe('ready')
    expect((await living()).length).toBe(2)
  }
  expect(first.worker.exitCode).toBeNull()
  expect(await sentCount(wallet)).toBe(5)
})

describe('a vault whose network is lost in a transaction', () => {
  test('frees its rows within seconds; its request ends and is not carried out', async () => {
    const vaultProxy = await startTcpProxy(service.database.vaultUrl)
    const VAULT_SOCKET = `${service.variables.VAULT_SOCKET}.lost`
    const DATABASE_URL = `${vaultProxy.url}?query_timeout=${ANSWER_TIMEOUT_MS}`
    const vault = await startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET, DATABASE_URL })
    const api = await startService({
      database: { ...service.database, close: async () => {} },
      hasVault: false,
      variables: { ...service.variables, VAULT_SOCKET },
    })
    const { address } = await service.newWallet({ network, pin: '493817' })
    const change = (client: Pick<Service, 'post'>, newPin: string) => {
      const body = { network, address, old_user_pin: '493817', new_user_pin: newPin }
      return client.post('/wallets/change-user-pin', body)
    }
    // The transaction waits for this table with the row of the owner's key locked.
    await using release = await holdTable(sql, 'audit')
    const answer = change(api.as(service.project), '582946')
    await untilWaiting(sql)
    vaultProxy.freeze()
    await release()
    expect(await change(service, '604173')).toMatchObject({ status: 200 })
    expect(await answer).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    vaultProxy.thaw()
    await api.close()
    await vault.stop()
    await vaultProxy.stop()
  })
})

describe('an API process whose network is lost in a transaction', () => {
  test('frees its signer within seconds; its own request ends, and is done at most once', async () => {
    const apiProxy = await startTcpProxy(service.database.apiUrl)
    const lost = await startService({
      database: { ...service.database, close: async () => {} },
      rpcUrls: { [network]: chain.rpcUrl },
      hasVault: false,
      variables: { ...service.variables, DATABASE_URL: `${apiProxy.url}?query_timeout=${ANSWER_TIMEOUT_MS}` },
    })
    startWorker()
    const wallet = await fundedWallet()
    const client = lost.as({ projectId: service.project.projectId, apiKey: service.project.apiKey })
    // The transaction waits for this table with the signer's row locked.
    await using release = await holdTable(sql, 'ladders')
    const answer = client.post('/transactions/sign-and-send', intentOf(wallet))
    const waiting = () => sql`
      select from pg_stat_activity where datname = ${service.database.name} and wait_event_type = 'Lock'`
    expect((await until(waiting, ({ length }) => length > 0, TAKEN_OVER_MS)).length).toBeGreaterThan(0)
    apiProxy.freeze()
    await release()
    const id = await send(wallet)
    expect((await service.settled(id, TAKEN_OVER_MS)).json).toMatchObject({ status: 'success' })
    const { status, json } = await answer
    expect([status, json.code]).toEqual([503, 'unavailable'])
    apiProxy.thaw()
    expect((await client.get('/transactions/status-by-id', { id })).json).toMatchObject({ status: 'success' })
    expect(await sentCount(wallet)).toBe(1)
    await lost.close()
    await apiProxy.stop()
  })
})
