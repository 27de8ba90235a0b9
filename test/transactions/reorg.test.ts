// Reorganisations under a running worker: a mined transaction is pending again, and in the end is mined once or fails
// for another reason. The reported status follows the chain.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Address, encodeDeployData, encodeFunctionData, type Hex } from 'viem'
import { addJob } from '../../db/jobs.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { testContract } from '../support/contracts.ts'
import { type Gate, startGate } from '../support/gate.ts'
import { longTest } from '../support/long.ts'
import { ageTransactions } from '../support/rows.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const OWNER = fundedAccount(0)
/** For anvil a block is final when two epochs of 32 blocks are above it. */
const BLOCKS_TO_FINAL = 70

let chain: TestChain
let gate: Gate
let service: Service
let sql: Sql
let worker: WorkerHere

beforeAll(async () => {
  chain = await startChain(network)
  gate = startGate(chain.rpcUrl)
  service = await startService({ rpcUrls: { [network]: gate.url } })
  sql = postgres(service.database.url, { max: 1 })
  worker = await startWorkerHere(service)
  await chain.mine(5)
})

afterEach(() => chain.setAutomine(true))

afterAll(async () => {
  await sql.end()
  await worker.stop()
  await service.close()
  await gate.stop()
  await chain.stop()
})

const until = async <Value>(look: () => Promise<Value>, right: (value: Value) => boolean): Promise<Value> => {
  const deadline = Date.now() + 20_000
  for (;;) {
    const value = await look()
    if (right(value) || Date.now() > deadline) return value
    await Bun.sleep(20)
  }
}

const newWallet = async (): Promise<Address> => (await service.newWallet({ network })).address

const fundedWallet = async (): Promise<Address> => {
  const address = await newWallet()
  await chain.fund(address)
  // A reorganisation also undoes balances that were set in the removed blocks.
  await chain.mine()
  return address
}

type Unsigned = { readonly to?: Address; readonly value?: string; readonly input?: Hex; readonly gasLimit?: string }

const send = async (from: Address, unsigned: Unsigned): Promise<string> => {
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: unsigned,
    developer_secret: SECRET,
  })
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return answer.json.transaction_id
}

const statusOf = async (id: string) => (await service.get('/transactions/status-by-id', { id })).json
const isTold = (id: string, status: string) =>
  until(
    () => statusOf(id),
    (told) => told.status === status,
  )

const blockOf = async (id: string) =>
  (await sql<{ block: Hex | null }[]>`select mined_block_hash as block from transactions where id = ${id}`)[0]?.block

/** The signed bytes of its mined attempt. */
const rawOf = async (id: string): Promise<Hex> => {
  const [row] = await sql<{ raw: Hex }[]>`
    select raw from tests.attempts join transactions on hash = shown_hash where id = ${id}`
  if (row === undefined) throw new Error('nothing of it is mined')
  return row.raw
}

/** Replaces the newest blocks by others with these transactions, each in the block with its number, counted from 0. */
const reorg = async (depth: number, transactions: readonly (readonly [Hex, number])[] = []): Promise<void> => {
  await chain.rpc('anvil_reorg', [depth, transactions])
}

const isTracked = async (): Promise<void> => {
  const { hash } = await chain.publicClient.getBlock()
  const cursors = () => sql<{ hash: string }[]>`select block_hash as hash from cursors`
  const found = await until(cursors, (rows) => rows.every((row) => row.hash === hash))
  expect(found.map((row) => row.hash)).toEqual([hash, hash])
}

/** Makes transactions look unchecked for long, so that the reconciler asks the node. */
const reconcile = async (): Promise<void> => {
  await ageTransactions(sql)
  await addJob(service.ctx.db, 'reconcile', { again: false })
}

/** The listed items without their times, because a new block has another time. */
const activity = async (address: Address) => {
  const { json } = await service.get('/activity', { network, wallet_address: address })
  return (json as Record<string, unknown>[]).map(({ timestamp: _, ...item }) => item)
}
const activityHas = (address: Address, count: number) =>
  until(
    () => activity(address),
    (items) => items.length === count,
  )

const sentCount = (address: Address) => chain.publicClient.getTransactionCount({ address })
const balanceOf = (address: Address) => chain.publicClient.getBalance({ address })

describe('a transaction whose block a reorganisation removes', () => {
  test('after its success: is pending, then a success again, once, and so is its movement', async () => {
    const [from, to] = [await fundedWallet(), await newWallet()]
    const id = await send(from, { to, value: '7' })
    const told = await isTold(id, 'success')
    await chain.mine(5)
    await isTracked()
    const shown = { from: await activityHas(from, 1), to: await activityHas(to, 1) }
    using resent = gate.hold('before', 'eth_sendRawTransaction')
    await reorg(6)
    await resent.reached
    expect(await isTold(id, 'pending')).toMatchObject({ transaction_hash: told.transaction_hash })
    expect([await activityHas(from, 0), await activityHas(to, 0)]).toEqual([[], []])
    expect(await balanceOf(to)).toBe(0n)
    resent.release()
    expect(await isTold(id, 'success')).toEqual(told)
    expect({ from: await activityHas(from, 1), to: await activityHas(to, 1) }).toEqual(shown)
    expect([await balanceOf(to), await sentCount(from)]).toEqual([7n, 1])
  })

  longTest('long after its expiry time: its clock starts again and it is not given up', async () => {
    const [from, to] = [await fundedWallet(), await newWallet()]
    const clocks = () => sql<{ isNew: boolean; chosen: number }[]>`
      select chosen, clock_started_at > now() - interval '1 minute' as "isNew" from transactions where id = ${id}`
    await chain.setAutomine(false)
    const id = await send(from, { to, value: '7' })
    await until(clocks, ([row]) => row?.isNew === true)
    await chain.mine()
    await isTold(id, 'success')
    await sql`
      update transactions
      set clock_started_at = clock_started_at - interval '1 hour', chosen_at = chosen_at - interval '1 hour' where id = ${id}`
    await reorg(1)
    await isTold(id, 'pending')
    expect([...(await until(clocks, ([row]) => row?.isNew === true))]).toEqual([{ chosen: 0, isNew: true }])
    await chain.setAutomine(true)
    await chain.mine()
    expect((await isTold(id, 'success')).status).toBe('success')
    expect(await balanceOf(to)).toBe(7n)
  })

  longTest('together with others of its signer: all are mined again, in order', async () => {
    const from = await fundedWallet()
    const recipients: Address[] = []
    const ids: string[] = []
    for (let value = 1; value <= 4; value += 1) {
      const to = await newWallet()
      recipients.push(to)
      const id = await send(from, { to, value: String(value) })
      // Each in its own block.
      expect((await isTold(id, 'success')).status).toBe('success')
      ids.push(id)
    }
    const blocks = await Promise.all(ids.map(blockOf))
    await reorg(3)
    const changed = await until(
      () => Promise.all(ids.map(blockOf)),
      (all) => all.every((block, index) => block !== null && (index === 0 || block !== blocks[index])),
    )
    expect(changed[0]).toBe(blocks[0])
    for (const id of ids) expect((await isTold(id, 'success')).status).toBe('success')
    expect(await Promise.all(recipients.map(balanceOf))).toEqual([1n, 2n, 3n, 4n])
    expect(await sentCount(from)).toBe(4)
  })

  longTest('while no worker runs: the next worker notices', async () => {
    const [from, to] = [await fundedWallet(), await newWallet()]
    const id = await send(from, { to, value: '7' })
    await isTold(id, 'success')
    const lost = await blockOf(id)
    await worker.stop()
    await reorg(2)
    await chain.mine(3)
    worker = await startWorkerHere(service)
    const found = await until(
      () => blockOf(id),
      (block) => block !== null && block !== lost,
    )
    expect(found).not.toBe(lost)
    expect((await isTold(id, 'success')).status).toBe('success')
    expect(await balanceOf(to)).toBe(7n)
    expect(await activityHas(to, 1)).toHaveLength(1)
  })

  longTest('by a chain that is shorter at first: is pending again', async () => {
    const [from, to] = [await fundedWallet(), await newWallet()]
    const back = await chain.snapshot()
    await chain.mine(3)
    const id = await send(from, { to, value: '7' })
    await isTold(id, 'success')
    await isTracked()
    expect(await activityHas(to, 1)).toHaveLength(1)
    using resent = gate.hold('before', 'eth_sendRawTransaction')
    await back()
    // Other blocks below its height, and none at its height.
    await chain.mine(2)
    await resent.reached
    expect(await isTold(id, 'pending')).toMatchObject({ status: 'pending' })
    expect(await activityHas(to, 0)).toEqual([])
    resent.release()
    expect((await isTold(id, 'success')).status).toBe('success')
    expect(await activityHas(to, 1)).toHaveLength(1)
    expect([await balanceOf(to), await sentCount(from)]).toEqual([7n, 1])
  })

  longTest('with the contract that it created: the address is removed and comes back', async () => {
    const from = await fundedWallet()
    const { abi, bytecode } = await testContract('TestToken')
    const id = await send(from, { input: encodeDeployData({ abi, bytecode, args: ['Test', 'TST', 18] }) })
    const told = await isTold(id, 'success')
    expect(told.contract_address).toMatch(/^0x/)
    using resent = gate.hold('before', 'eth_sendRawTransaction')
    await reorg(1)
    await resent.reached
    expect(await isTold(id, 'pending')).toMatchObject({ contract_address: null })
    resent.release()
    expect(await isTold(id, 'success')).toEqual(told)
  })
})

describe('a reorganisation that mines the transaction itself', () => {
  for (const [where, place] of [
    ['in the block at the same height', 0],
    ['in a later one', 1],
  ] as const) {
    longTest(`${where}: it stays what it was, in another block, and its movement too`, async () => {
      const [from, to] = [await fundedWallet(), await newWallet()]
      const id = await send(from, { to, value: '7' })
      const told = await isTold(id, 'success')
      const lost = await blockOf(id)
      await chain.mine(2)
      await isTracked()
      const shown = await activityHas(to, 1)
      await reorg(3, [[await rawOf(id), place]])
      await isTracked()
      const found = await until(
        () => blockOf(id),
        (block) => block !== null && block !== lost,
      )
      const receipt = await chain.publicClient.getTransactionReceipt({ hash: told.transaction_hash })
      expect(found).toBe(receipt.blockHash)
      expect(await isTold(id, 'success')).toEqual(told)
      expect(await activityHas(to, 1)).toEqual(shown)
      expect([await balanceOf(to), await sentCount(from)]).toEqual([7n, 1])
    })
  }
})

describe('a reorganisation that mines another attempt of it', () => {
  /** Its signed bytes in order: the rungs, then the cancel. */
  const attemptsOf = (id: string) => sql<{ hash: Hex; raw: Hex }[]>`
    select hash, raw from tests.attempts where transaction_id = ${id} order by kind = 'cancel', rung`

  longTest('a higher rung: it is a success with that hash, and every hash leads to it', async () => {
    const [from, to] = [await fundedWallet(), await newWallet()]
    const id = await send(from, { to, value: '7' })
    const told = await isTold(id, 'success')
    const [first, second] = await attemptsOf(id)
    await reorg(1, [[second?.raw ?? '0x', 0]])
    const right = { ...told, transaction_hash: second?.hash }
    const shown = await until(
      () => statusOf(id),
      (status) => status.transaction_hash === second?.hash && status.status === 'success',
    )
    expect(shown).toEqual(right)
    const query = { network, transaction_hash: first?.hash ?? '' }
    const byHash = await service.get('/transactions/status-by-hash', query)
    expect(byHash.json).toMatchObject({ transaction_hash: second?.hash, status: 'success' })
    expect([await balanceOf(to), await sentCount(from)]).toEqual([7n, 1])
    expect(await activityHas(to, 1)).toHaveLength(1)
  })

  longTest('the cancel: it changes from success to pending, and to failed when that is final', async () => {
    const [from, to] = [await fundedWallet(), await newWallet()]
    const id = await send(from, { to, value: '7' })
    await isTold(id, 'success')
    const cancel = (await attemptsOf(id)).at(-1)
    await reorg(1, [[cancel?.raw ?? '0x', 0]])
    await isTracked()
    expect(await isTold(id, 'pending')).toMatchObject({ status: 'pending', transaction_hash: cancel?.hash })
    await chain.mine(BLOCKS_TO_FINAL)
    expect(await isTold(id, 'failed')).toMatchObject({ status: 'failed', code: 'expired' })
    expect(await activityHas(to, 0)).toEqual([])
    expect([await balanceOf(to), await sentCount(from)]).toEqual([0n, 1])
  })
})

describe('a reorganisation after which the same transaction has another result', () => {
  longTest('changes the status from success to failed, and back', async () => {
    const from = await fundedWallet()
    const to = await newWallet()
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const call = (functionName: string, args: readonly unknown[]) => ({
      to: token.address,
      input: encodeFunctionData({ abi: token.abi, functionName, args }),
    })
    await chain.write({ contract: token, functionName: 'mint', args: [OWNER.address, 5n] })
    await chain.write({ contract: token, functionName: 'approve', args: [from, 5n] })
    const { to: contract, input: data } = call('approve', [from, 0n])
    const withdrawal = await chain.walletClient.prepareTransactionRequest({ to: contract, data })
    const withdrawn = await chain.walletClient.signTransaction({ ...withdrawal, account: OWNER })

    const id = await send(from, { ...call('transferFrom', [OWNER.address, to, 5n]), gasLimit: '100000' })
    const told = await isTold(id, 'success')
    const shown = await activityHas(to, 1)
    expect(shown).toHaveLength(1)
    const raw = await rawOf(id)
    await reorg(1, [
      [withdrawn, 0],
      [raw, 0],
    ])
    const failure = { status: 'failed', code: 'execution_reverted', error: expect.any(String) }
    expect(await isTold(id, 'failed')).toEqual({ ...told, ...failure })
    expect(await activityHas(to, 0)).toEqual([])
    await reorg(1, [[raw, 0]])
    expect(await isTold(id, 'success')).toEqual(told)
    expect(await activityHas(to, 1)).toEqual(shown)
    expect(await sentCount(from)).toBe(1)
  })
})

describe('a reorganisation in which an outside transaction uses the nonce', () => {
  longTest('leaves ours pending until that is final; then ours fails, and the next one is mined', async () => {
    const [from, to] = [await fundedWallet(), await newWallet()]
    const outside = await service.post('/transactions/sign', {
      network,
      signer_wallet_address: from,
      unsigned_transaction: { to: OWNER.address, value: '1', nonce: '0' },
      developer_secret: SECRET,
    })
    const id = await send(from, { to, value: '7' })
    const told = await isTold(id, 'success')
    expect(await activityHas(to, 1)).toHaveLength(1)
    await reorg(1, [[outside.json, 0]])
    await isTold(id, 'pending')
    await isTracked()
    await reconcile()
    await isTracked()
    expect(await isTold(id, 'pending')).toMatchObject({ status: 'pending' })
    await chain.mine(BLOCKS_TO_FINAL)
    await isTracked()
    await reconcile()
    expect(await isTold(id, 'failed')).toEqual({
      ...told,
      status: 'failed',
      code: 'nonce_taken',
      error: expect.any(String),
    })
    expect(await activityHas(to, 0)).toEqual([])
    expect((await isTold(await send(from, { to, value: '8' }), 'success')).status).toBe('success')
    expect([await balanceOf(to), await sentCount(from)]).toEqual([8n, 2])
  })
})
