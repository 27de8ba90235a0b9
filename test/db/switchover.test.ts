// A switchover as Patroni does it: the primary ends, its standby is promoted, and the earlier primary comes back as a
// standby at the address that the processes know. Some seconds later that address leads to the new primary.

import { expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from '../../devnet/postgres.ts'
import { startChain } from '../support/chains.ts'
import { isLeftOut } from '../support/long.ts'
import { createDatabaseOn, onServer, quickFolder, startTestPostgres } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const network = 'Ethereum'
const TO = '0x00000000000000000000000000000000000000f1'
const INTENTS = 24
const EACH_MS = 300

const REPLICATING = { wal_level: 'replica', max_wal_senders: '4' } as const
const following = (url: string, port: number) => {
  const { username, password } = new URL(url)
  return { ...REPLICATING, primary_conninfo: `host=127.0.0.1 port=${port} user=${username} password=${password}` }
}

const startPair = async (folder: string) => {
  const [one, two] = [join(folder, 'one'), join(folder, 'two')]
  const first = await startTestPostgres(one, { durable: false, settings: REPLICATING })
  const { url, port } = first
  const database = await createDatabaseOn(url)
  await database.close()
  await first.stop()
  // A folder of a server that has ended is a base backup.
  await promisify(execFile)('cp', ['-a', one, two])
  const followAgain = (directory: string, ofPort: number, at?: number) =>
    writeFile(join(directory, 'standby.signal'), '').then(() =>
      startPostgres({
        dataDirectory: directory,
        durable: false,
        settings: following(url, ofPort),
        ...(at === undefined ? {} : { port: at }),
      }),
    )
  const primary = await startPostgres({ dataDirectory: one, durable: false, settings: REPLICATING, port })
  const standby = await followAgain(two, port)
  return {
    database,
    next: standby,
    /** @returns the earlier primary as a standby, at its port. */
    switchOver: async () => {
      await primary.stop()
      await onServer(standby.url, (sql) => sql`select pg_promote()`)
      return followAgain(one, standby.port, port)
    },
  }
}

/** Pays one wei, and asks again with the same key until it is accepted. @returns the transaction's id. */
const pay = async (service: Service, from: string, number: number): Promise<string> => {
  const body = {
    network,
    signer_wallet_address: from,
    developer_secret: 'testnet-secret',
    unsigned_transaction: { to: TO, value: '1' },
  }
  const ask = () => service.post('/transactions/sign-and-send', body, { 'idempotency-key': `payment-${number}` })
  const { json } = await until(ask, ({ status, json }) => {
    if (status !== 200) expect({ status, code: json.code }).toEqual({ status: 503, code: json.code })
    return status === 200
  })
  return json.transaction_id
}

test.skipIf(isLeftOut('a switchover between two PostgreSQL servers'))(
  'no process has to be restarted after a switchover, and each accepted payment is made once',
  async () => {
    const folder = await mkdtemp(join(quickFolder(), 'strongroom-switchover-'))
    await chmod(folder, 0o755)
    const pair = await startPair(folder)
    const chain = await startChain(network)
    const proxy = await startTcpProxy(pair.database.url)
    const by = (url: string) => Object.assign(new URL(url), { port: new URL(proxy.url).port }).href
    const { apiUrl, vaultUrl, workerUrl, ...owner } = pair.database
    const database = { ...owner, apiUrl: by(apiUrl), vaultUrl: by(vaultUrl), workerUrl: by(workerUrl) }
    const service = await startService({ database, rpcUrls: { [network]: chain.rpcUrl } })
    const readiness = () => service.get('/readyz').then(({ status }) => status)
    service.startWorker({ LOG_LEVEL: 'silent' })
    const { address } = await service.newWallet({ network })
    await chain.send({ to: address, value: 10n ** 18n })
    const paid = [pay(service, address, 0)]
    // A worker that does not reach the database at its start ends, and is started again by its service manager.
    await service.settled(await (paid[0] ?? ''))
    const paying = (async () => {
      for (let number = 1; number < INTENTS; number += 1) {
        paid.push(pay(service, address, number))
        await Bun.sleep(EACH_MS)
      }
    })()
    await until(() => paid.length > 3)
    const earlier = await pair.switchOver()
    await until(readiness, (status) => status === 503)
    await paying
    // All that is left waits: the address leads to a standby.
    expect(await service.get('/wallets', { network })).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    expect(await readiness()).toBe(503)
    proxy.turnTo(pair.next.port)
    const ids = await Promise.all(paid)
    expect(new Set(ids).size).toBe(INTENTS)
    for (const id of ids) expect((await service.settled(id)).json).toMatchObject({ status: 'success' })
    expect(await chain.publicClient.getBalance({ address: TO })).toBe(BigInt(INTENTS))
    expect(await readiness()).toBe(200)
    await service.close()
    await proxy.stop()
    await chain.stop()
    await earlier.stop()
    await pair.next.stop()
    await rm(folder, { recursive: true, force: true })
  },
)
