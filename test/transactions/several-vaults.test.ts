// What an API does while vaults hang, are killed, or are replaced.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'
import { startWorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const PIN = '493817'
const PAYEE = fundedAccount(5).address
/** Longer than an API takes a silent vault for living (src/custody/wire/line.ts), on a slow machine. */
const PATIENCE_MS = 20_000

let chain: TestChain
let service: Service
let api: Service
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
  await first.stop()
})
afterAll(async () => {
  await api.close()
  await service.close()
  await chain.stop()
})

const sign = async () => {
  const client = api.as(service.project)
  const body = { network, signer_wallet_address: address, message: 'It works.', user_pin: PIN }
  const { status, json } = await client.post('/transactions/sign-message', body)
  return [status, json.code ?? 'signed']
}
const SIGNED = [200, 'signed']

const readyz = async () => (await api.get('/readyz')).status

/** Asks until an answer is as expected. @returns how long that took. */
const until = async (isRight: () => Promise<boolean>): Promise<number> => {
  const begunMs = performance.now()
  while (!(await isRight())) {
    if (performance.now() - begunMs > PATIENCE_MS) throw new Error('the vault was not found in time')
  }
  return performance.now() - begunMs
}

test('a vault that hangs is left after seconds: the other one does its work, and alone the API says so', async () => {
  const [one, two] = [await vaultAt(sockets[0]), await vaultAt(sockets[1])]
  await until(async () => (await readyz()) === 200)
  one.pause()
  // Some of these were sent to the one that hangs, and end when its silence is noticed.
  const answers = await Promise.all(Array.from({ length: 6 }, sign))
  expect(answers.every(([status]) => status === 200 || status === 503)).toBe(true)
  for (let count = 0; count < 6; count += 1) expect(await sign()).toEqual(SIGNED)
  two.pause()
  await until(async () => (await readyz()) === 503)
  await until(async () => (await sign())[1] === 'unavailable')
  // What needs no key goes on.
  expect((await api.as(service.project).get('/wallets/get-by-id', { network, id })).status).toBe(200)
  one.goOn()
  await until(async () => (await sign())[0] === 200)
  expect(await readyz()).toBe(200)
  two.goOn()
  await one.stop()
  await two.stop()
})

test('vaults are replaced one after the other, and no request fails', async () => {
  let [one, two] = [await vaultAt(sockets[0]), await vaultAt(sockets[1])]
  await until(async () => (await sign())[0] === 200)
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

test('the only vault is killed: previews, sending and tracking go on, and it is found again without a restart of the API', async () => {
  const one = await vaultAt(sockets[0])
  await until(async () => (await sign())[0] === 200)
  const client = api.as(service.project)
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
  expect(await readyz()).toBe(503)
  const asked = { network, from: address, unsigned_transaction: { to: PAYEE, value: '7' } }
  expect((await client.post('/transactions/preview', asked)).status).toBe(200)
  const worker = await startWorkerHere(service)
  expect((await client.settled(transaction_id)).json.status).toBe('success')
  await worker.stop()
  const again = await vaultAt(sockets[0])
  const tookMs = await until(async () => (await sign())[0] === 200)
  console.log(`a restarted vault was found after ${Math.round(tookMs)} ms`)
  await again.stop()
})
