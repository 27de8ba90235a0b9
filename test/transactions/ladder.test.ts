// The fee ladder and the cancel on a real chain: what is stuck offers more, what can never be mined is given up.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import type { Hex } from 'viem'
import { addJob } from '../../db/jobs.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const GWEI = 1_000_000_000n
const RECIPIENT = fundedAccount(5).address

let chain: TestChain
let service: Service
let sql: Sql

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  sql = postgres(service.database.url, { max: 1 })
  service.startWorker()
})

afterAll(async () => {
  await sql.end()
  await service.close()
  await chain.stop()
})

const fundedWallet = async (): Promise<Hex> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

const send = async (from: Hex, unsigned_transaction: Record<string, string>): Promise<string> => {
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction,
    developer_secret: 'testnet-secret',
  })
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return answer.json.transaction_id
}

type Row = { chosen: number; rungs: number; status: string; shown_hash: string | null }

const rowOf = async (id: string): Promise<Row> => {
  const [row] = await sql<Row[]>`select chosen, rungs, status, shown_hash from transactions where id = ${id}`
  if (row === undefined) throw new Error('the transaction is not recorded')
  return row
}

const until = async (id: string, right: (row: Row) => boolean): Promise<Row> => {
  const deadline = Date.now() + 15_000
  for (;;) {
    const row = await rowOf(id)
    if (right(row) || Date.now() > deadline) return row
    await Bun.sleep(20)
  }
}

/** As if the clocks of what waits had been started long ago. */
const age = (id: string, seconds: number) => sql`
  update transactions set
    clock_started_at = clock_started_at - make_interval(secs => ${seconds}),
    chosen_at = chosen_at - make_interval(secs => ${seconds})
  where id = ${id}`

const clockStarted = async (id: string) => {
  for (let tries = 0; tries < 500; tries += 1) {
    const [row] = await sql`select from transactions where id = ${id} and clock_started_at is not null`
    if (row !== undefined) return
    await Bun.sleep(20)
  }
  throw new Error('its clock was not started')
}

const hashesOf = async (id: string): Promise<readonly string[]> =>
  (
    await sql<{ hash: string }[]>`
    select hash from attempts where transaction_id = ${id} order by kind = 'cancel', rung`
  ).map((row) => row.hash)

/** Holds blocks back, so that a transaction waits. */
const withoutMining = async (work: () => Promise<void>): Promise<void> => {
  await chain.setAutomine(false)
  try {
    await work()
  } finally {
    await chain.setAutomine(true)
    await chain.rpc('anvil_setNextBlockBaseFeePerGas', ['0x1'])
    await chain.mine()
  }
}

describe('a base fee that rises above the first rung', () => {
  test('makes it climb until it is mined; the hash shown is the mined one, and every hash leads to it', async () => {
    const from = await fundedWallet()
    let id = ''
    await withoutMining(async () => {
      id = await send(from, { to: RECIPIENT, value: '7' })
      await until(id, (row) => row.status === 'pending')
      const [hash] = await hashesOf(id)
      const sent = (await chain.rpc('eth_getTransactionByHash', [hash])) as { maxFeePerGas: Hex }
      const baseFee = (BigInt(sent.maxFeePerGas) * 130n) / 100n
      for (let climbs = 1; climbs <= 2; climbs += 1) {
        await clockStarted(id)
        await age(id, 4)
        await until(id, (row) => row.chosen >= climbs)
      }
      const hashes = await hashesOf(id)
      await until(id, (row) => row.shown_hash === hashes[row.chosen])
      await chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${baseFee.toString(16)}`])
      await chain.mine()
    })
    const settled = (await service.settled(id)).json
    expect(settled.status).toBe('success')
    const hashes = await hashesOf(id)
    expect(hashes.indexOf(settled.transaction_hash)).toBeGreaterThanOrEqual(2)
    const receipt = await chain.publicClient.getTransactionReceipt({ hash: settled.transaction_hash })
    expect(receipt.status).toBe('success')
    for (const hash of hashes) {
      const byHash = await service.get('/transactions/status-by-hash', { network, transaction_hash: hash })
      expect(byHash.json).toMatchObject({ transaction_hash: settled.transaction_hash, status: 'success' })
    }
    expect(await chain.publicClient.getTransactionCount({ address: from })).toBe(1)
  })
})

describe('a transaction that can never be mined', () => {
  test('is given up after its time: the cancel uses the nonce, it is failed as expired, and the next one goes through', async () => {
    const from = await fundedWallet()
    let id = ''
    let next = ''
    await withoutMining(async () => {
      id = await send(from, {
        to: RECIPIENT,
        value: '7',
        maxFeePerGas: (20n * GWEI).toString(),
        maxPriorityFeePerGas: GWEI.toString(),
      })
      next = await send(from, { to: RECIPIENT, value: '8' })
      await until(id, (row) => row.status === 'pending')
      await clockStarted(id)
      // A fee that the caller fixed has no ladder.
      await age(id, 4)
      expect(await rowOf(id)).toMatchObject({ chosen: 0, rungs: 1 })
      await age(id, 30)
      const given = await until(id, (row) => row.chosen === row.rungs)
      expect(given).toMatchObject({ chosen: 1, status: 'pending' })
      const [, cancel] = await hashesOf(id)
      await until(id, (row) => row.shown_hash === cancel)
      await chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(21n * GWEI).toString(16)}`])
      await chain.mine()
    })
    // Told only when it is final.
    expect((await rowOf(id)).status).toBe('pending')
    // This node drops from its pool what stood behind a replaced transaction; the reconciler finds that out.
    await sql`update transactions set updated_at = updated_at - interval '1 minute' where id = ${next}`
    await addJob(service.ctx.db, 'reconcile', { again: false })
    expect((await service.settled(next)).json.status).toBe('success')
    await chain.mine(70)
    expect((await service.settled(id)).json).toMatchObject({ status: 'failed', code: 'expired' })
    expect(await chain.publicClient.getTransactionCount({ address: from })).toBe(2)
    const [, cancel] = await hashesOf(id)
    const mined = await chain.publicClient.getTransaction({ hash: cancel as Hex })
    expect(mined).toMatchObject({ from: from.toLowerCase(), to: from.toLowerCase(), value: 0n, input: '0x' })
  })
})

describe('what stands behind another', () => {
  test('neither climbs nor expires: its clock is not running', async () => {
    const from = await fundedWallet()
    await withoutMining(async () => {
      const first = await send(from, { to: RECIPIENT, value: '1' })
      const second = await send(from, { to: RECIPIENT, value: '2' })
      await until(second, (row) => row.status === 'pending')
      await clockStarted(first)
      await age(second, 100)
      await age(first, 4)
      await until(first, (row) => row.chosen === 1)
      expect((await rowOf(second)).chosen).toBe(0)
    })
  })
})
