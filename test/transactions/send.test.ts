import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { type Hex, parseEther } from 'viem'
import { createApp } from '../../src/api/app.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { createProject } from '../../src/operators/projects.ts'
import { readConfig } from '../../src/platform/config.ts'
import { AppError } from '../../src/platform/errors.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { signAndRecord } from '../../src/signing/transactions/sign-and-record.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { holdTable } from '../support/locks.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { countRows } from '../support/rows.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const UNKNOWN_HASH = `0x${'12'.repeat(32)}`

let chain: TestChain
let service: Service
let sql: Sql

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  sql = postgres(service.database.url, { max: 1 })
})

afterAll(async () => {
  await sql.end()
  await service.close()
  await chain.stop()
})

const told = (answer: Answer) => ({ status: answer.status, code: answer.json?.code })

/** A funded wallet with a function to send. No worker runs here, so recorded transactions do not change. */
const sender = async (funds?: bigint) => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address, funds)
  const send = (unsigned: Record<string, unknown> = {}, rest: Record<string, unknown> = {}) =>
    service.postOnce('/transactions/sign-and-send', {
      network,
      signer_wallet_address: address,
      unsigned_transaction: { to: RECIPIENT, value: '1', ...unsigned },
      developer_secret: SECRET,
      ...rest,
    })
  const nonces = async () =>
    (
      await sql<{ nonce: string }[]>`select nonce from transactions where signer_address = ${address} order by nonce`
    ).map((row) => Number(row.nonce))
  return { address, send, nonces }
}

const hashOf = async (transactionId: string): Promise<string> =>
  (await sql<{ hash: string }[]>`select hash from tests.attempts where transaction_id = ${transactionId}`)[0]?.hash ??
  ''

describe('a recorded transaction', () => {
  test('is submitted, without a hash until a node has it', async () => {
    const { send } = await sender()
    const answer = await send()
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual({ transaction_id: expect.any(String), network, status: 'submitted' })
    const id = answer.json.transaction_id
    const byId = await service.get('/transactions/status-by-id', { id: id.toUpperCase() })
    expect(byId.json).toEqual({
      transaction_id: id,
      transaction_hash: null,
      network,
      status: 'submitted',
      contract_address: null,
    })
    const transaction_hash = await hashOf(id)
    const byHash = await service.get('/transactions/status-by-hash', { network, transaction_hash })
    expect(byHash.json).toEqual({ transaction_hash: null, network, status: 'submitted', contract_address: null })
  })

  test('is one transaction, its attempts, one audit row and one job without any of its data', async () => {
    const { send } = await sender()
    const before = await countRows(service.database.url)
    const id = (await send()).json.transaction_id
    const after = await countRows(service.database.url)
    const more = Object.entries(after).flatMap(([table, count]) => (count === before[table] ? [] : [table]))
    expect(more.sort()).toEqual([
      'graphile_worker._private_jobs',
      'public.audit',
      'public.events',
      'public.ladders',
      'public.signers',
      'public.transactions',
    ])
    const [job] = await sql<{ payload: unknown }[]>`
      select payload from graphile_worker._private_jobs where key = ${`broadcast:${id}`}`
    expect(job?.payload).toEqual({ transactionId: id, network })
  })
})

describe('the nonce', () => {
  test('is the next one, or that number given by the caller in any notation', async () => {
    const { send, nonces } = await sender()
    for (const nonce of ['0', '0x1', null, '3']) expect((await send({ nonce })).status).toBe(200)
    expect(await nonces()).toEqual([0, 1, 2, 3])
  })

  test('of a pending transaction is a conflict, and one above the next is a gap; nothing is recorded', async () => {
    const { send, nonces } = await sender()
    await send()
    await send()
    expect(told(await send({ nonce: '0' }))).toEqual({ status: 409, code: 'nonce_conflict' })
    expect(told(await send({ nonce: '1' }))).toEqual({ status: 409, code: 'nonce_conflict' })
    const gap = await send({ nonce: '3' })
    expect(told(gap)).toEqual({ status: 400, code: 'nonce_gap' })
    expect(gap.json.error).toContain('2')
    expect(await nonces()).toEqual([0, 1])
  })

  test('of a mined transaction is too low, and that of a pending outside transaction is a conflict', async () => {
    const { address, send, nonces } = await sender()
    const outside = async (nonce: number): Promise<Hex> => {
      const raw = await service.post('/transactions/sign', {
        network,
        signer_wallet_address: address,
        unsigned_transaction: { to: RECIPIENT, value: '1', nonce: String(nonce) },
        developer_secret: SECRET,
      })
      return (await chain.rpc('eth_sendRawTransaction', [raw.json])) as Hex
    }
    await chain.receiptOf(await outside(0))
    expect(told(await send({ nonce: '0' }))).toEqual({ status: 400, code: 'nonce_too_low' })
    await chain.setAutomine(false)
    try {
      await outside(1)
      expect(told(await send({ nonce: '1' }))).toEqual({ status: 409, code: 'nonce_conflict' })
      expect((await send()).status).toBe(200)
      expect(await nonces()).toEqual([2])
    } finally {
      await chain.setAutomine(true)
      await chain.mine()
    }
  })

  test('is different for each of many requests at once, without a gap', async () => {
    const { send, nonces } = await sender()
    const count = isLong ? 15 : 6
    const sent = await Promise.all(Array.from({ length: count }, () => send()))
    expect(sent.map((answer) => answer.status)).toEqual(Array(count).fill(200))
    expect(await nonces()).toEqual(Array.from({ length: count }, (_, index) => index))
  })

  test('of a refused request goes to the next request', async () => {
    const { send, nonces } = await sender()
    const results = await Promise.all([
      send(),
      send({ value: parseEther('5000').toString() }),
      send(),
      send({}, { developer_secret: 'x' }),
      send(),
    ])
    expect(results.map((answer) => answer.status)).toEqual([200, 400, 200, 403, 200])
    expect(await nonces()).toEqual([0, 1, 2])
  })
})

/** Where no audit row can be written, no signature leaves the vault. */
describe('a vault that takes long to sign', () => {
  /**
   * Those of APIs. One that waits for the vault says nothing for three seconds, and any other goes on in milliseconds.
   */
  const sessions = async () =>
    await sql<{ pid: number; waits: boolean }[]>`
      select pid, state = 'idle in transaction' and clock_timestamp() - state_change > interval '1 second' as waits
      from pg_stat_activity
      where datname = current_database() and usename = ${new URL(service.database.apiUrl).username} order by pid`
  const signatures = async (address: string) =>
    (
      await sql`
      select from audit join wallets on wallets.id::text = audit.subject
      where wallets.address = ${address} and audit.action = 'transaction_submitted'`
    ).length

  test('is waited for without the lock, and what it signs is recorded and not signed again', async () => {
    const { address, send, nonces } = await sender()
    expect((await send()).status).toBe(200)
    const pids = (await sessions()).map(({ pid }) => pid)
    await using release = await holdTable(service.database.sql, 'audit')
    const sent = send()
    for (const wanted of [true, false])
      await until(async () => (await sessions()).some(({ waits }) => waits) === wanted)
    await release()
    expect((await sent).status).toBe(200)
    expect([await nonces(), await signatures(address)]).toEqual([[0, 1], 2])
    expect((await sessions()).map(({ pid }) => pid)).toEqual(expect.arrayContaining(pids))
  })

  longTest('answers what a restore has recorded of it meanwhile, even if it would now be refused', async () => {
    let plans = 0
    const steps = {
      plan: async () => {
        plans += 1
        if (plans === 2) throw new AppError('balance_insufficient', 'It is spent.')
        return plans
      },
      sign: () => sleep(3_200, 'signed'),
      write: async () => 'written',
    }
    expect(await signAndRecord(service.ctx, { ...steps, recorded: async () => 'restored' })).toBe('restored')
  })

  longTest('signs for nothing if another API was faster, and the same Idempotency-Key then sends it once', async () => {
    const { address, nonces } = await sender()
    const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'test' })
    const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
    const apis = [service, service.as(service.project, `http://127.0.0.1:${server.port}`)]
    const send = (index: number) =>
      apis[index]?.post(
        '/transactions/sign-and-send',
        {
          network,
          signer_wallet_address: address,
          unsigned_transaction: { to: RECIPIENT, value: String(index) },
          developer_secret: SECRET,
        },
        { 'idempotency-key': `slow vault ${index}` },
      ) ?? Promise.reject(new Error('there is no such API'))
    await using release = await holdTable(service.database.sql, 'audit')
    const first = [send(0), send(1)]
    // The one has to give the lock back before the other gets it.
    const seen = new Set<number>()
    await until(async () => {
      for (const { pid, waits } of await sessions()) if (waits) seen.add(pid)
      return seen.size === 2
    })
    await release()
    const answers = await Promise.all(first)
    expect(answers.map(told)).toContainEqual({ status: 503, code: 'unavailable' })
    expect((await nonces()).length).toBe(1)
    const again = [await send(0), await send(1)]
    for (const [index, answer] of answers.entries()) {
      expect(again[index]?.status).toBe(200)
      if (answer.status === 200) expect(again[index]?.json).toEqual(answer.json)
    }
    expect(await nonces()).toEqual([0, 1])
    await server.stop(true)
    await ctx.close({ timeoutSeconds: 2 })
  })
})

describe('a gas limit', () => {
  test('above that of a transaction, and data beyond what nodes take, are refused, and hold no nonce', async () => {
    const { send, nonces } = await sender(parseEther('1000'))
    const refused = await send({ value: '1', gasLimit: '16777217' })
    expect([refused.status, refused.json]).toEqual([
      400,
      {
        code: 'invalid_input',
        error:
          'Field "unsigned_transaction.gasLimit" must not be above 16777216, the most gas that a transaction on Ethereum may have.',
      },
    ])
    const large = await send({ value: '1', input: `0x${'00'.repeat(131_072)}` })
    expect(told(large)).toEqual({ status: 400, code: 'invalid_input' })
    expect(large.json.error).toContain('nodes of Ethereum take at most 131072')
    expect(await nonces()).toEqual([])
    expect((await send({ value: '1', gasLimit: '100000' })).status).toBe(200)
  })
})

describe('the balance', () => {
  test('must also cover pending transactions; the refusal names the address and the missing amount', async () => {
    const { address, send, nonces } = await sender(parseEther('1'))
    const half = parseEther('0.6').toString()
    expect((await send({ value: half })).status).toBe(200)
    const refused = await send({ value: half })
    expect(told(refused)).toEqual({ status: 400, code: 'balance_insufficient' })
    expect(refused.json.error).toContain(address)
    expect(refused.json.error).toContain('ETH')
    expect(await nonces()).toEqual([0])
  })

  test('is not used twice by simultaneous requests', async () => {
    const { send, nonces } = await sender(parseEther('1'))
    const half = parseEther('0.6').toString()
    const sent = await Promise.all([1, 2, 3].map(() => send({ value: half })))
    expect(sent.map((answer) => answer.json.code ?? answer.json.status).sort()).toEqual([
      'balance_insufficient',
      'balance_insufficient',
      'submitted',
    ])
    expect(await nonces()).toEqual([0])
  })
})

describe('a request that is refused', () => {
  test('records nothing, for each kind of refusal', async () => {
    const { send } = await sender()
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const before = await countRows(service.database.url)
    const revert = `0xa9059cbb${RECIPIENT.slice(2).toLowerCase().padStart(64, '0')}${'1'.padStart(64, '0')}`
    const refusals: readonly (readonly [object, object, string])[] = [
      [{ to: token.address, value: '0', input: revert }, {}, 'execution_reverted'],
      [{ value: parseEther('5000').toString() }, {}, 'balance_insufficient'],
      [{ maxFeePerGas: '1', maxPriorityFeePerGas: '2' }, {}, 'fee_too_low'],
      [{ nonce: '5' }, {}, 'nonce_gap'],
      [{}, { developer_secret: 'wrong' }, 'INVALID_SECRET'],
      [{}, { developer_secret: null }, 'credential_required'],
      [{}, { user_pin: '493817' }, 'credential_ambiguous'],
      [{}, { signer_wallet_address: RECIPIENT }, 'not_found'],
    ]
    for (const [unsigned, rest, code] of someOf(refusals, 2)) {
      expect((await send({ ...unsigned }, { ...rest })).json.code).toBe(code)
    }
    const collection = { network, name: 'N', symbol: 'S', image_url: 'ipfs://x', developer_secret: SECRET }
    // The project's own wallet has nothing here.
    expect((await service.post('/nfts/collections', collection)).json.code).toBe('balance_insufficient')
    const metadata = { name: 'N', description: 'D', image: 'ipfs://x' }
    const mint = { network, contract_address: token.address, metadata, developer_secret: SECRET }
    expect((await service.post('/nfts/mint', mint)).json.code).toBe('mint_unsupported')
    expect(await countRows(service.database.url)).toEqual(before)
  })
})

describe('status by hash', () => {
  test('knows any transaction of the chain, with its hash in upper or lower case', async () => {
    const { transactionHash } = await chain.send({ to: RECIPIENT, value: 1n })
    for (const hash of [transactionHash, `0x${transactionHash.slice(2).toUpperCase()}`]) {
      const answer = await service.get('/transactions/status-by-hash', { network, transaction_hash: hash })
      expect(answer.json).toEqual({
        transaction_hash: transactionHash,
        network,
        status: 'success',
        contract_address: null,
      })
    }
  })

  test('is pending for a waiting transaction, and failed for a reverted one', async () => {
    await chain.setAutomine(false)
    const token = await chain.walletClient.sendTransaction({ to: RECIPIENT, value: 1n })
    try {
      const query = { network, transaction_hash: token }
      expect((await service.get('/transactions/status-by-hash', query)).json.status).toBe('pending')
    } finally {
      await chain.setAutomine(true)
      await chain.mine()
    }
    // Reverts at once: PUSH1 00 PUSH1 00 REVERT, as creation code.
    const reverted = await chain.walletClient.sendTransaction({ data: '0x60006000fd', gas: 100_000n })
    await chain.receiptOf(reverted)
    const answer = await service.get('/transactions/status-by-hash', { network, transaction_hash: reverted })
    expect(answer.json).toMatchObject({ status: 'failed', contract_address: null })
  })

  test('is pending for a transaction in the pool that waits for an earlier nonce', async () => {
    const sent = { account: fundedAccount(7), to: RECIPIENT, value: 1n }
    const nonce = await chain.publicClient.getTransactionCount({ address: sent.account.address })
    const later = await chain.walletClient.sendTransaction({ ...sent, nonce: nonce + 1 })
    const query = { network, transaction_hash: later }
    const status = async () => (await service.get('/transactions/status-by-hash', query)).json.status
    expect(await status()).toBe('pending')
    await chain.receiptOf(await chain.walletClient.sendTransaction({ ...sent, nonce }))
    await chain.receiptOf(later)
    expect(await status()).toBe('success')
  })

  test("of another project's unsent transaction is the same as of an unknown one", async () => {
    const other = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
    const { send } = await sender()
    const id = (await send()).json.transaction_id
    const asked = (query: { hash: string; id: string }) =>
      Promise.all([
        other.get('/transactions/status-by-hash', { network, transaction_hash: query.hash }),
        other.get('/transactions/status-by-id', { id: query.id }),
      ])
    const theirs = await asked({ hash: await hashOf(id), id })
    const unknown = await asked({ hash: UNKNOWN_HASH, id: crypto.randomUUID() })
    expect(theirs.map(({ status, text }) => ({ status, text }))).toEqual(
      unknown.map(({ status, text }) => ({ status, text })),
    )
    expect(told(theirs[0])).toEqual({ status: 404, code: 'transaction_not_found' })
  })
})

longTest(
  'a signer that stands still: all that wait for it are told in time to come back',
  async () => {
    const { address, send, nonces } = await sender()
    expect((await send()).status).toBe(200)
    const other = postgres(service.database.url, { max: 1 })
    const answers = await other.begin(async (tx) => {
      await tx`select from signers where address = ${address} for update`
      return await Promise.all(
        Array.from({ length: 5 }, async () => {
          const begunAtMs = performance.now()
          const answer = await send()
          const isSoon = performance.now() - begunAtMs < 26_000
          return { ...told(answer), isSoon, isToRetry: Number(answer.headers.get('retry-after')) > 0 }
        }),
      )
    })
    await other.end()
    expect(answers).toEqual(Array(5).fill({ status: 503, code: 'busy', isSoon: true, isToRetry: true }))
    expect([(await send()).status, await nonces()]).toEqual([200, [0, 1]])
  },
  60_000,
)
