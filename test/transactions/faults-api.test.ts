// Callers and a faulty node: for each operation that calls a node, each of its requests and each fault, the answer is
// correct and in time, and nothing is left behind.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import type { Hex } from 'viem'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { ANSWER_FAULT_NAMES, type Fault, type Gate, REPLY_FAULT_NAMES, startGate } from '../support/gate.ts'
import { isLong, longTest } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { startWorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const RECIPIENT = fundedAccount(5).address
const NODE_TIMEOUT_MS = isLong ? 2_000 : 1_000
/** The time that our own code may need on a busy machine. */
const GRACE_MS = 5_000

let chain: TestChain
let gate: Gate
let service: Service
let sql: Sql
let wallets: Hex[]
let collection: Hex
let token: Hex

const newWallet = async (): Promise<Hex> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

beforeAll(async () => {
  chain = await startChain(network)
  gate = startGate(chain.rpcUrl)
  const variables = { NODE_TIMEOUT_MS: String(NODE_TIMEOUT_MS) }
  service = await startService({ rpcUrls: { [network]: gate.url }, variables })
  sql = postgres(service.database.url, { max: 1 })
  wallets = await Promise.all(Array.from({ length: 8 }, newWallet))
  token = (await chain.deploy('TestToken', ['Test', 'TST', 6])).address
  collection = (await chain.deploy('WizardCollection', ['Doors', 'DOOR', wallets[4]])).address
})

afterEach(() => gate.heal())

afterAll(async () => {
  await sql.end()
  await service.close()
  await gate.stop()
  await chain.stop()
})

const post = (path: string, body: Record<string, unknown>) => service.post(path, { network, ...body })
const by = { developer_secret: 'testnet-secret' }

const sending = (path: string, wallet: Hex | undefined, rest: Record<string, string> = {}) =>
  post(path, { ...by, signer_wallet_address: wallet, unsigned_transaction: { to: RECIPIENT, value: '1', ...rest } })

const liveOf = async (wallet: Hex | undefined) =>
  (await sql`select from transactions where signer_address = ${wallet ?? ''}`).length

/** A hash that no transaction has. */
const TRANSFER = `0xa9059cbb${RECIPIENT.slice(2).toLowerCase().padStart(64, '0')}${'1'.padStart(64, '0')}`

/** Each from its own wallet, so that none waits for another. */
const CALLS = {
  'sign-and-send': () => sending('/transactions/sign-and-send', wallets[0]),
  'sign-and-send with a gas limit': () => sending('/transactions/sign-and-send', wallets[1], { gasLimit: '21000' }),
  sign: () => sending('/transactions/sign', wallets[2]),
  preview: () =>
    post('/transactions/preview', { from: wallets[3], unsigned_transaction: { to: RECIPIENT, value: '1' } }),
  mint: () =>
    post('/nfts/mint', {
      ...by,
      from: wallets[4],
      contract_address: collection,
      recipient: RECIPIENT,
      uri: 'ipfs://d',
    }),
  collections: () =>
    post('/nfts/collections', { ...by, from: wallets[5], name: 'D', symbol: 'D', image_url: 'https://a.example/d' }),
  'a sign-and-send that reverts, also behind what is pending': async () => {
    if ((await liveOf(wallets[6])) === 0) await sending('/transactions/sign-and-send', wallets[6])
    return sending('/transactions/sign-and-send', wallets[6], { to: token, value: '0', input: TRANSFER })
  },
  'a sign-and-send that cannot be paid': () =>
    sending('/transactions/sign-and-send', wallets[7], { value: (10n ** 30n).toString() }),
  'status-by-hash': () =>
    service.get('/transactions/status-by-hash', { network, transaction_hash: `0x${'12'.repeat(32)}` }),
} as const satisfies Record<string, () => Promise<Answer>>

type CallName = keyof typeof CALLS
const CALL_NAMES = Object.keys(CALLS) as CallName[]

const HEALTHY: Partial<Record<CallName, { status: number; code: string }>> = {
  'a sign-and-send that reverts, also behind what is pending': { status: 400, code: 'execution_reverted' },
  'a sign-and-send that cannot be paid': { status: 400, code: 'balance_insufficient' },
  'status-by-hash': { status: 404, code: 'transaction_not_found' },
}

/** For an unknown transaction null is a right answer. */
const MAY_BE_NULL = ['eth_getTransactionReceipt', 'eth_getTransactionByHash']

/** These faults are large and slow, and do not depend on the request. */
const ONCE: readonly Fault[] = ['hangs', 'answers more than anybody reads']

const recorded = async () =>
  (
    await sql`
    select (select count(*) from transactions) as transactions, (select count(*) from ladders) as ladders,
      (select count(*) from audit) as audit, (select count(*) from collections) as collections,
      (select count(*) from graphile_worker._private_jobs) as jobs`
  )[0]

const expectClean = (answer: Answer, code = 'node_unavailable') => {
  expect({ status: answer.status, json: answer.json }).toEqual({
    status: 503,
    json: { error: expect.any(String), code },
  })
  expect(answer.json.error).toMatch(/^The Ethereum node .*\.$/)
  expect(answer.text).not.toContain('127.0.0.1')
}

/** Each of its requests waits for the transaction before it, which nobody sends. */
const SLOW_CALL: CallName = 'a sign-and-send that reverts, also behind what is pending'

describe('a node that fails', () => {
  for (const name of CALL_NAMES) {
    const declare = name === SLOW_CALL ? longTest : test
    declare(`at any question of ${name}, in any way: a clean answer, and nothing is left behind`, async () => {
      const { status, json } = await CALLS[name]()
      expect({ status, code: json.code }).toEqual(HEALTHY[name] ?? { status: 200, code: undefined })
      const healthy = { status }
      gate.takeRequests()
      expect(await CALLS[name]()).toMatchObject(healthy)
      const requests = gate.takeRequests()
      const cases = requests.flatMap((methods) => [
        // Faults of the whole answer do not depend on the question.
        ...ANSWER_FAULT_NAMES.filter((fault) => !ONCE.includes(fault)).map((fault) => ({
          fault,
          method: methods[0] ?? '',
        })),
        ...[...new Set(methods)].flatMap((method) => REPLY_FAULT_NAMES.map((fault) => ({ fault, method }))),
      ])
      expect(cases.length).toBeGreaterThan(10)
      const before = await recorded()
      // The suite tries each thirtieth, of each call others.
      const tried = cases.filter((_, index) => isLong || (index + 4 * CALL_NAMES.indexOf(name)) % 30 === 0)
      for (const { fault, method } of tried) {
        if (fault === 'answers null' && MAY_BE_NULL.includes(method)) continue
        gate.spoil({ fault, method })
        const answer = await CALLS[name]()
        gate.heal()
        expect({ fault, method, status: answer.status, code: answer.json?.code }).toEqual({
          ...{ fault, method },
          ...{ status: 503, code: 'node_unavailable' },
        })
        expectClean(answer)
      }
      expect(await recorded()).toEqual(before)
      expect(await CALLS[name]()).toMatchObject(healthy)
    })
  }

  longTest('by sending an endless answer is cut off at any request', async () => {
    const before = await recorded()
    for (const [name, method] of [
      ['sign-and-send', 'eth_feeHistory'],
      ['preview', 'eth_simulateV1'],
    ] as const) {
      gate.spoil({ fault: 'answers more than anybody reads', method })
      expectClean(await CALLS[name]())
    }
    expect(await recorded()).toEqual(before)
  })

  test('by not answering is waited for the configured time, and the answer names that time', async () => {
    const before = await recorded()
    const names = CALL_NAMES.filter((name) => isLong || name !== SLOW_CALL)
    // Each call asks one of these, also while the chain's id is known from a moment before.
    const methods = ['eth_getTransactionCount', 'eth_simulateV1', 'eth_getCode', 'eth_getTransactionReceipt']
    for (const method of methods) gate.spoil({ fault: 'hangs', method })
    const begun = performance.now()
    const answers = await Promise.all(names.map((name) => CALLS[name]()))
    expect(performance.now() - begun).toBeWithin(NODE_TIMEOUT_MS, NODE_TIMEOUT_MS + GRACE_MS)
    for (const answer of answers) {
      expectClean(answer)
      expect(answer.json.error).toBe(`The Ethereum node did not answer within ${NODE_TIMEOUT_MS} ms.`)
    }
    expect(await recorded()).toEqual(before)
  })
})

const heldNonces = () => sql<{ signer: Hex; n: number; highest: number }[]>`
  select signer_address as signer, count(*)::int as n, max(nonce)::int as highest from transactions group by 1`

test('transactions accepted between the faults leave no nonce gap', async () => {
  const held = await heldNonces()
  expect(held.length).toBe(isLong ? 5 : 4)
  for (const { n, highest } of held) expect(highest + 1).toBe(n)
})

longTest('all transactions accepted between the faults are mined', async () => {
  const ids = (await sql<{ id: string }[]>`select id from transactions`).map(({ id }) => id)
  const worker = await startWorkerHere(service)
  const settled = await Promise.all(ids.map((id) => service.settled(id)))
  await worker.stop()
  expect(settled.map(({ json }) => json.status)).toEqual(ids.map(() => 'success'))
  for (const { signer, n, highest } of await heldNonces()) {
    const mined = await chain.publicClient.getTransactionCount({ address: signer })
    expect({ n, highest: highest + 1 }).toEqual({ n: mined, highest: mined })
  }
})
