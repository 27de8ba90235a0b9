// The policy endpoints: created with the PIN, listed, and revoked with either credential.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { createProject } from '../../src/operators/projects.ts'
import { parseLimits } from '../../src/signing/policies/limits.ts'
import { ProposedPolicyBody } from '../../src/signing/policies/schema.ts'
import { untilWaiting } from '../support/locks.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const RULES = [{ argument: 'to', operator: 'eq', value: TOKEN.toLowerCase() }]

let service: Service
let sql: Sql
let wallet: { address: string; id: string; owner_id: string }

beforeAll(async () => {
  service = await startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1', Base: 'http://127.0.0.1:1' } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  wallet = await service.newWallet({ network, pin: PIN })
})

afterAll(async () => {
  await sql.end()
  await service.close()
})

const body = (rest: Record<string, unknown> = {}) => ({
  network,
  wallet_address: wallet.address,
  argument_rules: RULES,
  // Without a fee budget the service asks the network for the usual fees.
  max_total_fee: '1000',
  developer_secret: SECRET,
  user_pin: PIN,
  ...rest,
})
const create = (rest: Record<string, unknown> = {}, headers?: Record<string, string>) =>
  service.post('/policies', body(rest), headers)
const revoke = (uuid: string, credentials: object = { user_pin: PIN }) =>
  service.post('/policies/revoke', { uuid, ...credentials })
const list = async (query: Record<string, string> = {}) => (await service.get('/policies', { network, ...query })).json

const told = ({ status, json }: Answer) => [status, json?.code ?? null]

const countLocks = async (uuid: string) => (await sql`select from policy_locks where policy_id = ${uuid}`).length

describe('creation', () => {
  test('answers with the policy, without its key lock', async () => {
    const answer = await create({ name: 'Doors', expires_at: '2099-01-31T13:00:00.5+01:00', max_uses: 3 })
    expect(answer.status).toBe(200)
    const { uuid, created_at, updated_at, ...rest } = answer.json
    expect(uuid).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Date(created_at).toISOString()).toBe(updated_at)
    expect(rest).toEqual({
      project_id: service.project.projectId,
      network,
      name: 'Doors',
      wallet_address: wallet.address,
      argument_rules: RULES,
      expires_at: '2099-01-31T12:00:00.500Z',
      max_uses: 3,
      max_total_value: null,
      max_total_fee: '1000',
      token_limits: [],
      rolling_limits: [],
      require_approval: null,
      uses: 0,
      spent_value: '0',
      spent_fee: '0',
    })
    expect(await countLocks(uuid)).toBe(1)
  })

  longTest('accepts null for absent fields, an address in lower case, and limits in hex', async () => {
    const nothing = { name: null, expires_at: null, max_total_value: null, max_uses: null }
    const answer = await create({ ...nothing, wallet_address: wallet.address.toLowerCase() })
    expect(answer.json).toMatchObject({ name: '', expires_at: null, wallet_address: wallet.address })
    const limited = await create({ max_total_value: `0x${'f'.repeat(64)}` })
    const [row] =
      await sql`select max_total_value, spent_value, uses, max_uses from policies where id = ${limited.json.uuid}`
    expect({ ...row }).toEqual({
      max_total_value: String(2n ** 256n - 1n),
      spent_value: '0',
      uses: '0',
      max_uses: null,
    })
  })

  const tokenLimit = { contract_address: TOKEN, max_total: '5' }
  const rollingLimit = { per_seconds: 60, max_uses: 1 }

  test('accepts limits on tokens and rolling limits, and shows their counts', async () => {
    const limits = {
      token_limits: [
        { contract_address: TOKEN.toLowerCase(), max_total: '0xff', per_seconds: null },
        { ...tokenLimit, per_seconds: 86_400 },
      ],
      rolling_limits: [
        { ...rollingLimit, max_total_value: null },
        { per_seconds: 3_600, max_total_value: '0x10' },
      ],
    }
    const shown = {
      token_limits: [
        { contract_address: TOKEN, max_total: '255', per_seconds: null, spent: '0' },
        { contract_address: TOKEN, max_total: '5', per_seconds: 86_400, spent: '0' },
      ],
      rolling_limits: [
        { per_seconds: 60, max_total_value: null, max_uses: 1, spent_value: null, uses: 0 },
        { per_seconds: 3_600, max_total_value: '16', max_uses: null, spent_value: '0', uses: null },
      ],
    }
    const { json } = await create(limits)
    expect(json).toMatchObject(shown)
    expect((await list()).find(({ uuid }: { uuid: string }) => uuid === json.uuid)).toMatchObject(shown)
  })

  test('refuses limits on tokens on networks whose calls the vault cannot read', () => {
    for (const network of ['Polkadot', 'Vara'] as const) {
      expect(() => parseLimits(service.ctx.chains.of(network), { token_limits: [tokenLimit] })).toThrow(
        `Field "token_limits" must be absent on ${network}: the vault cannot read calls of its runtime.`,
      )
    }
  })

  const rule = (argument: string, operator: string, value: unknown) => ({
    argument_rules: [{ argument, operator, value }],
  })

  const refusals: readonly (readonly [string, Record<string, unknown>])[] = [
    ['no rules', { argument_rules: [] }],
    ['rules that are no list', { argument_rules: RULES[0] }],
    ['too many rules', { argument_rules: Array(51).fill(RULES[0]) }],
    ['an unknown operator', rule('value', '<', '1')],
    ['an operator in capitals', rule('value', 'EQ', '1')],
    ['an unknown argument', rule('from', 'eq', TOKEN)],
    ['an argument of call data without a name', rule('decodedInput', 'eq', '1')],
    ['an empty name within', rule('decodedInput.a..b', 'eq', '1')],
    ['a value that is a number', rule('value', 'eq', 1)],
    ['a function that nobody knows', rule('decodedInput.function', 'eq', 'knock')],
    ['a function of many', rule('decodedInput.function', 'eq', 'mint')],
    ['a rule on an argument of no function', rule('decodedInput.value', 'eq', '1')],
    ['an unknown property of a rule', { argument_rules: [{ ...RULES[0], not: true }] }],
    ['order by an address', rule('to', 'gt', TOKEN)],
    ['order by a function', rule('decodedInput.function', 'le', 'mint')],
    ['order by what is no number', rule('decodedInput.value', 'lt', 'much')],
    ['order by a fraction', rule('value', 'lt', '1.5')],
    ['a value that is no number', rule('value', 'ne', 'much')],
    ['a time that was', { expires_at: '2020-01-01T00:00:00Z' }],
    ['a time without an offset', { expires_at: '2099-01-01T00:00:00' }],
    ['a day that is not', { expires_at: '2099-02-30T00:00:00Z' }],
    ['a month that is not', { expires_at: '2099-13-01T00:00:00Z' }],
    ['an hour that is not', { expires_at: '2099-01-01T24:00:00Z' }],
    ['a year of five digits in UTC', { expires_at: '9999-12-31T23:59:59-12:00' }],
    ['a year before the first', { expires_at: '0000-01-01T00:00:00Z' }],
    ['no uses', { max_uses: 0 }],
    ['a part of a use', { max_uses: 1.5 }],
    ['uses as a text', { max_uses: '3' }],
    ['a value beyond 2^256', { max_total_value: String(2n ** 256n) }],
    ['a value below zero', { max_total_value: '-1' }],
    ['a fee budget beyond 2^256', { max_total_fee: String(2n ** 256n) }],
    ['a fee budget below zero', { max_total_fee: '-1' }],
    ['a fee budget that is a number', { max_total_fee: 5 }],
    ['an unknown field', { spent_value: '0' }],
    ['too many limits on tokens', { token_limits: Array(21).fill(tokenLimit) }],
    ['two limits on one token for one time', { token_limits: [tokenLimit, { ...tokenLimit, max_total: '6' }] }],
    ['a limit on a token without an amount', { token_limits: [{ contract_address: TOKEN }] }],
    ['a limit on a token beyond 2^256', { token_limits: [{ ...tokenLimit, max_total: String(2n ** 256n) }] }],
    ['a limit in no time', { token_limits: [{ ...tokenLimit, per_seconds: 0 }] }],
    ['a limit in more than 366 days', { rolling_limits: [{ ...rollingLimit, per_seconds: 31_622_401 }] }],
    ['a rolling limit of nothing', { rolling_limits: [{ per_seconds: 60 }] }],
    ['two rolling limits for one time', { rolling_limits: [rollingLimit, { ...rollingLimit, max_total_value: '1' }] }],
    [
      'too many rolling limits',
      { rolling_limits: [1, 2, 3, 4, 5, 6].map((per_seconds) => ({ per_seconds, max_uses: 1 })) },
    ],
  ]
  test.each(someOf(refusals, 3))('refuses %s', async (_what, rest) => {
    expect(told(await create(rest))).toEqual([400, 'invalid_input'])
  })

  test('refuses an invalid address, also in a rule', async () => {
    expect(told(await create({ wallet_address: '0x1' }))).toEqual([400, 'address_invalid'])
    expect(told(await create(rule('to', 'eq', TOKEN.replace('d', 'D'))))).toEqual([400, 'address_invalid'])
  })

  test.each([
    [{ user_pin: null }, 400, 'credential_required'],
    [{ user_pin: null, developer_secret: null }, 400, 'credential_required'],
    [{ developer_secret: null, user_pin: '000000' }, 403, 'INVALID_SECRET'],
    [{ developer_secret: 'wrong' }, 403, 'INVALID_SECRET'],
    [{ user_pin: '000000' }, 403, 'INVALID_SECRET'],
  ])('needs the PIN, and a right secret if there is one: %p is answered with %i %s', async (rest, status, code) => {
    const before = await list()
    expect(told(await create(rest))).toEqual([status, code])
    expect(await list()).toEqual(before)
  })

  test('accepts a fee budget in hex and a budget of zero, and asks the network if it is absent', async () => {
    expect((await create({ max_total_fee: '0xff' })).json.max_total_fee).toBe('255')
    expect((await create({ max_total_fee: '0' })).json.max_total_fee).toBe('0')
    const guesses = async () => (await sql`select revision from pin_guesses where owner_id = ${wallet.owner_id}`)[0]
    const before = await guesses()
    // No node listens there. Without the terms there is nothing to agree to, and no PIN is checked.
    for (const max_total_fee of [null, undefined]) {
      expect(told(await create({ max_total_fee }))).toEqual([503, 'node_unavailable'])
      expect(told(await create({ max_total_fee, user_pin: '000000' }))).toEqual([503, 'node_unavailable'])
    }
    expect(await guesses()).toEqual(before)
  })

  test('works only for wallets of the project, with the credential of their control mode, on networks with a node', async () => {
    const developers = await service.newWallet({ network })
    const wallet_address = developers.address
    expect(told(await create({ wallet_address }))).toEqual([400, 'credential_ambiguous'])
    expect(told(await create({ wallet_address, user_pin: undefined }))).toEqual([200, null])
    expect(told(await create({ wallet_address: TOKEN }))).toEqual([404, 'not_found'])
    // The owner has no wallet on this network.
    expect(told(await create({ network: 'Base' }))).toEqual([404, 'not_found'])
    expect(told(await create({ network: 'Polygon' }))).toEqual([501, 'not_implemented'])
    expect(told(await create({ network: 'Polkadot' }))).toEqual([501, 'not_implemented'])
  })

  test('with one Idempotency-Key happens once, with any credentials', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const [one, two] = [
      await create({ max_uses: 7 }, headers),
      await create({ max_uses: 7, user_pin: '000000' }, headers),
    ]
    expect(one.status).toBe(200)
    expect(two.json).toEqual(one.json)
    expect(await sql`select from policies where max_uses = 7`).toHaveLength(1)
    expect(told(await create({ max_uses: 8 }, headers))).toEqual([409, 'idempotency_mismatch'])
  })

  longTest(
    'whose answer was not kept with its Idempotency-Key is found again by the same request, also when nothing else fits',
    async () => {
      const headers = { 'idempotency-key': randomUUID() }
      const crowded = await service.newWallet({ network, pin: PIN })
      const of = { wallet_address: crowded.address, expires_at: '2099-01-01T00:00:00Z' }
      const first = (await create(of, headers)).json
      // As after a crash between the two commits.
      await sql`delete from idempotency_keys where key = ${headers['idempotency-key']}`
      await sql`insert into policies (id, project_id, network, wallet_id, name, argument_rules, max_total_fee)
      select gen_random_uuid(), project_id, network, wallet_id, name, argument_rules, max_total_fee
      from policies, generate_series(2, 1000) where id = ${first.uuid}`
      expect(told(await create(of))).toEqual([400, 'invalid_input'])
      expect(told(await create({ ...of, user_pin: '000000' }, headers))).toEqual([403, 'INVALID_SECRET'])
      expect((await create(of, headers)).json).toEqual(first)
      expect(await sql`select from idempotency_keys where key = ${headers['idempotency-key']}`).toHaveLength(1)
      await sql`delete from policies where wallet_id = ${crowded.id} and id <> ${first.uuid}`
    },
  )
})

describe('the list', () => {
  test('shows all that are not revoked, oldest first, in pages, and filters by wallet', async () => {
    const other = await service.newWallet({ network, pin: PIN })
    const of = { wallet_address: other.address }
    const made: { uuid: string }[] = []
    for (const name of ['one', 'two', 'three']) made.push((await create({ ...of, name })).json)
    expect(await list(of)).toEqual(made)
    expect(await list({ ...of, page_size: '2' })).toEqual(made.slice(0, 2))
    expect(await list({ ...of, page_size: '2', page: '2' })).toEqual(made.slice(2))
    expect((await list({ page_size: '100' })).slice(-3)).toEqual(made)
    await revoke(made[1]?.uuid ?? '')
    expect(await list(of)).toEqual([made[0], made[2]])
    expect(await list({ network: 'Base' })).toEqual([])
  })

  test('includes expired policies', async () => {
    const { uuid } = (await create({ name: 'over', expires_at: '2099-01-01T00:00:00Z' })).json
    await sql`update policies set expires_at = now() where id = ${uuid}`
    expect((await list({ page_size: '100' })).map((each: { uuid: string }) => each.uuid)).toContain(uuid)
  })

  test.each([
    [{ wallet_address: TOKEN }, 404, 'not_found'],
    [{ wallet_address: 'x' }, 400, 'address_invalid'],
    [{ page_size: '101' }, 400, 'invalid_input'],
    [{ network: 'Bitcoin' }, 400, 'invalid_input'],
  ])('refuses %p', async (query, status, code) => {
    expect(told(await service.get('/policies', { network, ...query }))).toEqual([status, code])
  })

  test('names the wrong field', async () => {
    const answer = await service.get('/policies', { network, wallet_address: 'x' })
    expect(answer.json.error).toStartWith('Field "wallet_address" ')
  })
})

describe('a revocation', () => {
  test.each([[{ user_pin: PIN }], [{ developer_secret: SECRET }]])(
    'by %p takes the lock away, once',
    async (credentials) => {
      const { uuid } = (await create()).json
      const answer = await revoke(uuid.toUpperCase(), credentials)
      expect([answer.status, answer.json]).toEqual([200, { success: true }])
      expect(await countLocks(uuid)).toBe(0)
      expect(told(await revoke(uuid, credentials))).toEqual([404, 'not_found'])
    },
  )

  test.each([
    [{}, 400, 'credential_required'],
    [{ user_pin: PIN, developer_secret: SECRET }, 400, 'credential_ambiguous'],
    [{ user_pin: '000000' }, 403, 'INVALID_SECRET'],
    [{ developer_secret: 'wrong' }, 403, 'INVALID_SECRET'],
    [{ user_pin: '12345' }, 400, 'invalid_input'],
  ])('with %p is refused: %i %s', async (credentials, status, code) => {
    const { uuid } = (await create()).json
    expect(told(await revoke(uuid, credentials))).toEqual([status, code])
    expect(await countLocks(uuid)).toBe(1)
  })

  longTest('answers the same for an unknown, a revoked and a foreign policy', async () => {
    const other = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const theirs = service.as(other)
    const foreign = await theirs.newWallet({ network, pin: PIN })
    const { uuid } = (await theirs.post('/policies', body({ wallet_address: foreign.address }))).json
    const gone = (await create()).json.uuid
    await revoke(gone)
    const answers = await Promise.all(
      [uuid, gone, randomUUID()].map((each) => revoke(each, { developer_secret: SECRET })),
    )
    expect(answers.map(told)).toEqual(Array(3).fill([404, 'not_found']))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await countLocks(uuid)).toBe(1)
    expect((await service.get('/policies', { network, wallet_address: foreign.address })).status).toBe(404)
  })

  test('of one policy many times at once happens once', async () => {
    const { uuid } = (await create()).json
    const answers: Promise<Answer>[] = []
    await sql.begin(async (tx) => {
      await tx`select from policies where id = ${uuid} for update`
      for (let count = 0; count < 4; count += 1) answers.push(revoke(uuid, { developer_secret: SECRET }))
      // All requests have found the policy and proved the credential.
      await untilWaiting(sql, 4)
    })
    expect((await Promise.all(answers)).map(({ status }) => status).sort()).toEqual([200, 404, 404, 404])
    const rows = await sql`select details from audit where action = 'policy_revoked' and details->>'policy' = ${uuid}`
    expect(rows.map((row) => ({ ...row }))).toEqual([{ details: { policy: uuid, by: 'developer' } }])
  })

  test('is possible to the developer while the owner’s PIN is locked', async () => {
    const locked = await service.newWallet({ network, pin: PIN })
    const { uuid } = (await create({ wallet_address: locked.address })).json
    for (let tries = 0; tries < 5; tries += 1) await revoke(uuid, { user_pin: '000000' })
    expect(told(await revoke(uuid))).toEqual([403, 'TOO_MANY_FAILED_ATTEMPTS'])
    expect(told(await revoke(uuid, { developer_secret: SECRET }))).toEqual([200, null])
  })
})

describe('a user', () => {
  test('creates, sees and revokes only the policies of their own wallets', async () => {
    const session = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
    const user = service.as({ projectId: service.project.projectId, apiKey: session.access_token })
    const own = (await user.post('/wallets', { network, name: 'Mine', control_mode: 'user', user_pin: PIN })).json
    const theirs = (await create()).json
    // Without the developer's secret, which users do not know.
    const made = await user.post('/policies', body({ wallet_address: own.address, developer_secret: undefined }))
    expect(made.status).toBe(200)
    expect((await user.get('/policies', { network })).json).toEqual([made.json])
    expect(told(await user.post('/policies', body()))).toEqual([404, 'not_found'])
    expect(told(await user.post('/policies/revoke', { uuid: theirs.uuid, user_pin: PIN }))).toEqual([404, 'not_found'])
    expect(told(await user.post('/policies/revoke', { uuid: made.json.uuid, user_pin: PIN }))).toEqual([200, null])
    expect((await user.get('/policies', { network })).json).toEqual([])
  })
})

describe('description', () => {
  const proposal = { network, argument_rules: RULES, max_total_fee: '1000' }
  const described = (rest: object = {}) =>
    service.post('/policies/describe', { ...proposal, wallet_address: wallet.address, ...rest })
  type Sentence = readonly { readonly text: string }[]
  const textOf = (sentence: Sentence) => sentence.map(({ text }) => text).join('')

  test('answers with a text and with the policy that it describes, which can be created unchanged', async () => {
    const expires_at = '2099-01-31T13:00:00+01:00'
    const answer = await described({
      wallet_address: wallet.address.toLowerCase(),
      name: 'Doors',
      expires_at,
      max_uses: 2,
    })
    expect(answer.status).toBe(200)
    const { policy, words } = answer.json
    expect(policy).toEqual({
      network,
      name: 'Doors',
      wallet_address: wallet.address,
      argument_rules: RULES,
      expires_at: '2099-01-31T12:00:00.000Z',
      max_total_fee: '1000',
      max_uses: 2,
    })
    // No node answers here, so nobody knows what is at the address.
    expect(words.may.map(textOf)).toEqual(['Pay ETH. It may not call contracts.', `Only to ${TOKEN}.`])
    expect(words.used).toEqual([])
    const created = await service.post('/policies', { ...policy, user_pin: PIN })
    expect(created.json).toMatchObject(policy)
    const listed = await service.get('/policies/described', { uuid: created.json.uuid })
    expect(listed.json).toEqual([
      { policy: created.json, words: { ...words, used: [[{ kind: 'text', text: 'Not used yet.' }]] } },
    ])
  })

  test('returns everything that would be granted', async () => {
    const whole = {
      ...proposal,
      wallet_address: wallet.address,
      name: 'Whole',
      expires_at: '2099-01-31T12:00:00.000Z',
      max_total_value: '5',
      max_uses: 2,
      token_limits: [{ contract_address: TOKEN, max_total: '7', per_seconds: 60 }],
      rolling_limits: [{ per_seconds: 60, max_total_value: '3', max_uses: 1 }],
    }
    expect((await described(whole)).json.policy).toEqual(whole)
    // test/approvals has those who approve.
    const fields = Object.keys(ProposedPolicyBody.properties).filter((field) => field !== 'require_approval')
    expect(Object.keys(whole).sort()).toEqual(fields.sort())
    const required = { require_approval: { of: 1, from: [randomUUID()] } }
    expect(told(await described(required))).toEqual([400, 'invalid_input'])
  })

  test('creates nothing, and takes no credential', async () => {
    const before = await list()
    expect((await described()).status).toBe(200)
    expect(told(await described({ user_pin: PIN }))).toEqual([400, 'invalid_input'])
    expect(await list()).toEqual(before)
  })

  test.each([
    [{ argument_rules: [] }, 400, 'invalid_input'],
    [{ argument_rules: [{ argument: 'to', operator: 'gt', value: TOKEN }] }, 400, 'invalid_input'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 400, 'invalid_input'],
    [{ wallet_address: '0x1' }, 400, 'address_invalid'],
    [{ wallet_address: TOKEN }, 404, 'not_found'],
    // The usual fees are those of the network.
    [{ max_total_fee: null }, 503, 'node_unavailable'],
    [{ network: 'Polygon' }, 501, 'not_implemented'],
  ])('of %p is refused like its creation: %i %s', async (rest, status, code) => {
    expect(told(await described(rest))).toEqual([status, code])
    expect(told(await create(rest))).toEqual([status, code])
  })

  longTest('of unrevoked policies covers all networks, in pages, and only the policies within reach', async () => {
    const login = async () => (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
    const [anna, boris] = [await login(), await login()]
    const as = (session: { access_token: string }) =>
      service.as({ projectId: service.project.projectId, apiKey: session.access_token })
    const made: string[] = []
    for (const each of [network, 'Base']) {
      const own = { network: each, name: 'Mine', control_mode: 'user', user_pin: PIN }
      const { address } = (await as(anna).post('/wallets', own)).json
      const terms = { ...proposal, network: each, wallet_address: address, user_pin: PIN }
      made.push((await as(anna).post('/policies', terms)).json.uuid)
    }
    type Described = { policy: { uuid: string; network: string } }
    const idsOf = async (query: Record<string, string> = {}) =>
      (await as(anna).get('/policies/described', query)).json.map(({ policy }: Described) => policy.uuid)
    expect(await idsOf()).toEqual(made)
    expect(await idsOf({ page: '2', page_size: '1' })).toEqual([made[1]])
    expect((await as(boris).get('/policies/described')).json).toEqual([])
    const uuid = made[0] ?? ''
    expect(told(await as(boris).get('/policies/described', { uuid }))).toEqual([404, 'not_found'])
    // A policy of a developer-controlled wallet limits the developer, and grants nobody anything.
    const limiting = { ...proposal, wallet_address: (await service.newWallet({ network })).address }
    const own = await service.post('/policies', { ...limiting, developer_secret: SECRET })
    expect(own.status).toBe(200)
    expect(told(await service.get('/policies/described', { uuid: own.json.uuid }))).toEqual([404, 'not_found'])
    expect((await as(anna).post('/policies/revoke', { uuid, user_pin: PIN })).status).toBe(200)
    expect(await idsOf()).toEqual([made[1]])
    expect(told(await as(anna).get('/policies/described', { uuid }))).toEqual([404, 'not_found'])
  })
})
