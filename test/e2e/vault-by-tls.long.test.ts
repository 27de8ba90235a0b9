// APIs that ask a vault on another machine, as processes of their own: by TLS, with certificates on both sides.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import postgres, { type Sql } from 'postgres'
import { verifyMessage } from 'viem'
import { readTls, type TlsFiles } from '../../src/vault/client/tls-files.ts'
import { startApiProcess } from '../support/api.ts'
import { certificatesIn } from '../support/certificates.ts'
import { runCli } from '../support/cli.ts'
import { denoCommand } from '../support/deno.ts'
import { type Service, startService } from '../support/service.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { startVaultProcess } from '../support/vault.ts'
import { createWire } from '../vault/wire-support.ts'

const network = 'Ethereum'
const PIN = '493817'
/** Longer than an API takes a silent vault for living (src/vault/client/line.ts), on a slow machine. */
const PATIENCE_MS = 30_000
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const onDeno = (file: string) => [...denoCommand(), join(ROOT, file)]

const { raw } = createWire()
let folder: string
let made: ReturnType<typeof certificatesIn>
let ofApi: TlsFiles
let sql: Sql
let service: Service
let vault: Awaited<ReturnType<typeof startVaultProcess>>
let api: Awaited<ReturnType<typeof startApiProcess>>
/** Between the two, as the network is. */
let wire: TcpProxy

const variablesOf = ({ certFile, keyFile, caFile }: TlsFiles) => ({
  VAULT_TLS_CERT_FILE: certFile,
  VAULT_TLS_KEY_FILE: keyFile,
  VAULT_TLS_CA_FILE: caFile,
})

const vaultVariables = (port: number) => ({
  ...service.vaultVariables,
  ...variablesOf({ certFile: made.at('vault.crt'), keyFile: made.at('vault.key'), caFile: made.at('ours.crt') }),
  VAULT_SOCKET: `${service.variables.VAULT_SOCKET}.own`,
  VAULT_LISTEN: `127.0.0.1:${port}`,
  VAULT_TLS_CLIENTS: 'api-1, api-2',
})
const placeOf = ({ output }: { output: () => string }): string => /tls:\/\/[0-9.]+:[0-9]+/.exec(output())?.[0] ?? ''
const portOf = (url: string): number => Number(new URL(url).port)

const apiVariables = (port: number) => ({
  ...service.variables,
  ...variablesOf(ofApi),
  VAULT_SOCKET: `tls://localhost:${port}`,
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vault-tls-'))
  made = certificatesIn(folder)
  made.authority('ours')
  made.authority('other')
  await made.certificate('vault', { names: 'DNS:localhost', use: 'serverAuth' })
  ofApi = await made.certificate('api', { names: 'DNS:api-1', use: 'clientAuth' })
  service = await startService({ rpcUrls: { [network]: 'http://127.0.0.1:1' } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  vault = await startVaultProcess(vaultVariables(0))
  wire = await startTcpProxy(placeOf(vault))
  api = await startApiProcess(apiVariables(portOf(wire.url)))
})
afterAll(async () => {
  await api.stop()
  await wire.stop()
  await vault.stop()
  await sql.end()
  await service.close()
  await rm(folder, { recursive: true })
})

const message = 'Signed on another machine'
const signing = (client: Service, address: string) =>
  client.post('/transactions/sign-message', { network, signer_wallet_address: address, message, user_pin: PIN })

const clientAt = (url: string): Service => ({ ...service, ...service.as(service.project, url) })

/** A wallet is made and signs, through an API. */
const makesAndSigns = async (url: string) => {
  const client = clientAt(url)
  const { id, address } = await client.newWallet({ network, pin: PIN })
  const { json } = await signing(client, address)
  expect(await verifyMessage({ address, message, signature: json.signature })).toBe(true)
  const audited = await sql`select count(*)::int as many from audit where subject = ${id} and action = 'message_signed'`
  expect(audited[0]?.many).toBe(1)
  return address
}

const until = async (isRight: () => Promise<boolean>): Promise<void> => {
  const begunMs = performance.now()
  while (!(await isRight())) {
    if (performance.now() - begunMs > PATIENCE_MS) throw new Error('it did not happen in time')
  }
}

/** Who was refused, once an audit row says it. */
const refusedFor = async (why: string): Promise<string> => {
  let client: string | undefined
  await until(async () => {
    const rows = await sql`
      select details->>'client' as client from audit
      where action = 'vault_connection_refused' and details->>'why' = ${why} order by id desc limit 1`
    client = rows[0]?.client
    return client !== undefined
  })
  return client ?? ''
}

test('an API makes wallets and signs', async () => {
  await makesAndSigns(api.url)
})

test("a stranger, and an API that calls operators' methods, are refused and audited, and the other API continues", async () => {
  const stranger = await made.certificate('stranger', { names: 'DNS:api-1', authority: 'other' })
  const to = { host: '127.0.0.1', port: portOf(placeOf(vault)), servername: 'localhost' }
  const refused = await raw(connect({ ...to, ...readTls(stranger) }))
  await refused.over
  expect(await refusedFor('TLS: the certificate of the client is of another authority')).toBe('127.0.0.1')

  const taken = await raw(connect({ ...to, ...readTls(ofApi) }))
  taken.hello()
  await taken.received(1)
  taken.send([1, 'unlockOwner', { projectId: service.project.projectId, ownerId: 'owner', actor: 'operator' }])
  await taken.over
  expect(await refusedFor('a method is unknown')).toBe('api-1')

  await makesAndSigns(api.url)
})

test('an API notices a silent network and a restarted vault', async () => {
  const address = await makesAndSigns(api.url)
  const client = clientAt(api.url)
  wire.freeze()
  await until(async () => (await signing(client, address)).status === 503)
  wire.thaw()
  await until(async () => (await signing(client, address)).status === 200)
  const port = portOf(placeOf(vault))
  await vault.stop()
  expect((await signing(client, address)).status).toBe(503)
  vault = await startVaultProcess(vaultVariables(port))
  await until(async () => (await signing(client, address)).status === 200)
})

test('an API that names another vault, or has a wrong certificate, sends nothing and logs why', async () => {
  const wrong = { ...apiVariables(portOf(wire.url)), VAULT_SOCKET: `tls://127.0.0.1:${portOf(wire.url)}` }
  const lost = await startApiProcess(wrong)
  await until(async () => lost.output().includes("does not match certificate's altnames"))
  expect((await fetch(`${lost.url}/readyz`)).status).toBe(503)
  await lost.stop()
  const files = { ...variablesOf(ofApi), VAULT_TLS_KEY_FILE: made.at('vault.key') }
  const ended = await startApiProcess({ ...apiVariables(portOf(wire.url)), ...files }).catch((error: Error) => error)
  expect(ended).toBeInstanceOf(Error)
})

test('an operator is not served by TLS', async () => {
  const asked = ['owner', 'unlock', '--project', service.project.projectId, '--owner', 'someone']
  const { exitCode, errors } = await runCli(asked, apiVariables(portOf(wire.url)))
  expect([exitCode, errors]).toEqual([1, expect.stringContaining('run this on the machine of the vault')])
})

test('a vault and an API work in the same way on Deno', async () => {
  const environment = { HOME: process.env.HOME ?? '', NO_COLOR: '1' }
  const VAULT_SOCKET = `${service.variables.VAULT_SOCKET}.deno`
  const own = { ...environment, VAULT_SOCKET, ...(process.platform === 'linux' ? { VAULT_CLIENT_UIDS: '65533' } : {}) }
  const vaultOnDeno = await startVaultProcess({ ...vaultVariables(0), ...own }, onDeno('src/main/vault.ts'))
  const port = portOf(placeOf(vaultOnDeno))
  const apiOnDeno = await startApiProcess({ ...apiVariables(port), ...environment }, onDeno('src/main/api.ts'))
  await makesAndSigns(apiOnDeno.url)
  const stranger = await raw(connect({ host: '127.0.0.1', port, servername: 'localhost', ca: readTls(ofApi).ca }))
  await stranger.over
  await refusedFor('TLS: the client has no certificate')
  if (process.platform === 'linux') {
    await (await raw(VAULT_SOCKET)).over
    expect(await refusedFor('the user of the client is not in VAULT_CLIENT_UIDS')).toBe(`uid ${process.getuid?.()}`)
  }
  await makesAndSigns(apiOnDeno.url)
  await apiOnDeno.stop()
  await vaultOnDeno.stop()
})
