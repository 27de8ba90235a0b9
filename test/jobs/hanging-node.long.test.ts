// One network's node takes everything and answers nothing; the other networks must not notice.

import { expect, test } from 'bun:test'
import { parseCrontab } from 'graphile-worker'
import type { Network } from '../../db/words.ts'
import { CRONTAB } from '../../jobs/queue.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { startGate } from '../support/gate.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'

const RECIPIENT = fundedAccount(5).address
/** So many that a worker which waits for each of them is busy for minutes: 15 s each, three at a time. */
const INTENTS = 60
/** Seven times what a loaded machine needs, and far below those minutes. */
const SETTLED_MS = 40_000

const healthy = await shared(startChain('Ethereum'))
const sick = await shared(startChain('Polygon'))
const gate = startGate(sick.rpcUrl)
afterTests(() => gate.stop())
const service = await shared(startService({ rpcUrls: { Ethereum: healthy.rpcUrl, Polygon: gate.url } }))
const { sql } = service.database
// Four followers, the audit and three more.
service.startWorker({ WORKER_CONCURRENCY: '8' })

const fundedWallet = async (network: Network, chain: TestChain) => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

const send = async (network: Network, from: string): Promise<string> => {
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: { to: RECIPIENT, value: '1' },
    developer_secret: 'testnet-secret',
  })
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return answer.json.transaction_id
}

test('intents on a node that hangs do not hold up those of another network', async () => {
  const [slow, quick] = [await fundedWallet('Polygon', sick), await fundedWallet('Ethereum', healthy)]
  const before = await send('Ethereum', quick)
  expect((await service.settled(before, SETTLED_MS)).json).toMatchObject({ status: 'success' })
  gate.spoil({ fault: 'hangs', method: 'eth_sendRawTransaction' })
  for (let each = 0; each < INTENTS; each += 1) await send('Polygon', slow)
  for (let each = 0; each < 3; each += 1) {
    const id = await send('Ethereum', quick)
    expect((await service.settled(id, SETTLED_MS)).json).toMatchObject({ status: 'success' })
  }
  gate.heal()
})

test('at most one job to reconcile waits for each reason, however many workers ask for it', async () => {
  const waiting = async () =>
    (await sql`select key from graphile_worker.jobs where task_identifier = 'reconcile' and locked_at is null`).map(
      ({ key }) => key,
    )
  // A worker adds one when it starts, and the clock and the job itself add others.
  for (let each = 0; each < 2; each += 1) service.startWorker()
  let keys = await waiting()
  for (; !keys.includes('reconcile:start'); keys = await waiting()) await Bun.sleep(20)
  expect(keys).not.toContain(null)
  expect(new Set(keys).size).toBe(keys.length)
  const byTheClock = parseCrontab(CRONTAB).filter(({ task }) => task === 'reconcile')
  expect(byTheClock.map(({ options }) => options.jobKey)).toEqual(['reconcile'])
  // A worker that is stopped while it starts writes pages of warnings.
  while ((await sql`select from workers`).length < 3) await Bun.sleep(20)
})
