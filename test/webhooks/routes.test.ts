// /webhooks over HTTP: what it does, what it refuses, and that another project learns nothing.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { freePort } from '../../devnet/port.ts'
import { createApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { createProject } from '../../src/operators/projects.ts'
import { ROOT } from '../support/imports.ts'
import { longTest } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'
import { type Receiver, startReceiver } from './receiver.ts'

let service: Service
let worker: WorkerHere
let receiver: Receiver
let sql: Sql

beforeAll(async () => {
  service = await startService({
    rpcUrls: { Ethereum: 'http://127.0.0.1:1' },
    variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' },
  })
  worker = await startWorkerHere(service)
  receiver = await startReceiver()
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
})
afterEach(async () => {
  await sql`delete from webhook_endpoints`
})
afterAll(async () => {
  await sql.end()
  await receiver.close()
  await worker.stop()
  await service.close()
})

const create = async (body: Record<string, unknown> = {}) => {
  const answer = await service.post('/webhooks', { url: receiver.url, ...body })
  expect(answer.status).toBe(200)
  return { webhook_id: answer.json.id as string, secret: answer.json.secret as string }
}

test('a webhook is created, listed without its secret, tested, changed and deleted', async () => {
  const { webhook_id, secret } = await create({ types: ['wallet.created'], email: 'Ops@Example.com' })
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const listed = await service.get('/webhooks')
  expect(listed.json).toMatchObject([
    { id: webhook_id, url: receiver.url, types: ['wallet.created'], email: 'ops@example.com', state: 'enabled' },
  ])
  expect(listed.text).not.toContain('whsec')

  receiver.trust(secret)
  const { delivery_id } = (await service.post('/webhooks/test', { webhook_id })).json
  const [first] = await receiver.until(1)
  expect(first).toMatchObject({ id: delivery_id, payload: { type: 'webhook.test', data: { webhook_id } } })
  // The outcome is written after the answer.
  let deliveries = await service.get('/webhooks/deliveries', { webhook_id })
  while (deliveries.json[0].state === 'waiting') deliveries = await service.get('/webhooks/deliveries', { webhook_id })
  expect(deliveries.json).toMatchObject([{ delivery_id, event_id: null, state: 'delivered', attempts: 1, status: 204 }])
  expect((await service.get('/webhooks/deliveries', { webhook_id, state: 'failed' })).json).toEqual([])
  expect((await service.post('/webhooks/replay', { webhook_id, delivery_id })).json).toEqual({ deliveries: 1 })
  expect((await receiver.until(2))[1]?.id).toBe(delivery_id)

  const rotated = await service.post('/webhooks/rotate', { webhook_id })
  expect(rotated.json.secret).toMatch(/^whsec_/)
  expect(rotated.json.secret).not.toBe(secret)
  await service.post('/webhooks/update', { webhook_id, enabled: false, types: [] })
  expect((await service.get('/webhooks')).json).toMatchObject([{ state: 'disabled', types: [] }])
  expect((await service.post('/webhooks/test', { webhook_id })).json).toMatchObject({ code: 'invalid_input' })
  expect((await service.post('/webhooks/remove', { webhook_id })).json).toEqual({ success: true })
  expect((await service.get('/webhooks')).json).toEqual([])

  const audit = await sql`select action, actor from audit where subject = ${webhook_id} order by id`
  expect(audit.map(({ action }) => action)).toEqual([
    'webhook_created',
    'webhook_replayed',
    'webhook_secret_rotated',
    'webhook_changed',
    'webhook_disabled',
    'webhook_removed',
  ])
  expect(audit.every(({ actor }) => /^api_key:/.test(actor))).toBe(true)
})

test('the receiver of docs/webhooks.md takes a message of the service, and refuses another one', async () => {
  const [, example = ''] = /^```js\n([\s\S]*?)^```$/m.exec(readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8')) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-receiver-'))
  const port = await freePort()
  const file = join(folder, 'receiver.mjs')
  writeFileSync(
    file,
    example.replace('8099', String(port)).replace("'strongroom-client'", `'${ROOT}/client/src/index.ts'`),
  )
  const { webhook_id, secret } = await create({ url: `http://127.0.0.1:${port}/` })
  const started = Bun.spawn(['bun', '--no-env-file', file], {
    env: { PATH: process.env.PATH ?? '', WEBHOOK_SECRET: secret },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  try {
    await until(
      async () => (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' }).catch(() => null))?.status === 400,
    )
    const { delivery_id } = (await service.post('/webhooks/test', { webhook_id })).json
    const { value } = await started.stdout.getReader().read()
    expect(new TextDecoder().decode(value)).toBe(`${delivery_id} webhook.test\n`)
  } finally {
    started.kill()
    await started.exited
    rmSync(folder, { recursive: true })
  }
})

test('a webhook gets the events of a wallet in order unless it is told otherwise', async () => {
  const { webhook_id } = await create()
  const ordered = await create({ order: 'none' })
  const orders = async () => (await service.get('/webhooks')).json.map(({ order }: { order: string }) => order)
  expect(await orders()).toEqual(['wallet', 'none'])
  await service.post('/webhooks/update', { webhook_id, order: 'none' })
  await service.post('/webhooks/update', { webhook_id: ordered.webhook_id, order: 'wallet' })
  expect(await orders()).toEqual(['none', 'wallet'])
  await service.post('/webhooks/update', { webhook_id, types: [] })
  expect(await orders()).toEqual(['none', 'wallet'])
  const [audit] =
    await sql`select action, details->>'order' as order from audit where subject = ${webhook_id} order by id desc limit 1`
  expect(audit).toEqual({ action: 'webhook_changed', order: 'none' })
  for (const order of ['', 'Wallet', 1])
    expect((await service.post('/webhooks/update', { webhook_id, order })).json).toMatchObject({
      code: 'invalid_input',
    })
})

test('an event of the service arrives', async () => {
  const { webhook_id, secret } = await create()
  receiver.trust(secret)
  const before = receiver.received.length
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const received = await receiver.until(before + 1)
  const { payload } = received[before] ?? {}
  expect(payload).toMatchObject({
    type: 'wallet.created',
    version: 1,
    data: { id: wallet.id, address: wallet.address },
  })
  await service.post('/webhooks/remove', { webhook_id })
})

test.each([
  'http://10.0.0.1/',
  'https://10.0.0.1/',
  'http://127.0.0.2/',
  'https://[::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://user:password@example.com/',
  'https://example.com/#part',
  'ftp://example.com/',
  'example.com',
  'https://2130706434/',
])('the URL %s is refused', async (url) => {
  expect((await service.post('/webhooks', { url })).json).toMatchObject({ code: 'invalid_input' })
})

test('other bad input is refused', async () => {
  for (const body of [{}, { url: receiver.url, types: ['x'] }, { url: receiver.url, email: 'x' }, { url: 1 }]) {
    expect((await service.post('/webhooks', body)).json).toMatchObject({ code: 'invalid_input' })
  }
  expect((await service.get('/webhooks')).json).toEqual([])
})

longTest('at most 20 tests of a webhook wait', async () => {
  const { webhook_id } = await create()
  receiver.answer((_, response) => response.writeHead(500).end())
  try {
    // Those that the worker has tried wait for their next try.
    const tests = await Promise.all(Array.from({ length: 25 }, () => service.post('/webhooks/test', { webhook_id })))
    const codes = tests.map(({ status, json }) => json.code ?? status)
    expect(codes.toSorted()).toEqual([...Array(20).fill(200), ...Array(5).fill('rate_limited')])
  } finally {
    receiver.answer((_, response) => response.writeHead(204).end())
  }
})

describe('who may do it', () => {
  test('a key without the scope admin only reads', async () => {
    const { webhook_id } = await create()
    const { projectId } = service.project
    const scopes = ['read', 'sign'] as const
    const key = await createApiKey(service.ctx, { projectId, name: 'x', scopes, expiresAt: null, actor: 'operator' })
    const reader = service.as({ projectId, apiKey: key.text })
    expect((await reader.get('/webhooks')).json).toHaveLength(1)
    for (const path of ['update', 'remove', 'test', 'replay', 'rotate']) {
      expect((await reader.post(`/webhooks/${path}`, { webhook_id })).json).toMatchObject({ code: 'scope_required' })
    }
    expect((await reader.post('/webhooks', { url: receiver.url })).json).toMatchObject({ code: 'scope_required' })
    await service.post('/webhooks/remove', { webhook_id })
  })

  test('another project learns nothing, and a webhook that does not exist looks the same', async () => {
    const { webhook_id } = await create()
    const other = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
    expect((await other.get('/webhooks')).json).toEqual([])
    const unknown = randomUUID()
    for (const path of ['update', 'remove', 'test', 'replay', 'rotate']) {
      const [theirs, none] = [
        await other.post(`/webhooks/${path}`, { webhook_id }),
        await other.post(`/webhooks/${path}`, { webhook_id: unknown }),
      ]
      expect([theirs.status, theirs.json]).toEqual([404, none.json])
    }
    expect((await other.get('/webhooks/deliveries', { webhook_id })).status).toBe(404)
    expect((await service.get('/webhooks')).json).toHaveLength(1)
    await service.post('/webhooks/remove', { webhook_id })
  })

  test('a project has at most 20', async () => {
    const made = []
    for (let count = 0; count < 20; count += 1) made.push(await create())
    expect((await service.post('/webhooks', { url: receiver.url })).json).toMatchObject({ code: 'invalid_input' })
    for (const { webhook_id } of made) await service.post('/webhooks/remove', { webhook_id })
  })
})
