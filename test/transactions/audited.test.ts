// The vault commits the audit row and the charge of a policy before a signature leaves. What the caller then records,
// or fails to record, changes neither. The database refuses rows of one table here, as a full disk or a killed API
// would stop them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Hex, keccak256 } from 'viem'
import { fundedAccount, type TestChain } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { longTest, someOf } from '../support/long.ts'
import type { Answer, Service } from '../support/service.ts'

const network = 'Ethereum'
const PIN = '493817'
const HASH = /^0x[0-9a-f]{64}$/
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address

let chain: TestChain
let service: Service
let sql: Sql

beforeAll(async () => {
  ;({ chain, service } = await commonWorld())
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
})

afterAll(async () => {
  await sql.end()
})

type Wallet = { readonly id: string; readonly address: string }

const userWallet = async (): Promise<Wallet> => {
  const wallet = await service.newWallet({ network, pin: PIN })
  await chain.fund(wallet.address)
  return wallet
}

const ask = (way: 'sign' | 'sign-and-send', { address }: Wallet, credentials: object): Promise<Answer> =>
  service.post(`/transactions/${way}`, {
    network,
    signer_wallet_address: address,
    unsigned_transaction: { to: RECIPIENT, value: '7' },
    ...credentials,
  })

const newPolicy = async ({ address }: Wallet, limits: object): Promise<string> => {
  const argument_rules = [{ argument: 'value', operator: 'eq', value: '7' }]
  const both = { developer_secret: SECRET, user_pin: PIN }
  const body = { network, wallet_address: address, argument_rules, ...both, ...limits }
  return (await service.post('/policies', body)).json.uuid
}

const acts = async ({ id }: Wallet) => {
  const rows = await sql<{ action: string; details: Record<string, string> }[]>`
    select action, details from audit where subject = ${id} and action like 'transaction_%' order by id`
  return [...rows]
}

const recorded = async ({ id }: Wallet) =>
  (
    await sql<
      { id: string; nonce: number }[]
    >`select id, nonce::int from transactions where wallet_id = ${id} order by nonce`
  ).map((row) => ({ ...row }))

const uses = async (policy: string) => Number((await sql`select uses from policies where id = ${policy}`)[0]?.uses)

/** Runs `work` while the database refuses new rows of a table. */
const refusing = async <Result>(table: 'audit' | 'ladders', work: () => Promise<Result>): Promise<Result> => {
  await sql.unsafe(`alter table ${table} add constraint refuse check (false) not valid`)
  try {
    return await work()
  } finally {
    await sql.unsafe(`alter table ${table} drop constraint refuse`)
  }
}

const told = ({ status, json }: Answer) => [status, json?.code ?? null]
const pin = { user_pin: PIN }
const secret = { developer_secret: SECRET }

describe('the audit', () => {
  const attemptsOf = async (transaction = '') => [
    ...(await sql<{ hash: string }[]>`
      select hash from tests.attempts where transaction_id = ${transaction} order by kind desc, rung`),
  ]

  longTest('has the hash of everything that may be sent of a transaction', async () => {
    const wallet = await userWallet()
    expect(told(await ask('sign-and-send', wallet, pin))).toEqual([200, null])
    const [transaction] = await recorded(wallet)
    const attempts = await attemptsOf(transaction?.id)
    const [act] = await acts(wallet)
    const hashes = [act?.details.hash, ...(act?.details.further_hashes ?? '').split(' ')]
    expect(attempts.length).toBeGreaterThan(2)
    expect(hashes).toEqual(attempts.map(({ hash }) => hash))
  })

  longTest('has the hash of a transaction that was only signed', async () => {
    const wallet = await userWallet()
    const { json: raw } = await ask('sign', wallet, pin)
    expect(await acts(wallet)).toMatchObject([{ details: { hash: keccak256(raw as Hex) } }])
  })

  test('has the hashes of a transaction, says where it goes, what it sends, on which chain and by which policy', async () => {
    const wallet = await userWallet()
    const policy = await newPolicy(wallet, {})
    const hashes = { hash: expect.stringMatching(HASH), further_hashes: expect.any(String) }
    const to = { network, chain_id: '11155111', to: RECIPIENT.toLowerCase(), value: '7' }
    const { json: sent } = await ask('sign-and-send', wallet, pin)
    const [first = '', ...further] = (await attemptsOf(sent.transaction_id)).map(({ hash }) => hash)
    expect(further.length).toBeGreaterThan(1)
    expect(told(await ask('sign-and-send', wallet, secret))).toEqual([200, null])
    const { json: raw } = await ask('sign', wallet, pin)
    const transaction_id = sent.transaction_id
    expect(told(await service.post('/transactions/speed-up', { transaction_id, ...pin }))).toEqual([200, null])
    const [, recordedLater] = await recorded(wallet)
    const kind = 'send'
    expect(await acts(wallet)).toEqual([
      {
        action: 'transaction_submitted',
        details: {
          ...to,
          ...{ hash: first, further_hashes: further.join(' ') },
          ...{ nonce: '0', kind, transaction: transaction_id },
        },
      },
      {
        action: 'transaction_submitted',
        details: { ...to, ...hashes, nonce: '1', kind, transaction: recordedLater?.id ?? '', policy, policy_uses: '1' },
      },
      { action: 'transaction_signed', details: { ...to, nonce: '2', hash: keccak256(raw as Hex) } },
      { action: 'transaction_signed_anew', details: { ...to, ...hashes, nonce: '0', transaction: transaction_id } },
    ])
  })
})

describe('while no audit row can be written', () => {
  test.each(someOf(['sign', 'sign-and-send'], 2))('%s gives nothing away and records nothing', async (way) => {
    const wallet = await userWallet()
    const answer = await refusing('audit', () => ask(way, wallet, pin))
    expect(told(answer)).toEqual([500, 'internal'])
    expect(await recorded(wallet)).toEqual([])
    expect(told(await ask(way, wallet, pin))).toEqual([200, null])
  })

  test.each(someOf(['sign-and-send', 'sign'], 2))('%s by a policy charges nothing', async (way) => {
    const wallet = await userWallet()
    const policy = await newPolicy(wallet, { max_uses: 1 })
    expect(told(await refusing('audit', () => ask(way, wallet, secret)))).toEqual([500, 'internal'])
    expect([await uses(policy), await recorded(wallet)]).toEqual([0, []])
    expect(told(await ask(way, wallet, secret))).toEqual([200, null])
    expect(await uses(policy)).toBe(1)
  })
})

describe('if a transaction was signed and cannot be recorded', () => {
  test('the audit has it, and the next one takes its nonce', async () => {
    const wallet = await userWallet()
    expect(told(await refusing('ladders', () => ask('sign-and-send', wallet, pin)))).toEqual([500, 'internal'])
    expect(await recorded(wallet)).toEqual([])
    expect(told(await ask('sign-and-send', wallet, pin))).toEqual([200, null])
    const [transaction] = await recorded(wallet)
    expect(transaction?.nonce).toBe(0)
    const [lost, kept] = await acts(wallet)
    expect([lost?.details.nonce, kept?.details.nonce]).toEqual(['0', '0'])
    expect([lost?.details.transaction === transaction?.id, kept?.details.transaction]).toEqual([false, transaction?.id])
  })

  test('its policy stays charged', async () => {
    const wallet = await userWallet()
    const policy = await newPolicy(wallet, { max_uses: 2 })
    expect(told(await refusing('ladders', () => ask('sign-and-send', wallet, secret)))).toEqual([500, 'internal'])
    expect([await uses(policy), await recorded(wallet)]).toEqual([1, []])
    expect(told(await ask('sign-and-send', wallet, secret))).toEqual([200, null])
    expect(told(await ask('sign-and-send', wallet, secret))).toEqual([403, 'policy_denied'])
  })
})
