// A vault is killed again and again while it makes wallets and checks PINs. It never takes its own database for one
// that was restored, and everything that was answered is in its journal.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isLong } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { startJournaled } from './journaled.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const KILLS = isLong ? 200 : 5
const AT_ONCE = 3

const world = await shared(startJournaled({ rpcUrls: { [network]: 'http://127.0.0.1:1' } }))

test(`killed ${KILLS} times, it goes on each time, and its journal has all that was answered`, async () => {
  let isOver = false
  const wallets: string[] = []
  const codes = new Set<string>()
  const create = () =>
    world.api.post('/wallets', {
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
    await world.killVaults()
    await world.startVaults()
    expect(world.output()[0]).not.toContain('cli restore')
  }
  isOver = true
  await Promise.all(load)
  expect([...codes].filter((code) => code !== 'unavailable')).toEqual([])
  const journal = await readFile(world.journals[0] ?? '', 'utf8')
  expect(wallets.length).toBeGreaterThan(KILLS)
  expect(wallets.filter((id) => !journal.includes(id))).toEqual([])
}, 600_000)
