// A database that is dumped and restored by the commands of docs/backup.md, on Debian's PostgreSQL, together with a
// vault's journal.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { freePort } from '../../devnet/port.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { isLeftOut } from '../support/long.ts'
import { fillDatabase, onServer } from '../support/postgres.ts'
import type { Service } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'
import { network } from './changes.ts'
import { type Journaled, startJournaled } from './journaled.ts'

const SECRET = { developer_secret: 'testnet-secret' }
const PROGRAMS = '/usr/lib/postgresql'
const PAGE = new URL('../../docs/backup.md', import.meta.url)
/** Where the page puts backups. */
const BACKUPS = '/var/backups/strongroom'

const newestPrograms = (): string | null => {
  const versions = existsSync(PROGRAMS) ? readdirSync(PROGRAMS).filter((name) => Number(name) >= 15) : []
  const newest = versions.toSorted((a, b) => Number(b) - Number(a)).at(0)
  return newest === undefined ? null : join(PROGRAMS, newest, 'bin')
}

const programs = newestPrograms()
const isMissing = process.getuid?.() !== 0 || programs === null
if (isMissing) console.warn('skipped: a dump needs root and Debian’s PostgreSQL')

describe.skipIf(isMissing || isLeftOut('a dump and its restore by docs/backup.md'))('a dump, by the page', () => {
  let folder: string
  let environment: Record<string, string>
  let url: string
  let chain: TestChain
  let world: Journaled
  let api: Service
  let worker: WorkerHere | null = null

  /** Pastes commands into a shell. @returns what they print. */
  const paste = async (commands: string): Promise<string> => {
    const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', commands], { env: environment, stderr: 'pipe' })
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    if ((await child.exited) !== 0) throw new Error(`${commands}\n${err}`)
    return out
  }

  /** A command of the page. Only where backups are is another place. */
  const ofPage = async (from: string, command: RegExp): Promise<string> => {
    const text = await Bun.file(PAGE).text()
    const found = command.exec(text.slice(text.indexOf(`\n${from}\n`)))?.[0]
    if (found === undefined) throw new Error(`docs/backup.md has no such command below ${from}: ${command.source}`)
    return found.replaceAll(BACKUPS, join(folder, 'backups'))
  }

  const asPostgres = (command: string) => paste(`cd / && runuser -u postgres -- ${command}`)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-dump-'))
    const port = String(await freePort())
    environment = { PATH: `${programs}:${process.env.PATH ?? ''}`, PGHOST: folder, PGPORT: port }
    await paste(`chmod 755 ${folder} && install -d -o postgres ${folder}/data ${folder}/run`)
    environment.PGHOST = join(folder, 'run')
    await asPostgres(`initdb -D ${folder}/data -A trust -E UTF8 --locale=C.UTF-8 --no-sync`)
    const options = `-p ${port} -k ${folder}/run -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=200`
    await asPostgres(`pg_ctl -D ${folder}/data -l ${folder}/run/log -w -o '${options}' start`)
    await asPostgres('createuser strongroom')
    await asPostgres('createdb --owner=strongroom strongroom')
    url = `postgres://postgres@127.0.0.1:${port}/strongroom`
    chain = await startChain(network)
    await deployCanonicalContracts(chain.rpcUrl)
    world = await startJournaled({ rpcUrls: { [network]: chain.rpcUrl }, database: await fillDatabase(url) })
    api = world.api
  }, 120_000)

  afterAll(async () => {
    await worker?.stop()
    await world.close()
    await chain.stop()
    await asPostgres(`pg_ctl -D ${folder}/data -m fast -w stop`)
    await rm(folder, { recursive: true, force: true })
  })

  const startWorker = async () => {
    worker = await startWorkerHere(api)
  }
  const stopWorker = async () => {
    await worker?.stop()
    worker = null
  }

  /** What the page's `systemctl stop` does: nobody is connected any longer. */
  const disconnect = () =>
    onServer(url.replace(/strongroom$/, 'postgres'), async (sql) => {
      await sql`alter database strongroom allow_connections false`
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'strongroom'`
    })

  const send = (address: string, repeat: { readonly allow_repeat?: true } = {}) =>
    api.post('/transactions/sign-and-send', {
      network,
      signer_wallet_address: address,
      unsigned_transaction: { to: fundedAccount(5).address, value: '1' },
      ...repeat,
      ...SECRET,
    })

  /** @returns the hash of a payment that is mined. */
  const pay = async (...payment: Parameters<typeof send>): Promise<string> => {
    const { json } = await send(...payment)
    expect(json).toMatchObject({ status: 'submitted' })
    const settled = await api.settled(json.transaction_id)
    expect(settled.json.status).toBe('success')
    return settled.json.hash ?? settled.json.transaction_hash
  }

  const cli = async (...args: readonly string[]) => {
    const { exitCode, output, errors } = await runCli([...args, '--json'], api.variables)
    if (exitCode !== 0) throw new Error(errors || output)
    return JSON.parse(output)
  }

  test('what the chain knows is named, the journal brings it back, and until then nobody signs', async () => {
    await startWorker()
    const busy = await api.newWallet({ network })
    const key = generatePrivateKey()
    await chain.fund(privateKeyToAddress(key))
    const body = { network, type: 'contract', name: 'A Safe', private_key: key, control_mode: 'developer', ...SECRET }
    const safe: { id: string; address: `0x${string}` } = (await api.post('/wallets/import', body)).json
    for (const { address } of [busy, safe]) await chain.fund(address)
    for (const { address } of [busy, safe]) await pay(address)
    await stopWorker()
    const backup = await paste(`${await ofPage('## Backups', /^install -d [\s\S]*?roles\.sql"\)$/m)}\necho "$backup"`)

    await startWorker()
    const since = [await pay(busy.address), await pay(safe.address)]
    const made = await api.newWallet({ network })
    await stopWorker()
    await world.stopVaults()
    await disconnect()
    await paste(`backup=${backup.trim()}\n${await ofPage('## After a restore', /^\(cd \/ [\s\S]*?\.dump"\)$/m)}`)
    await world.startVaults()
    expect(world.output()[0]).toContain('cli restore')

    // Nonces used and transactions mined since, and a Safe that moved.
    const found = await cli('restore', 'check')
    expect(found.unknown.map(({ hash }: { hash: string }) => hash).toSorted()).toEqual(since.toSorted())
    const theirs = [busy.id, safe.id].toSorted()
    expect(found.frozen.toSorted()).toEqual(theirs)
    expect(['frozen', 'unavailable']).toContain((await send(busy.address)).json.code)

    expect(await cli('restore')).toMatchObject({ transactions: since.length, wallets: 1, skipped: [] })
    expect((await cli('restore', 'check')).unknown).toEqual([])
    for (const { address } of [busy, safe]) expect((await send(address)).json.code).toBe('frozen')
    expect((await api.get('/wallets/get-by-id', { network, id: made.id })).json.address).toBe(made.address)

    await startWorker()
    expect((await cli('restore', 'check', '--release')).released.toSorted()).toEqual(theirs)
    for (const { address } of [busy, safe]) {
      expect((await send(address)).json.code).toBe('repeat_refused')
      await pay(address, { allow_repeat: true })
    }
    expect(await cli('audit', 'verify')).toMatchObject({ ok: true })
  }, 200_000)
})
