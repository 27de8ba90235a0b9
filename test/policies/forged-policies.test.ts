// What somebody can do with a policy who owns the database, but has neither the root key nor the owner's PIN. They know
// the developer's secret: it is they who want to spend more.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const STRANGER = fundedAccount(6).address
const TOKEN = fundedAccount(7).address
const EXPIRES_AT = new Date('2098-01-01T00:00:00Z')

const TERMS = 'its terms or its lock are not as its owner made them'
const SPENT = 'what it spent is not as it was written'
const REVOKED = 'the audit says that it was revoked'
const SET_BACK = 'the audit has more uses'
const GONE = 'the audit names it, and it is gone'

const DONE = [200, null]
const DENIED = [403, 'policy_denied']
const FORGED = 'The policy that allows this is not as its owner made it.'

let chain: TestChain
let service: Service
let sql: Sql

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await sql.end()
  await service.close()
  await chain.stop()
})

type Wallet = { readonly id: string; readonly address: string; readonly owner_id: string }
type Row = Record<string, unknown>

const newWallet = async (): Promise<Wallet> => {
  const wallet = await service.newWallet({ network, pin: PIN, ownerId: randomUUID() })
  await chain.fund(wallet.address)
  return wallet
}

const rule = (argument: string, operator: string, value: string) => ({ argument, operator, value })

const PAYMENTS_TO_RECIPIENT = [rule('to', 'eq', RECIPIENT.toLowerCase()), rule('value', 'le', '5')]

const policy = async (wallet: Wallet, agreed: object = {}): Promise<string> => {
  const body = { network, wallet_address: wallet.address, argument_rules: PAYMENTS_TO_RECIPIENT, ...agreed }
  const answer = await service.post('/policies', { ...body, developer_secret: SECRET, user_pin: PIN })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.uuid
}

const told = ({ status, json }: Answer) => [status, json?.code ?? null]

const use = (wallet: Wallet, path: 'sign' | 'sign-and-send', transaction: object = { to: RECIPIENT, value: '1' }) =>
  service.post(`/transactions/${path}`, {
    network,
    signer_wallet_address: wallet.address,
    unsigned_transaction: transaction,
    developer_secret: SECRET,
  })

/**
 * What `audit verify` says of policies: the troubles of each. It reads everything, so it is asked once for many of
 * them.
 */
const allVerified = async (ids: readonly string[]): Promise<readonly (readonly string[])[]> => {
  const { exitCode, output } = await runCli(['audit', 'verify', '--json'], service.variables)
  const { ok, custody } = JSON.parse(output)
  const forged: readonly { table: string; id: string; trouble: string }[] = custody.forged
  expect([ok, exitCode]).toEqual(forged.length === 0 ? [true, 0] : [false, 1])
  const troublesOf = (id: string) => forged.filter((row) => row.table === 'policies' && row.id === id)
  return ids.map((id) => troublesOf(id).map(({ trouble }) => trouble))
}

/** The same of one policy. */
const verified = async (id: string): Promise<readonly string[]> => (await allVerified([id]))[0] ?? []

const rowOf = async (id: string): Promise<Row> => ({ ...(await sql`select * from policies where id = ${id}`)[0] })
const lockOf = async (id: string): Promise<Row> => ({
  ...(await sql`select * from policy_locks where policy_id = ${id}`)[0],
})
const edit = (id: string, change: Row) => sql`update policies set ${sql(change as never)} where id = ${id}`
const withJson = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Array.isArray(value) ? sql.json(value as never) : value]),
  )
const putBack = async (row: Row) => {
  const { id, ...rest } = row
  await edit(String(id), withJson(rest))
}

/** Who was told to have used a policy that somebody forged. */
const events = async (id: string) => {
  await service.flushRefusals()
  const rows = await sql`
    select distinct project_id, actor from audit where action = 'policy_forged' and subject = ${id}`
  return rows.length
}

/** Neither signs nor sends anything, and leaves no trace but the security event. */
const opensNothing = async (wallet: Wallet, id: string, transaction?: object) => {
  const trace = () => sql`select action from audit where subject = ${wallet.id} order by id`
  const spent = () => sql`select uses, spent_value, spent_fee, mac from policies where id = ${id}`
  const [before, was] = [await trace(), await spent()]
  for (const path of ['sign', 'sign-and-send'] as const) {
    const answer = await use(wallet, path, transaction)
    expect([told(answer), answer.json.error]).toEqual([DENIED, FORGED])
  }
  expect(await events(id)).toBeGreaterThan(0)
  expect([await trace(), await spent()]).toEqual([before, was])
}

const AGREED = {
  max_uses: 5,
  max_total_value: '10',
  max_total_fee: String(10n ** 18n),
  expires_at: EXPIRES_AT.toISOString(),
  token_limits: [{ contract_address: TOKEN, max_total: '1' }],
  rolling_limits: [{ per_seconds: 86_400, max_uses: 5 }],
}

const hour = 3_600_000

const ALL_FORGERIES: readonly (readonly [how: string, troubles: readonly string[], change: Row, to: string])[] = [
  ['with other rules', [TERMS], { argument_rules: [rule('value', 'ge', '0')] }, STRANGER],
  ['without one of its rules', [TERMS], { argument_rules: PAYMENTS_TO_RECIPIENT.slice(1) }, STRANGER],
  ['with more uses', [TERMS], { max_uses: 6 }, RECIPIENT],
  ['without a limit of uses', [TERMS], { max_uses: null }, RECIPIENT],
  ['with a higher limit of value', [TERMS], { max_total_value: '11' }, RECIPIENT],
  ['without a limit of value', [TERMS], { max_total_value: null }, RECIPIENT],
  ['with a higher limit of fees', [TERMS], { max_total_fee: String(10n ** 19n) }, RECIPIENT],
  ['with a later end', [TERMS], { expires_at: new Date(EXPIRES_AT.getTime() + hour) }, RECIPIENT],
  ['without an end', [TERMS], { expires_at: null }, RECIPIENT],
  ['with fewer uses than it has counted', [SET_BACK, SPENT], { uses: 0 }, RECIPIENT],
  ['with less value spent', [SPENT], { spent_value: '0' }, RECIPIENT],
  ['with less spent on fees', [SPENT], { spent_fee: '0' }, RECIPIENT],
  [
    'with a higher limit on a token',
    [TERMS],
    { token_limits: [{ contractAddress: TOKEN, maxTotal: '2', perSeconds: null }] },
    RECIPIENT,
  ],
  ['without a limit on a token', [TERMS], { token_limits: [] }, RECIPIENT],
  ['without a rolling limit', [TERMS], { rolling_limits: [] }, RECIPIENT],
  ['with less counted in a rolling time', [SPENT], { limit_counts: [[], []] }, RECIPIENT],
  ['without a MAC', [SPENT], { mac: null }, RECIPIENT],
  [
    'with a MAC of another version',
    [SPENT],
    { mac: Buffer.concat([Buffer.from([0, 0, 0, 9]), Buffer.alloc(32)]) },
    RECIPIENT,
  ],
  ['with a MAC of an impossible version', [SPENT], { mac: Buffer.alloc(36, 0xff) }, RECIPIENT],
]
const FORGERIES = someOf(ALL_FORGERIES, 3)

describe('a policy that somebody changed', () => {
  type Forged = { readonly wallet: Wallet; readonly id: string; readonly was: Row }
  let forged: readonly Forged[]
  const idsOf = () => forged.map(({ id }) => id)

  beforeAll(async () => {
    const made = await Promise.all(
      FORGERIES.map(async () => {
        const wallet = await newWallet()
        const id = await policy(wallet, AGREED)
        expect(told(await use(wallet, 'sign'))).toEqual(DONE)
        return { wallet, id, was: await rowOf(id) }
      }),
    )
    forged = made
    if (isLong) expect(await allVerified(idsOf())).toEqual(FORGERIES.map(() => []))
    for (const [index, { id }] of made.entries()) await edit(id, withJson(FORGERIES[index]?.[2] ?? {}))
  })

  test.each(FORGERIES.map(([how], index) => [how, index] as const))(
    '%s opens nothing and is told',
    async (_, index) => {
      const { wallet, id } = forged[index] as Forged
      await opensNothing(wallet, id, { to: FORGERIES[index]?.[3], value: '1' })
    },
  )

  test('is named, with what is wrong with it', async () => {
    expect(await allVerified(idsOf())).toEqual(FORGERIES.map(([, troubles]) => troubles))
  })

  test('works when it is put back', async () => {
    for (const { was } of forged) await putBack(was)
    for (const { wallet } of someOf(forged, 4)) expect(told(await use(wallet, 'sign-and-send'))).toEqual(DONE)
    expect(await allVerified(idsOf())).toEqual(FORGERIES.map(() => []))
  })
})

test('a policy with an end at infinity opens nothing, is named, and can be listed', async () => {
  const wallet = await newWallet()
  const id = await policy(wallet, AGREED)
  for (const end of someOf(['infinity', '20000-01-01'], 2)) {
    await sql`update policies set expires_at = ${end}::text::timestamptz where id = ${id}`
    await opensNothing(wallet, id)
    expect(await verified(id)).toEqual([TERMS])
    expect((await service.get('/policies', { network, wallet_address: wallet.address })).status).toBe(200)
  }
  await edit(id, { expires_at: EXPIRES_AT })
  expect(told(await use(wallet, 'sign'))).toEqual(DONE)
})

test('a policy with a limit that is no number opens nothing, and is named', async () => {
  const wallet = await newWallet()
  const id = await policy(wallet, AGREED)
  const [was] = await sql`select max_total_value, max_total_fee from policies where id = ${id}`
  for (const limit of someOf(['max_total_fee', 'max_total_value'], 2)) {
    await edit(id, { [limit]: 'NaN' })
    await opensNothing(wallet, id)
    if (isLong) expect(await verified(id)).toEqual([TERMS])
    await edit(id, { [limit]: was?.[limit] })
  }
  expect(told(await use(wallet, 'sign'))).toEqual(DONE)
})

test('a policy opens no other wallet to which somebody moved it, nor another network', async () => {
  const [mine, victim] = [await newWallet(), await newWallet()]
  const id = await policy(mine)
  await edit(id, { wallet_id: victim.id })
  await opensNothing(victim, id)
  if (isLong) expect(await verified(id)).toEqual([TERMS])
  await edit(id, { wallet_id: mine.id, network: 'Base' })
  await opensNothing(mine, id)
  if (isLong) expect(await verified(id)).toEqual([TERMS])
  await edit(id, { network })
  expect(told(await use(mine, 'sign'))).toEqual(DONE)
})

longTest('a policy whose wallet somebody moved to another network is named, with and without the policy', async () => {
  // All EVM wallets of the owner have one key.
  const mine = await newWallet()
  const id = await policy(mine)
  await edit(id, { network: 'Base' })
  await sql`update wallets set network = 'Base' where id = ${mine.id}`
  expect(await verified(id)).toEqual([TERMS])
  await sql`update wallets set network = ${network} where id = ${mine.id}`
  await edit(id, { network })
  await sql`update wallets set network = 'Base' where id = ${mine.id}`
  expect(await verified(id)).toEqual([TERMS])
  await sql`update wallets set network = ${network} where id = ${mine.id}`
  expect(await verified(id)).toEqual([])
})

longTest(
  'a policy that somebody copied under another id opens nothing, with a copy of its lock or with its own',
  async () => {
    const wallet = await newWallet()
    const id = await policy(wallet, { max_uses: 1 })
    const [row, lock] = [await rowOf(id), await lockOf(id)]
    expect(told(await use(wallet, 'sign'))).toEqual(DONE)
    const copy = randomUUID()
    // Nothing is spent of the copy.
    await sql`insert into policies ${sql({ ...withJson(row), id: copy } as never)}`
    await sql`insert into policy_locks ${sql({ ...lock, id: randomUUID(), policy_id: copy } as never)}`
    await opensNothing(wallet, copy)
    expect(await verified(copy)).toEqual([TERMS, SPENT])
    await sql`delete from policy_locks where policy_id in (${id}, ${copy})`
    await sql`insert into policy_locks ${sql({ ...lock, policy_id: copy } as never)}`
    await opensNothing(wallet, copy)
    expect([await verified(copy), await verified(id)]).toEqual([[TERMS, SPENT], [TERMS]])
    await sql`delete from policy_locks where policy_id = ${copy}`
    await sql`delete from policies where id = ${copy}`
    await sql`insert into policy_locks ${sql(lock as never)}`
  },
)

test('a revoked policy cannot be revived; put back whole, it is named', async () => {
  const wallet = await newWallet()
  const id = await policy(wallet)
  const [row, lock] = [await rowOf(id), await lockOf(id)]
  await service.post('/policies/revoke', { uuid: id, user_pin: PIN })
  await edit(id, { revoked_at: null })
  expect(told(await use(wallet, 'sign'))).toEqual(DENIED)
  await sql`insert into policy_locks ${sql(lock as never)}`
  await opensNothing(wallet, id)
  if (isLong) expect(await verified(id)).toEqual([REVOKED, SPENT])
  // A lock alone, of a policy that stays revoked, opens nothing.
  await edit(id, { revoked_at: new Date(), mac: row.mac })
  expect(told(await use(wallet, 'sign'))).toEqual([400, 'credential_required'])
  // What was true once has its MAC, but the vault that revoked it remembers that, and the audit has it.
  await putBack(row)
  expect(told(await use(wallet, 'sign'))).toEqual(DENIED)
  expect(await verified(id)).toEqual([REVOKED])
})

longTest('a revoked policy is named when somebody revives it, and no longer when it is revoked again', async () => {
  const wallet = await newWallet()
  const id = await policy(wallet)
  const row = await rowOf(id)
  await service.post('/policies/revoke', { uuid: id, user_pin: PIN })
  expect(await verified(id)).toEqual([])
  await edit(id, { revoked_at: null })
  expect(await verified(id)).toEqual([REVOKED, TERMS, SPENT])
  await putBack(row)
  expect(told(await use(wallet, 'sign'))).toEqual(DENIED)
  expect((await service.post('/policies/revoke', { uuid: id, user_pin: PIN })).status).toBe(200)
  expect(await verified(id)).toEqual([])
})

longTest('a policy whose row somebody set back to an earlier state is named, and so is one that is gone', async () => {
  const wallet = await newWallet()
  const id = await policy(wallet, { max_uses: 2 })
  for (const path of ['sign', 'sign-and-send'] as const) {
    const row = await rowOf(id)
    expect(told(await use(wallet, path))).toEqual(DONE)
    expect(await verified(id)).toEqual([])
    const present = await rowOf(id)
    await putBack(row)
    expect(await verified(id)).toEqual([SET_BACK])
    await putBack(present)
  }
  expect(await verified(id)).toEqual([])
  await sql`delete from policy_locks where policy_id = ${id}`
  await sql`delete from policies where id = ${id}`
  expect(await verified(id)).toEqual([GONE])
})

longTest('an audit row of an API, which vaults do not write, decides nothing about a policy', async () => {
  const id = await policy(await newWallet())
  const { projectId } = service.project
  const details = { policy: id, policy_uses: '1', approval: randomUUID() }
  await service.ctx.audit.commit({ projectId, actor: 'system', action: 'session_revoked', subject: id, details })
  expect(await verified(id)).toEqual([])
})

test('a forged policy does not close the others of its wallet, and the use of them tells it', async () => {
  const wallet = await newWallet()
  const [forged, other] = [await policy(wallet), await policy(wallet)]
  await edit(forged, { max_uses: 1_000 })
  expect(told(await use(wallet, 'sign'))).toEqual(DONE)
  expect([(await rowOf(forged)).uses, (await rowOf(other)).uses]).toEqual(['0', '1'])
  expect(await events(forged)).toBe(1)
  if (isLong) expect(await allVerified([forged, other])).toEqual([[TERMS], []])
})
