import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { JobHelpers } from 'graphile-worker'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { API_KEY_SCOPES } from '../../db/words.ts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { dropIdempotencyKeysTask } from '../../jobs/tasks/index.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { submitRoute } from '../../src/identity/idempotency/once.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { createProject } from '../../src/operators/projects.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { createPolicy } from '../../src/signing/policies/policies.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { startGate } from '../support/gate.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { countRows } from '../support/rows.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startWorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address

const chain = await shared(startChain(network))
const gate = startGate(chain.rpcUrl)
afterTests(() => gate.stop())
const service = await shared(startService({ rpcUrls: { [network]: gate.url } }))
const { sql } = service.database
/** A second API process as the database sees it; it shares no memory with the first. */
const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'second' })
const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
const second = { ctx, server, url: `http://127.0.0.1:${server.port}` }
afterTests(async () => {
  await server.stop(true)
  await ctx.close({ timeoutSeconds: 2 })
})

const told = (answer: Answer) => ({ status: answer.status, code: answer.json?.code })

/** Counts rows, by table. */
const rows = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(await countRows(service.database.url)).map(([table, count]) => [
      table.replace('public.', ''),
      count,
    ]),
  )

/** Sends one request many times at once, alternately to both processes. */
const atOnce = (times: number, path: string, body: object, key: string): Promise<readonly string[]> =>
  Promise.all(
    Array.from({ length: times }, async (_, index) => {
      const response = await fetch((index % 2 === 0 ? service.baseUrl : second.url) + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${service.project.apiKey}`,
          'x-walletkit-project-id': service.project.projectId,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify(body),
      })
      return `${response.status} ${await response.text()}`
    }),
  )

const payment = async () => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return {
    network,
    signer_wallet_address: address,
    unsigned_transaction: { to: RECIPIENT, value: '1' },
    developer_secret: SECRET,
  }
}

/** A contract wallet that is not deployed, and the address of its key. */
const contractWallet = async () => {
  await deployCanonicalContracts(chain.rpcUrl)
  const private_key = generatePrivateKey()
  const body = {
    network,
    name: 'A',
    type: 'contract',
    control_mode: 'developer',
    developer_secret: SECRET,
    private_key,
  }
  const { json } = await service.post('/wallets/import', body)
  return { key: privateKeyToAddress(private_key), from: json.address as string }
}

/** A collection on the chain, and a wallet that may mint in it. */
const collection = async () => {
  const { address: from } = await service.newWallet({ network })
  await chain.fund(from)
  const named = { network, from, name: 'Keys', symbol: 'KEY', image_url: 'https://example.com/k.png' }
  const answer = await service.post('/nfts/collections', { ...named, developer_secret: SECRET })
  const worker = await startWorkerHere(service)
  const status = await service.settled(answer.json.transaction_id)
  const mint = { network, from, contract_address: status.json.contract_address, developer_secret: SECRET }
  const minted = await service.post('/nfts/mint', { ...mint, uri: 'https://example.com/1' })
  await service.settled(minted.json.transaction_id)
  await worker.stop()
  return { from, contract: status.json.contract_address as string, named }
}

test('a request that takes too long is told so, goes on, and gives its answer to the same request', async () => {
  const { promise: done, resolve: finish } = Promise.withResolvers<string>()
  const submit = submitRoute(ctx, (answer: string) => answer, 400)
  const { projectId } = service.project
  const caller = { kind: 'api_key', projectId, apiKeyId: randomUUID(), scopes: [], address: '' } as const
  const request = { headers: new Headers({ 'idempotency-key': randomUUID() }) }
  let runs = 0
  const ask = () =>
    submit({ body: {}, caller, request, route: '/slow' }, async ({ remember }) => {
      runs += 1
      const answer = await done
      await remember(ctx.db, answer)
      return answer
    })
  expect(await ask().catch((error) => error)).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  const again = ask()
  finish('made')
  expect([await again, runs]).toEqual(['made', 1])
})

const AT_ONCE = isLong ? 50 : 10

describe('the same key and body, many times at once, at two processes', () => {
  test('gives one transaction and equal answers', async () => {
    const body = await payment()
    const before = await rows()
    const answers = await atOnce(AT_ONCE, '/transactions/sign-and-send', body, randomUUID())
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toStartWith('200 {"transaction_id":')
    const after = await rows()
    expect(after.transactions).toBe((before.transactions ?? 0) + 1)
    expect(after.idempotency_keys).toBe((before.idempotency_keys ?? 0) + 1)
    const [told] = await sql<{ count: number }[]>`
      select count(*)::int as count from audit where action = 'transaction_submitted'
      and details->>'transaction' = ${JSON.parse((answers[0] ?? '').slice(4)).transaction_id}`
    expect(told?.count).toBe(1)
  })

  const wallets = [
    ['/wallets', { network, name: 'A', control_mode: 'user', user_pin: '493817' }],
    [
      '/wallets/import',
      { network, name: 'A', control_mode: 'developer', developer_secret: SECRET, private_key: generatePrivateKey() },
    ],
  ] as const
  test.each(someOf(wallets, 2))(
    '%s: one wallet, though another request would say that it exists',
    async (path, body) => {
      const owned = { ...body, owner_id: randomUUID() }
      const before = await rows()
      const answers = await atOnce(AT_ONCE, path, owned, 'a wallet')
      expect(new Set(answers).size).toBe(1)
      expect(answers[0]).toStartWith('200 {"id":')
      expect((await rows()).wallets).toBe((before.wallets ?? 0) + 1)
      expect(told(await service.post(path, owned))).toEqual({ status: 409, code: 'wallet_exists' })
    },
  )

  longTest('a policy is one, also if its default fee budget was taken from other fees meanwhile', async () => {
    const { address } = await service.newWallet({ network, pin: '493817' })
    const rules = [{ argument: 'value', operator: 'eq', value: '0' }] as const
    const body = {
      network,
      wallet_address: address,
      argument_rules: rules,
      developer_secret: SECRET,
      user_pin: '493817',
    }
    const before = await rows()
    const answers = await atOnce(20, '/policies', body, 'a policy')
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toStartWith('200 {"uuid":')
    expect((await rows()).policies).toBe((before.policies ?? 0) + 1)

    const { projectId } = service.project
    const credentials = { developerSecret: SECRET, userPin: '493817' }
    const by = {
      projectId,
      ownedBy: null,
      actor: 'operator',
      credentials,
      newId: randomUUID(),
      remember: async () => {},
    }
    const limits = { expiresAt: null, maxTotalValue: null, maxUses: null, limitTexts: {}, requireApproval: null }
    const input = { ...by, ...limits, network, name: '', walletAddress: address, argumentRules: rules } as const
    using held = gate.hold('before', 'eth_feeHistory')
    const late = createPolicy(service.ctx, { ...input, maxTotalFee: null })
    await held.reached
    const made = await createPolicy(second.ctx, { ...input, maxTotalFee: 5n })
    held.release()
    expect(await late).toEqual(made)
  })

  longTest('a batch gives one transaction, after one deployment', async () => {
    const { key, from } = await contractWallet()
    await chain.fund(key)
    const body = {
      ...{ network, signer_wallet_address: from, developer_secret: SECRET },
      unsigned_transactions: [{ to: RECIPIENT }, { to: RECIPIENT }],
    }
    const before = await rows()
    const answers = await atOnce(10, '/transactions/batch-sign-and-send', body, 'a batch')
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toStartWith('200 {"transaction_id":')
    expect((await rows()).transactions).toBe((before.transactions ?? 0) + 2)
    const other = { ...body, unsigned_transactions: body.unsigned_transactions.slice(1) }
    const answer = await service.post('/transactions/batch-sign-and-send', other, { 'idempotency-key': 'a batch' })
    expect(told(answer)).toEqual({ status: 409, code: 'idempotency_mismatch' })
  })

  longTest('so do mint, transfer and collections', async () => {
    const { from, contract, named } = await collection()
    const common = { network, from, contract_address: contract, developer_secret: SECRET }
    const requests = [
      ['/nfts/collections', { ...named, developer_secret: SECRET }],
      ['/nfts/mint', { ...common, metadata: { name: 'a', description: 'b', image: 'https://example.com/i.png' } }],
      ['/nfts/transfer', { ...common, recipient: RECIPIENT, token_id: '1' }],
    ] as const
    for (const [path, body] of requests) {
      const before = await rows()
      const answers = await atOnce(10, path, body, 'the same key for each path')
      expect(new Set(answers).size).toBe(1)
      expect(answers[0]).toStartWith('200 ')
      expect((await rows()).transactions).toBe((before.transactions ?? 0) + 1)
    }
  })
})

describe('the same request', () => {
  const send = (body: object, key: string, who: Pick<Service, 'post'> = service) =>
    who.post('/transactions/sign-and-send', body, { 'idempotency-key': key })

  test('may differ in the order of fields, in nulls and in the credential, and in nothing else', async () => {
    const body = await payment()
    const first = await send(body, 'k1')
    const { network: named, ...rest } = body
    const again = [
      { ...rest, network: named },
      { ...body, user_pin: null, unsigned_transaction: { value: '1', input: null, to: RECIPIENT } },
      { ...body, developer_secret: 'not the secret' },
    ]
    for (const same of again) expect((await send(same, 'k1')).text).toBe(first.text)
    const others = [
      { ...body, unsigned_transaction: { to: RECIPIENT, value: '2' } },
      { ...body, unsigned_transaction: { to: RECIPIENT, value: '0x1' } },
      { ...rest },
    ]
    const before = await rows()
    for (const other of others) {
      expect(told(await send(other, 'k1'))).toEqual({ status: 409, code: 'idempotency_mismatch' })
    }
    expect(await rows()).toEqual(before)
    expect((await send(body, 'k2')).text).not.toBe(first.text)
  })

  test('finds the wallet that custody made for it, also if the owner is a new one without an id', async () => {
    const body = { network, name: 'A', control_mode: 'developer', developer_secret: SECRET }
    const imported = { ...body, private_key: generatePrivateKey() }
    for (const [path, sent] of [
      ['/wallets', body],
      ['/wallets/import', imported],
    ] as const) {
      const headers = { 'idempotency-key': 'not kept' }
      const first = (await service.post(path, sent, headers)).json
      const [{ count } = {}] = await sql`select count(*)::int as count from wallet_keys`
      // As after a crash between the vault's commit and the API's.
      await sql`delete from idempotency_keys where key = 'not kept'`
      await sql`delete from wallets where id = ${first.id}`
      const { created_at: _then, ...same } = first
      expect((await service.post(path, sent, headers)).json).toMatchObject(same)
      expect((await sql`select count(*)::int as count from wallet_keys`)[0]?.count).toBe(count)
    }
  })

  test('with another key to import is refused, not answered', async () => {
    const body = { network, name: 'A', control_mode: 'developer', developer_secret: SECRET, owner_id: randomUUID() }
    const post = (private_key: string) =>
      service.post('/wallets/import', { ...body, private_key }, { 'idempotency-key': 'an import' })
    expect((await post(generatePrivateKey())).status).toBe(200)
    expect(told(await post(generatePrivateKey()))).toEqual({ status: 409, code: 'idempotency_mismatch' })
  })

  test('is separate for each API key and each project', async () => {
    const body = await payment()
    const first = await send(body, 'mine')
    const { projectId } = service.project
    const { text: apiKey } = await createApiKey(service.ctx, {
      projectId,
      name: 'Another',
      actor: 'operator',
      scopes: API_KEY_SCOPES,
      expiresAt: null,
    })
    const other = await send(body, 'mine', service.as({ projectId, apiKey }))
    expect(other.status).toBe(200)
    expect(other.text).not.toBe(first.text)
    const stranger = await createProject(service.ctx, { name: 'Stranger', actor: 'operator' })
    expect(told(await send(body, 'mine', service.as(stranger)))).toEqual({ status: 404, code: 'not_found' })
  })

  test('may succeed later if it failed at first', async () => {
    const { address } = await service.newWallet({ network })
    const body = { ...(await payment()), signer_wallet_address: address }
    const before = await rows()
    expect(told(await send(body, 'later'))).toEqual({ status: 400, code: 'balance_insufficient' })
    expect(await rows()).toEqual(before)
    await chain.fund(address)
    expect((await send(body, 'later')).status).toBe(200)
  })

  test('gets the answer that its client missed by disconnecting', async () => {
    const body = await payment()
    using held = gate.hold('after', 'eth_getTransactionCount')
    const headers = { 'idempotency-key': 'gone', 'content-type': 'application/json' }
    const abort = new AbortController()
    const lost = fetch(`${service.baseUrl}/transactions/sign-and-send`, {
      method: 'POST',
      headers: {
        ...headers,
        authorization: `Bearer ${service.project.apiKey}`,
        'x-walletkit-project-id': service.project.projectId,
      },
      body: JSON.stringify(body),
      signal: abort.signal,
    }).then(
      () => 'answered',
      () => 'lost',
    )
    await held.reached
    abort.abort()
    expect(await lost).toBe('lost')
    held.release()
    const [one, two] = [await send(body, 'gone'), await send(body, 'gone')]
    expect(one.status).toBe(200)
    expect(two.text).toBe(one.text)
    const [count] = await sql<{ count: number }[]>`
      select count(*)::int as count from transactions where signer_address = ${body.signer_wallet_address}`
    expect(count?.count).toBe(1)
  })
})

describe('a key', () => {
  test.each([
    ['is 200 characters at the most', 'k'.repeat(201)],
    ['is not empty', ''],
  ])('%s', async (_, key) => {
    const answer = await service.post('/wallets', {}, { 'idempotency-key': key })
    expect(told(answer)).toEqual({ status: 400, code: 'invalid_input' })
  })

  test('may have 200 characters', async () => {
    const body = { network, name: 'A', control_mode: 'developer', developer_secret: SECRET }
    const key = 'é'.repeat(200)
    const first = await service.post('/wallets', body, { 'idempotency-key': key })
    expect(first.status).toBe(200)
    expect((await service.post('/wallets', body, { 'idempotency-key': key })).text).toBe(first.text)
  })

  test('is ignored if an answer holds a secret or nothing is recorded', async () => {
    const { address } = await service.newWallet({ network })
    const before = await rows()
    const body = { network, address, developer_secret: SECRET }
    const headers = { 'idempotency-key': 'k'.repeat(500) }
    expect((await service.post('/wallets/export', body, headers)).status).toBe(200)
    expect((await rows()).idempotency_keys).toBe(before.idempotency_keys ?? 0)
  })

  test('is kept for a day, and then deleted by the worker', async () => {
    const body = await payment()
    const send = () => service.post('/transactions/sign-and-send', body, { 'idempotency-key': 'a day' })
    const age = (interval: string) =>
      sql`update idempotency_keys set created_at = now() - ${interval}::interval where key = 'a day'`
    const first = await send()
    await age('23 hours 59 minutes')
    expect((await send()).text).toBe(first.text)
    await age('24 hours')
    const next = await send()
    expect(next.status).toBe(200)
    expect(next.text).not.toBe(first.text)
    expect((await send()).text).toBe(next.text)

    await age('24 hours')
    const before = await rows()
    const worker = await createWorkerCtx({
      config: readConfig({ ...service.variables, DATABASE_URL: service.database.workerUrl, VAULT_SOCKET: '' }),
      process: 'test-worker',
    })
    await dropIdempotencyKeysTask(worker)({}, {} as JobHelpers)
    await worker.close({ timeoutSeconds: 2 })
    expect((await rows()).idempotency_keys).toBe((before.idempotency_keys ?? 0) - 1)
  })
})

describe('an answer that somebody wrote who owns the database', () => {
  const ROW = ['project_id', 'principal', 'path', 'key', 'fingerprint', 'answer', 'mac'] as const
  const newWallet = (key: string, owner: string = randomUUID()) =>
    service.post(
      '/wallets',
      { network, name: 'A', owner_id: owner, control_mode: 'developer', developer_secret: SECRET },
      { 'idempotency-key': key },
    )
  const columns = (row: Record<string, unknown>) => Object.fromEntries(ROW.map((name) => [name, row[name]]))

  test('is not shown, nothing is done again, and it is reported', async () => {
    const owner = randomUUID()
    const first = await newWallet('kept', owner)
    const forged = { ...first.json, address: RECIPIENT }
    await sql`update idempotency_keys set answer = ${sql.json(forged)} where key = 'kept'`
    const before = await rows()
    expect(told(await newWallet('kept', owner))).toEqual({ status: 500, code: 'internal' })
    expect((await rows()).wallets).toBe(before.wallets ?? 0)
    await service.ctx.securityEvents.flush()
    const reported = await sql`
      select details->>'table' as "table" from audit where action = 'row_forged' and subject = 'kept'`
    expect(reported.map(({ table }) => table)).toEqual(['idempotency_keys'])
    await sql`update idempotency_keys set answer = ${sql.json(first.json)} where key = 'kept'`
    expect((await newWallet('kept', owner)).json).toEqual(first.json)
  })

  test('cannot be that of another request, key, path, caller or project', async () => {
    const owners = [randomUUID(), randomUUID()]
    for (const [index, owner] of owners.entries()) await newWallet(`taken ${index}`, owner)
    const [taken = {}] = await sql`select * from idempotency_keys where key = 'taken 0'`
    const [other = {}] = await sql`select * from idempotency_keys where key = 'taken 1'`
    for (const change of [
      { answer: taken.answer },
      { answer: taken.answer, mac: taken.mac },
      { answer: taken.answer, mac: taken.fingerprint },
      { answer: taken.answer, mac: taken.mac, fingerprint: taken.fingerprint },
    ]) {
      await sql`update idempotency_keys set ${sql(change as never)} where key = 'taken 1'`
      expect(told(await newWallet('taken 1', owners[1]))).toEqual({ status: 500, code: 'internal' })
      await sql`update idempotency_keys set ${sql(columns(other) as never)} where key = 'taken 1'`
    }
    // The same body, for a key that was not used yet, and for a path where it would mean something else.
    for (const [key, path] of [
      ['new', taken.path],
      ['taken 0', '/wallets/import'],
    ]) {
      await sql`insert into idempotency_keys ${sql({ ...columns(taken), key, path } as never)}`
    }
    expect(told(await newWallet('new', owners[0]))).toEqual({ status: 500, code: 'internal' })
    const imported = { network, name: 'A', owner_id: owners[0], control_mode: 'developer', developer_secret: SECRET }
    expect(told(await service.post('/wallets/import', imported, { 'idempotency-key': 'taken 0' }))).toEqual({
      status: 500,
      code: 'internal',
    })
  })
})

test('nothing that is stored lets anybody test guesses of a secret', async () => {
  const privateKey = generatePrivateKey()
  const pin = '604913'
  const body = { network, name: 'Secret', control_mode: 'user', user_pin: pin, private_key: privateKey }
  const answer = await service.post('/wallets/import', body, { 'idempotency-key': 'holds no secret' })
  expect(answer.status).toBe(200)
  const [row] = await sql<{ text: string; fingerprint: Uint8Array }[]>`
    select idempotency_keys::text as text, fingerprint from idempotency_keys where key = 'holds no secret'`
  expect(row?.fingerprint.length).toBe(32)
  expect(row?.text).not.toContain(pin)
  expect(row?.text).not.toContain(privateKey.slice(2))
  // No plain digest of the body, with or without the PIN, because a thief of the table could test guesses against it.
  const { user_pin: _pin, ...rest } = body
  for (const tried of [body, rest]) {
    const sorted = JSON.stringify(Object.fromEntries(Object.entries(tried).sort(([a], [b]) => (a < b ? -1 : 1))))
    const digest = new Bun.CryptoHasher('sha256').update(sorted).digest('hex')
    expect(row?.text).not.toContain(digest)
  }
})
