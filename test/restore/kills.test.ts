// A vault is killed again and again while it makes wallets and checks PINs. It never takes its own database for one that was
// restored, and everything that was answered is in its journal.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLong } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const KILLS = isLong ? 200 : 12
const AT_ONCE = 3

let folder: string
let first: Service
let api: Service
let vault: Awaited<ReturnType<typeof startVaultProcess>>

const vaultVariables = () => ({
  ...first.vaultVariables,
  VAULT_SOCKET: `${first.variables.VAULT_SOCKET}.journal`,
  VAULT_JOURNAL: join(folder, 'journal'),
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-kills-'))
  first = await startService({ rpcUrls: { [network]: 'http://127.0.0.1:1' } })
  vault = await startVaultProcess(vaultVariables())
  const { VAULT_SOCKET } = vaultVariables()
  const database = { ...first.database, close: async () => {} }
  api = await startService({ database, hasVault: false, variables: { ...first.variables, VAULT_SOCKET } })
})
afterAll(async () => {
  await api.close()
  await vault.stop()
  await first.close()
  await rm(folder, { recursive: true, force: true })
})

test(`killed ${KILLS} times, it goes on each time, and its journal has all that was answered`, async () => {
  let isOver = false
  const wallets: string[] = []
  const codes = new Set<string>()
  const create = () =>
    api.post('/wallets', {
      network,
      name: 'A',
      owner_id: randomUUID(),
      control_mode: 'developer',
      developer_secret: SECRET,
    })
  const load = Array.from({ length: AT_ONCE }, async () => {
    while (!isOver) {
      const { status, json } = await create()
      if (status === 200) wallets.push(json.id)
      else codes.add(json.code)
    }
  })
  for (let kills = 1; kills <= KILLS; kills += 1) {
    const before = wallets.length
    // Some were answered, and others are under way: where they are differs from kill to kill.
    while (wallets.length < before + 1 + (kills % 5)) await new Promise((resolve) => setTimeout(resolve, kills % 7))
    await vault.kill()
    vault = await startVaultProcess(vaultVariables())
    expect(vault.output()).not.toContain('cli restore')
  }
  isOver = true
  await Promise.all(load)
  expect([...codes].filter((code) => code !== 'unavailable')).toEqual([])
  const journal = await readFile(vaultVariables().VAULT_JOURNAL, 'utf8')
  expect(wallets.length).toBeGreaterThan(KILLS)
  expect(wallets.filter((id) => !journal.includes(id))).toEqual([])
}, 600_000)
