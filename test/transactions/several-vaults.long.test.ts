// What APIs do while vaults hang, are killed, are replaced, or lack the root key. The same requests go to two APIs in
// turn: one in this process, and one of its own.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { createProject } from '../../src/operators/projects.ts'
import { startApiProcess } from '../support/api.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { type Service, startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'
import { startWorkerHere } from '../support/worker-here.ts'
import { keyFile } from '../vault/support.ts'

const network = 'Ethereum'
const PIN = '493817'
const PAYEE = fundedAccount(5).address
/** Longer than an API takes a silent vault for living (src/vault/client/line.ts), on a slow machine. */
const PATIENCE_MS = 20_000
/** An API tries ten times a second to connect. */
const FOUND_WITHIN_MS = 5_000

let chain: TestChain
let service: Service
let api: Service
let other: Awaited<ReturnType<typeof startApiProcess>>
let sockets: readonly string[]
let id: string
let address: `0x${string}`

const vaultAt = (socket: string | undefined) =>
  startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET: socket ?? '' })

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  ;({ id, address } = await service.newWallet({ network, pin: PIN }))
  sockets = ['one', 'two'].map((name) => `${service.variables.VAULT_SOCKET}.${name}`)
  // It makes a project of its own.
  const first = await vaultAt(sockets[0])
  api = await startService({
    database: { ...service.database, close: async () => {} },
    hasVault: false,
    variables: { ...service.variables, VAULT_SOCKET: sockets.join(',') },
  })
  other = await startApiProcess(api.variables)
  await first.stop()
})
afterAll(async () => {
  expect(await other.stop()).toBe(0)
  await api.close()
  await service.close()
  await chain.stop()
})

let turn = 0

/** A client of the next API. */
const nextOf = (project: Service['project']) => {
  turn += 1
  return turn % 2 === 0 ? api.as(project) : service.as(project, other.url)
}
const next = () => nextOf(service.project)

const sign = async () => {
  const client = next()
  const body = { network, signer_wallet_address: address, message: 'It works.', user_pin: PIN }
  const { status, json } = await client.post('/transactions/sign-message', body)
  return [status, json.code ?? 'signed']
}
const SIGNED = [200, 'signed']

/** What both APIs answer, or -1 if they differ. */
const readyz = async () => {
  const [one, two] = await Promise.all([next().get('/readyz'), next().get('/readyz')])
  return one.status === two.status ? one.status : -1
}

const bothSign = async () => (await Promise.all([sign(), sign()])).every(([status]) => status === 200)

/** Asks until an answer is as expected. @returns how long that took. */
const until = async (isRight: () => Promise<boolean>): Promise<number> => {
  const begunMs = performance.now()
  while (!(await isRight())) {
    if (performance.now() - begunMs > PATIENCE_MS) throw new Error('the vault was not found in time')
  }
  return performance.now() - begunMs
}

test('a vault that hangs is given up after seconds: the other one does its work, and without another one the API reports it', async () => {
  const [one, two] = [await vaultAt(sockets[0]), await vaultAt(sockets[1])]
  await until(async () => (await readyz()) === 200)
  one.pause()
  // Some of these were sent to the one that hangs, and end when its silence is noticed.
  const answers = await Promise.all(Array.from({ length: 6 }, sign))
  expect(answers.every(([status]) => status === 200 || status === 503)).toBe(true)
  for (let count = 0; count < 6; count += 1) expect(await sign()).toEqual(SIGNED)
  two.pause()
  await until(async () => (await readyz()) === 503)
  await until(async () => (await sign())[1] === 'unavailable' && (await sign())[1] === 'unavailable')
  // What needs no key goes on.
  expect((await next().get('/wallets/get-by-id', { network, id })).status).toBe(200)
  one.goOn()
  await until(bothSign)
  expect(await readyz()).toBe(200)
  two.goOn()
  await one.stop()
  await two.stop()
})

test('vaults are replaced one after the other, and no request fails', async () => {
  let [one, two] = [await vaultAt(sockets[0]), await vaultAt(sockets[1])]
  await until(bothSign)
  let isOver = false
  const others: unknown[] = []
  let signed = 0
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const answer = await sign()
      if (answer[0] === 200) signed += 1
      else others.push(answer)
    }
  })
  for (const round of ['first', 'second']) {
    const before = signed
    if (round === 'first') {
      await one.stop()
      one = await vaultAt(sockets[0])
    } else {
      await two.stop()
      two = await vaultAt(sockets[1])
    }
    while (signed < before + 20) await sign()
  }
  isOver = true
  await Promise.all(load)
  expect(others).toEqual([])
  await one.stop()
  await two.stop()
})

test('while the only vault is killed, previews, sending and tracking continue, and the API finds it again without a restart', async () => {
  const one = await vaultAt(sockets[0])
  await until(bothSign)
  const client = next()
  await chain.fund(address)
  const payment = {
    network,
    signer_wallet_address: address,
    user_pin: PIN,
    unsigned_transaction: { to: PAYEE, value: '7' },
  }
  const { transaction_id } = (await client.post('/transactions/sign-and-send', payment)).json
  await one.kill()
  expect(await sign()).toEqual([503, 'unavailable'])
  expect(await sign()).toEqual([503, 'unavailable'])
  expect(await readyz()).toBe(503)
  const asked = { network, from: address, unsigned_transaction: { to: PAYEE, value: '7' } }
  expect((await client.post('/transactions/preview', asked)).status).toBe(200)
  const worker = await startWorkerHere(service)
  expect((await client.settled(transaction_id)).json.status).toBe('success')
  await worker.stop()
  const again = await vaultAt(sockets[0])
  const tookMs = await until(bothSign)
  console.log(`found again after ${Math.round(tookMs)} ms`)
  expect(tookMs).toBeLessThan(FOUND_WITHIN_MS)
  await again.stop()
})

test('a vault without the new root key after a rotation is not used while another one has it', async () => {
  const key = keyFile(randomBytes(32))
  const old = await vaultAt(sockets[0])
  const both = { ...service.vaultVariables, VAULT_SOCKET: sockets[1] ?? '', ROOT_KEY_NEXT: key.spec }
  const fitting = await startVaultProcess(both)
  await until(bothSign)
  // No vault process remembers the key of this project: each needs the root key for it.
  const project = await createProject(service.ctx, { name: 'Unknown', actor: 'operator' })
  const rotated = await runCli(['keys', 'rotate-root', '--yes'], {
    ...service.variables,
    VAULT_SOCKET: both.VAULT_SOCKET,
  })
  expect(rotated).toMatchObject({ exitCode: 0 })
  const body = { network, name: 'W', control_mode: 'developer', developer_secret: 'testnet-secret' }
  for (let count = 0; count < 8; count += 1) {
    expect((await nextOf(project).post('/wallets', body)).status).toBe(200)
    expect(await readyz()).toBe(200)
  }
  expect(other.output()).toContain('the root key was changed: the vault must be restarted')
  await fitting.stop()
  const refused = { status: 503, json: { error: expect.stringContaining('The root key was changed') } }
  expect(await next().get('/readyz')).toMatchObject(refused)
  expect(await nextOf(project).post('/wallets', body)).toMatchObject(refused)
  const again = await startVaultProcess(both)
  await until(async () => (await readyz()) === 200)
  expect((await nextOf(project).post('/wallets', body)).status).toBe(200)
  await again.stop()
  await old.stop()
  key.remove()
})
