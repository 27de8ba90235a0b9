// PostgreSQL's disk is full: a real server whose data is on a small file system of its own, a tmpfs, filled by a file.
// Only root on Linux can mount that; elsewhere these tests are skipped.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import type { Hex } from 'viem'
import type { PostgresServer } from '../../devnet/postgres.ts'
import type { Finding } from '../../src/operators/doctor/finding.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { createDatabaseOn, startTestPostgres } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
/** A prepared cluster has 70 MB, and its log of changes grows by 16 MB at a time. */
const DISK = '400m'
const PATIENCE_MS = 60_000
/** Pages of the tables that exist already take the first rows. */
const SENDS_MAX = 1_500

const mountDisk = async (): Promise<{ readonly folder: string; readonly disk: string } | null> => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-disk-'))
  const disk = join(folder, 'disk')
  await mkdir(disk)
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK},mode=755`, 'tmpfs', disk])
  if (status === 0) return { folder, disk }
  await rm(folder, { recursive: true })
  console.warn('skipped: only root on Linux can mount a small disk')
  return null
}

const mounted = await mountDisk()

describe.skipIf(mounted === null)('with a full disk', () => {
  const { folder, disk } = mounted ?? { folder: '', disk: '' }
  const filler = join(disk, 'filler')
  let server: PostgresServer
  let chain: TestChain
  let service: Service
  let sql: Sql
  let wallets: readonly Hex[]

  beforeAll(async () => {
    server = await startTestPostgres(join(disk, 'postgres'))
    chain = await startChain(network)
    service = await startService({
      database: await createDatabaseOn(server.url),
      rpcUrls: { [network]: chain.rpcUrl },
    })
    sql = postgres(server.url, { max: 1, onnotice: () => {} })
    service.startWorker({ LOG_LEVEL: 'silent' })
    wallets = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const { address } = await service.newWallet({ network })
        await chain.fund(address)
        return address
      }),
    )
  })

  afterAll(async () => {
    await sql.end()
    await service.close()
    await chain.stop()
    await server.stop()
    expect(spawnSync('umount', [disk]).stderr.toString()).toBe('')
    await rm(folder, { recursive: true })
  })

  const fill = async (): Promise<void> => {
    // The rest of this segment is on the disk already. Without space for the next one, PostgreSQL would stop as a
    // whole.
    await sql`select pg_switch_wal()`
    await sql`checkpoint`
    const { status } = spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'])
    expect(status).toBe(1)
  }

  const free = () => writeFile(filler, '')

  const send = (from: Hex) =>
    service.post('/transactions/sign-and-send', {
      network,
      signer_wallet_address: from,
      unsigned_transaction: { to: fundedAccount(5).address, value: '1' },
      developer_secret: 'testnet-secret',
    })

  /** Asks nothing else, so that there is no traffic. */
  const readyAs = async (status: number) => {
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const answer = await service.get('/readyz')
      if (answer.status === status || performance.now() > deadline) return answer
      await sleep(200)
    }
  }

  const gauge = async (): Promise<string | undefined> =>
    /^strongroom_database_full (\d)$/m.exec((await service.get('/metrics')).text)?.[1]

  const mined = async (): Promise<number> => {
    const counts = wallets.map((address) => chain.publicClient.getTransactionCount({ address }))
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  test('nothing is ready, what is refused is not done, and afterwards nothing is lost', async () => {
    const ids: string[] = []
    for (const wallet of wallets) ids.push((await send(wallet)).json.transaction_id)
    for (const id of ids) expect((await service.settled(id, PATIENCE_MS)).json).toMatchObject({ status: 'success' })
    expect((await readyAs(200)).json).toMatchObject({ status: 'ready' })
    expect(await gauge()).toBe('0')

    await fill()
    const without = await readyAs(503)
    expect(without.json).toEqual({ error: 'The database has no space or memory left.', code: 'unavailable' })
    expect(await gauge()).toBe('1')
    const doctor = await runCli(['doctor', '--json'], service.variables)
    const found: readonly Finding[] = JSON.parse(doctor.output)
    expect(found.find(({ check }) => check === 'database space')).toMatchObject({
      state: 'failed',
      advice: expect.stringContaining('Make space'),
    })

    let refused = 0
    for (let sent = 0; sent < SENDS_MAX && refused < 10; sent += wallets.length) {
      for (const { status, json } of await Promise.all(wallets.map(send))) {
        if (status === 200) ids.push(json.transaction_id)
        else {
          refused += 1
          expect([status, json.code]).toEqual([503, 'unavailable'])
        }
      }
    }
    expect(refused).toBeGreaterThan(0)
    expect((await service.get('/readyz')).status).toBe(503)
    const [start] = await sql`select now() as at`
    const late = service.startWorker({ LOG_LEVEL: 'silent' })
    const begun = () => sql`
      select from pg_stat_activity where application_name = 'strongroom-worker' and backend_start > ${start?.at}`
    const deadline = performance.now() + PATIENCE_MS
    while ((await begun()).length === 0 && performance.now() < deadline) await sleep(50)

    await free()
    expect((await readyAs(200)).json).toMatchObject({ status: 'ready' })
    expect(await gauge()).toBe('0')
    for (const wallet of wallets) ids.push((await send(wallet)).json.transaction_id)
    for (const id of ids) {
      expect((await service.settled(id, PATIENCE_MS)).json).toMatchObject({ status: 'success' })
    }
    expect(await mined()).toBe(ids.length)
    expect(late.exitCode).toBeNull()
  })
})
