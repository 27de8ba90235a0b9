// The vault is killed before or after it commits what it makes, or the API between that and its own commit, or before
// the answer is sent; or PostgreSQL at any of these. Started again and asked again, they must make what the client then
// knows, and nothing else. The vault has a journal, and must never take its own database for one that was restored.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { eventTroubles } from '../events/troubles.ts'
import { runCli } from '../support/cli.ts'
import { createMortals } from '../support/mortal.ts'
import { startMortalPostgres } from '../support/mortal-postgres.ts'
import { createDatabaseOn } from '../support/postgres.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { until } from '../support/until.ts'
import type { Moment } from '../support/wire.ts'

const network = 'Ethereum'
const rpcUrl = 'http://127.0.0.1:1'
const pin = { user_pin: '493817' }
const CUSTODY_COMMITS = 'commit (insert audit)'
const API_COMMITS = 'commit (insert idempotency_keys)'

let client: ReturnType<Service['as']>

const CALLERS = 8

/** Whether the vault opens a key for all of several callers. */
const isServed = async (): Promise<boolean> => {
  const { address } = await probe
  const body = { network, signer_wallet_address: address, message: 'Is it there?', developer_secret: 'testnet-secret' }
  const answers = Array.from({ length: CALLERS }, () => client.post('/transactions/sign-message', body))
  return (await Promise.all(answers)).every(({ status }) => status === 200)
}

/** Starts what does not run. */
const start = async () => {
  for (const each of [vault, api]) each.spare()
  if (!server.isAlive()) await server.start()
  if (!vault.isAlive()) await vault.start()
  if (!api.isAlive()) client = service.as(service.project, (await api.start())?.[1])
  // A vault compares a database that was started anew, on each new connection, and meanwhile sends its callers away.
  await until(isServed)
}

const server = await shared(startMortalPostgres())
const database = await createDatabaseOn(server.url)
const service = await shared(startService({ rpcUrls: { [network]: rpcUrl }, database }))
const sql = server.connect()
afterTests(() => sql.end())
const { vault, api } = await createMortals(service, rpcUrl)
const probe = service.newWallet({ network })
for (const each of [vault, api]) afterTests(each.stop)
await start()

afterEach(async () => expect(await eventTroubles({ db: service.ctx.db, sql })).toEqual([]))

type Kill = { readonly kind: string; readonly moment: Moment; readonly victim?: 'postgres' }

/** Asks, and kills the vault or the API at a statement of theirs, or PostgreSQL. */
const killed = async ({ victim, ...at }: Kill, ask: () => Promise<Answer>) => {
  const ofVault = at.kind === CUSTODY_COMMITS
  const mortal = ofVault ? vault : api
  mortal.killAt({ ...at, wire: 'db', nth: 1 }, victim === 'postgres' ? server.kill : undefined)
  const answer = ask().then(
    ({ status, json }) => ({ status, code: json.code }),
    () => null,
  )
  await (victim === 'postgres' ? server : mortal).ended()
  expect(await answer).toEqual(ofVault || victim === 'postgres' ? { status: 503, code: 'unavailable' } : null)
  if (victim === 'postgres') await server.start()
}

/** Nothing is called a forgery. */
const verified = async () => {
  const { exitCode, output } = await runCli(['audit', 'verify', '--json'], service.variables)
  const { ok, custody } = JSON.parse(output)
  return { exitCode, ok, forged: custody.forged }
}
const INTACT = { exitCode: 0, ok: true, forged: [] }

describe('a wallet', () => {
  const rowsOf = async (ownerId: string) => {
    const [row] = await sql`select
      (select count(*)::int from user_keys where owner_id = ${ownerId}) as users,
      (select count(*)::int from keyrings where owner_id = ${ownerId}) as keyrings,
      (select count(*)::int from wallet_keys w join keyrings k on k.id = w.keyring_id where k.owner_id = ${ownerId}) as keys,
      (select count(*)::int from audit where details->>'owner_id' = ${ownerId}) as told,
      (select count(*)::int from wallets where owner_id = ${ownerId}) as wallets`
    return { ...row }
  }
  const NOTHING = { users: 0, keyrings: 0, keys: 0, told: 0, wallets: 0 }
  const SEALED = { users: 1, keyrings: 1, keys: 1, told: 1, wallets: 0 }
  const WHOLE = { ...SEALED, wallets: 1 }

  const ask = (ownerId: string, key: string | null) =>
    client.post(
      '/wallets',
      { network, name: 'W', owner_id: ownerId, control_mode: 'user', ...pin },
      key === null ? {} : { 'idempotency-key': key },
    )

  const signs = async (address: string) => {
    const body = { network, signer_wallet_address: address, message: 'It works.', ...pin }
    return (await client.post('/transactions/sign-message', body)).status
  }

  test.each([
    [{ kind: CUSTODY_COMMITS, moment: 'after' }, SEALED],
    [{ kind: API_COMMITS, moment: 'before' }, SEALED],
    [{ kind: CUSTODY_COMMITS, moment: 'before' }, NOTHING],
    [{ kind: 'insert wallets', moment: 'after' }, SEALED],
    [{ kind: API_COMMITS, moment: 'after' }, WHOLE],
    [{ kind: CUSTODY_COMMITS, moment: 'before', victim: 'postgres' }, NOTHING],
    [{ kind: CUSTODY_COMMITS, moment: 'after', victim: 'postgres' }, SEALED],
    [{ kind: API_COMMITS, moment: 'before', victim: 'postgres' }, SEALED],
    [{ kind: API_COMMITS, moment: 'after', victim: 'postgres' }, WHOLE],
  ] as const)('is one after a kill at %j, and is asked for again with the same Idempotency-Key', async (at, left) => {
    const [ownerId, key] = [randomUUID(), randomUUID()]
    await killed(at, () => ask(ownerId, key))
    expect(await rowsOf(ownerId)).toEqual(left)
    await start()
    const { status, json } = await ask(ownerId, key)
    expect(status).toBe(200)
    expect(await rowsOf(ownerId)).toEqual(WHOLE)
    expect(await sql`select from wallet_keys where wallet_id = ${json.id}`).toHaveLength(1)
    expect(await signs(json.address)).toBe(200)
    expect((await ask(ownerId, key)).json).toEqual(json)
  })

  test('whose address nobody received is not reported as forged, and does not hinder the owner', async () => {
    const ownerId = randomUUID()
    await killed({ kind: CUSTODY_COMMITS, moment: 'after' }, () => ask(ownerId, null))
    expect(await verified()).toEqual(INTACT)
    const [untold] = await sql`select w.wallet_id as id, w.public_key as key from wallet_keys w
      join keyrings k on k.id = w.keyring_id where k.owner_id = ${ownerId}`
    await start()
    const { status, json } = await ask(ownerId, null)
    expect(status).toBe(200)
    expect(await rowsOf(ownerId)).toEqual({ ...WHOLE, keys: 2, told: 2 })
    const [told] = await sql`select id, public_key as key from wallets where owner_id = ${ownerId}`
    expect([told?.id, told?.key]).toEqual([json.id, untold?.key])
    expect(untold?.id).not.toBe(json.id)
    expect(await signs(json.address)).toBe(200)
    expect(await verified()).toEqual(INTACT)
  })
})

describe('a policy', () => {
  let address: string
  beforeEach(async () => {
    ;({ address } = await service.newWallet({ network, pin: pin.user_pin }))
  })
  afterEach(async () => expect(await verified()).toEqual(INTACT))

  const argument_rules = [{ argument: 'value', operator: 'eq', value: '0' }]
  const ask = (key: string) => {
    const credentials = { ...pin, developer_secret: 'testnet-secret' }
    const body = { network, wallet_address: address, argument_rules, max_total_fee: '1000', ...credentials }
    return client.post('/policies', body, { 'idempotency-key': key })
  }
  const listed = async (): Promise<readonly { readonly uuid: string }[]> =>
    (await service.get('/policies', { network, wallet_address: address })).json

  test.each([
    [{ kind: CUSTODY_COMMITS, moment: 'after' }, 1],
    [{ kind: CUSTODY_COMMITS, moment: 'before' }, 0],
    [{ kind: 'insert idempotency_keys', moment: 'after' }, 1],
    [{ kind: CUSTODY_COMMITS, moment: 'before', victim: 'postgres' }, 0],
    [{ kind: CUSTODY_COMMITS, moment: 'after', victim: 'postgres' }, 1],
  ] as const)('is one after a kill at %j, and is asked for again with the same Idempotency-Key', async (at, left) => {
    const key = randomUUID()
    await killed(at, () => ask(key))
    expect(await listed()).toHaveLength(left)
    await start()
    const { status, json } = await ask(key)
    expect(status).toBe(200)
    expect(await listed()).toEqual([json])
    expect((await ask(key)).json).toEqual(json)
  })
})

describe('a change is complete or absent after a kill, and can be requested again:', () => {
  const secret = { developer_secret: 'testnet-secret' }
  const BEFORE = { kind: CUSTODY_COMMITS, moment: 'before' } as const
  const AFTER = { kind: CUSTODY_COMMITS, moment: 'after' } as const

  const signing = async (address: string, credential: object) => {
    const body = { network, signer_wallet_address: address, message: 'It works.', ...credential }
    const { status, json } = await client.post('/transactions/sign-message', body)
    return status === 200 ? status : json.code
  }

  afterEach(async () => expect(await verified()).toEqual(INTACT))

  test.each([
    [AFTER, 'new'],
    [BEFORE, 'old'],
  ] as const)('a PIN, killed at %j', async (at, good) => {
    const { address } = await service.newWallet({ network, pin: pin.user_pin })
    const change = () =>
      client.post('/wallets/change-user-pin', {
        ...{ network, address, old_user_pin: pin.user_pin, new_user_pin: '271828' },
      })
    await killed(at, change)
    await start()
    const pins = { old: pin, new: { user_pin: '271828' } }
    expect(await signing(address, pins[good])).toBe(200)
    const again = await change()
    expect(again.status === 200 ? 'old' : again.json.code).toBe(good === 'old' ? 'old' : 'INVALID_SECRET')
    expect(await signing(address, pins.new)).toBe(200)
    expect(await signing(address, pins.old)).toBe('INVALID_SECRET')
  })

  test.each([
    [AFTER, 0],
    [BEFORE, 1],
  ] as const)('a revocation, killed at %j', async (at, left) => {
    const { address } = await service.newWallet({ network, pin: pin.user_pin })
    const rules = [{ argument: 'value', operator: 'eq', value: '0' }]
    const body = { network, wallet_address: address, argument_rules: rules, max_total_fee: '1000', ...pin }
    const { uuid } = (await service.post('/policies', body)).json
    const revoke = () => client.post('/policies/revoke', { uuid, ...pin })
    const listed = async () => (await service.get('/policies', { network, wallet_address: address })).json.length
    await killed(at, revoke)
    expect(await listed()).toBe(left)
    await start()
    const again = await revoke()
    expect([again.status, again.json.code ?? null]).toEqual(left === 1 ? [200, null] : [404, 'not_found'])
    expect(await listed()).toBe(0)
  })

  test.each([
    [BEFORE, 200],
    [AFTER, 'under_policies'],
  ] as const)('a wallet put under policies, killed at %j', async (at, answer) => {
    const { address } = await service.newWallet({ network, ownerId: randomUUID() })
    const put = () => client.post('/wallets/put-under-policies', { network, address, ...secret })
    await killed(at, put)
    await start()
    expect(await signing(address, secret)).toBe(answer)
    expect((await put()).status).toBe(200)
    expect(await signing(address, secret)).toBe('under_policies')
  })
})
