// Requests of one signer are prepared at the same time and recorded in the order in which they came. A gate before the
// node holds one of them back in its preparation, so that each test knows who is where.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Address, parseEther } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Gate, type Held, startGate } from '../support/gate.ts'
import { isLong, longTest } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const REVERTING = '0xdeadbeef'
/** How much of the coin each wallet has. */
const MORE_THAN_HALF = parseEther('0.6').toString()

let chain: TestChain
let gate: Gate
let service: Service
let worker: WorkerHere | undefined
let sql: Sql

beforeAll(async () => {
  chain = await startChain(network)
  // Contract wallets and blocks are of the long cases only.
  if (isLong) await deployCanonicalContracts(chain.rpcUrl)
  gate = startGate(chain.rpcUrl)
  service = await startService({ rpcUrls: { [network]: gate.url } })
  sql = postgres(service.database.url, { max: 1 })
  if (isLong) worker = await startWorkerHere(service)
})

afterAll(async () => {
  await sql.end()
  await worker?.stop()
  await service.close()
  await gate.stop()
  await chain.stop()
})

/** Another API process on the same database. */
const startOther = async () => {
  const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'other-api' })
  const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
  const { post } = service.as(service.project, `http://127.0.0.1:${server.port}`)
  const close = async () => {
    await server.stop(true)
    await ctx.close({ timeoutSeconds: 5 })
  }
  return { post, close }
}

const fundedWallet = async (): Promise<Address> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address, parseEther('1'))
  return address
}

const send = (from: Address, unsigned: object = {}, post = service.post): Promise<Answer> =>
  post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: { to: RECIPIENT, value: '1', ...unsigned },
    developer_secret: SECRET,
  })

/** A contract wallet that is deployed, has this many wei, and whose key can pay fees. */
const deployedSafe = async (wei: bigint): Promise<Address> => {
  const body = { network, name: 'A Safe', type: 'contract', control_mode: 'developer', developer_secret: SECRET }
  const { address } = (await service.post('/wallets', body)).json
  // The error about missing coins names the key's address.
  const [owner] = /^0x[0-9a-fA-F]{40}/.exec((await send(address, { value: '0' })).json.error) ?? []
  await chain.fund(owner as Address)
  const { transaction_id: id } = (await send(address, { value: '0' })).json
  expect((await service.settled(id)).json).toMatchObject({ status: 'success' })
  await chain.fund(address, wei)
  return address
}

const told = ({ json }: Answer): string => json.code ?? json.status

const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
  for (const deadline = Date.now() + 20_000; !(await isSo()); await Bun.sleep(5)) {
    if (Date.now() > deadline) throw new Error('it did not come to that')
  }
}

/** Starts the request and waits until its preparation is held back: `before` the node has read it, or `after`. */
const heldBack = async (
  request: () => Promise<Answer>,
  when: 'before' | 'after' = 'before',
): Promise<Held & { readonly answer: Promise<Answer> }> => {
  const held = gate.hold(when, 'eth_estimateGas')
  const answer = request()
  await held.reached
  return { ...held, answer }
}

/** Starts the request and waits until the node was asked about it. */
const asked = async (request: () => Promise<Answer>): Promise<{ readonly answer: Promise<Answer> }> => {
  const before = gate.count('eth_estimateGas')
  const answer = request()
  await until(() => gate.count('eth_estimateGas') > before)
  return { answer }
}

const nonceOf = async (answer: Answer): Promise<number> => {
  expect(answer.json).toMatchObject({ status: 'submitted' })
  const [row] = await sql<{ nonce: number }[]>`
    select nonce::int from transactions where id = ${answer.json.transaction_id}`
  return row?.nonce ?? -1
}

const recordedOf = async (signer: Address): Promise<number> =>
  (await sql`select from transactions where signer_address = ${signer}`).length

describe('a request that comes while an earlier one of its signer is prepared', () => {
  test('is prepared beside it, and gets the nonce after it', async () => {
    const wallet = await fundedWallet()
    using first = await heldBack(() => send(wallet))
    const second = await asked(() => send(wallet))
    const third = await asked(() => send(wallet, { nonce: '2' }))
    expect(await recordedOf(wallet)).toBe(0)
    first.release()
    const nonces = [first, second, third].map(async ({ answer }) => nonceOf(await answer))
    expect(await Promise.all(nonces)).toEqual([0, 1, 2])
  })

  test('gets its nonce if that one fails, however it fails', async () => {
    const wallet = await fundedWallet()
    const { address: contract } = await chain.deploy('TestToken', ['Test', 'TST', 18])
    using first = await heldBack(() => send(wallet))
    using reverting = await heldBack(() => send(wallet, { to: contract, value: '0', input: REVERTING }))
    const third = await asked(() => send(wallet))
    reverting.release()
    first.release('forgotten')
    expect(told(await first.answer)).toBe('node_unavailable')
    expect(told(await reverting.answer)).toBe('execution_reverted')
    expect(await nonceOf(await third.answer)).toBe(0)
  })

  test('does not wait for it if it is refused', async () => {
    const wallet = await fundedWallet()
    using first = await heldBack(() => send(wallet))
    expect(told(await send(wallet, { value: parseEther('2').toString() }))).toBe('balance_insufficient')
    first.release()
    expect(await nonceOf(await first.answer)).toBe(0)
  })

  test('is refused if the balance that both have seen is enough for one only', async () => {
    const wallet = await fundedWallet()
    using first = await heldBack(() => send(wallet, { value: MORE_THAN_HALF }), 'after')
    using second = await heldBack(() => send(wallet, { value: MORE_THAN_HALF }), 'after')
    second.release()
    first.release()
    expect(told(await first.answer)).toBe('submitted')
    expect(told(await second.answer)).toBe('balance_insufficient')
  })

  longTest('is refused if both spend the same coins of a contract wallet', async () => {
    const safe = await deployedSafe(10n)
    using first = await heldBack(() => send(safe, { value: '6' }))
    const second = await asked(() => send(safe, { value: '6' }))
    first.release()
    expect(told(await first.answer)).toBe('submitted')
    expect(told(await second.answer)).toBe('balance_insufficient')
  })

  longTest(
    'is refused if that one is mined and told before it is recorded: the balance that it has seen is older',
    async () => {
      const wallet = await fundedWallet()
      using late = await heldBack(() => send(wallet, { value: MORE_THAN_HALF }), 'after')
      // By another process, which does not wait for this one.
      const other = await startOther()
      const sooner = await send(wallet, { value: MORE_THAN_HALF }, other.post)
      expect((await service.settled(sooner.json.transaction_id)).json).toMatchObject({ status: 'success' })
      late.release()
      expect(told(await late.answer)).toBe('balance_insufficient')
      await other.close()
    },
  )
})
