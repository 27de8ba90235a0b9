// A request's trace, from the client's own span to the mined transaction: an API, a vault and a worker as processes of
// their own, a chain, and a collector that checks what it gets.

import { expect, test } from 'bun:test'
import { parseEther } from 'viem'
import { startApiProcess } from '../support/api.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { type CollectedSpan, startCollector } from '../support/collector.ts'
import { isLong, longTest } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startVaultProcess } from '../support/vault.ts'

const network = 'Polygon'
const PIN = '493817'
const CLIENT = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const TOKEN = 'Bearer of-the-collector'
const SERVER = 2
/** More than a devnet has before it takes a block for final. */
const FINAL_AFTER_BLOCKS = 300
const NODE_KEY = 'key-of-the-provider'

const collector = startCollector()

afterTests(() => collector.stop())
const chain = await shared(startChain(network))
const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encodeURIComponent(TOKEN)}`,
  OTEL_RESOURCE_ATTRIBUTES: 'host.name=here',
}
const service = await shared(startService({ rpcUrls: { [network]: `${chain.rpcUrl}?key=${NODE_KEY}` } }))
const socket = `${service.variables.VAULT_SOCKET}.own`
await shared(startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET: socket }))
const api = await shared(
  startApiProcess({ ...service.variables, ...tracing, VAULT_SOCKET: socket, ACCESS_LOG: 'true' }),
)
service.startWorker(tracing)
const client = { ...service, ...service.as(service.project, api.url) }

const ofTrace = (traceId: string) => collector.spans.filter((span) => span.traceId === traceId)

const CREDENTIAL = { user_pin: PIN }

const submit = async (headers: Record<string, string>) => {
  const wallet = await client.newWallet({ network, pin: PIN })
  await chain.fund(wallet.address)
  const body = {
    network,
    signer_wallet_address: wallet.address,
    unsigned_transaction: { to: fundedAccount(6).address, value: parseEther('1').toString() },
    ...CREDENTIAL,
  }
  const sent = await client.post('/transactions/sign-and-send', body, headers)
  expect(sent.status).toBe(200)
  return { wallet, sent }
}

const send = async (headers: Record<string, string>) => {
  const { wallet, sent } = await submit(headers)
  return { wallet, sent, settled: await client.settled(sent.json.transaction_id) }
}

/** The chain of its parents, by name, up to the root. */
const wayOf = (span: CollectedSpan): readonly string[] => {
  const parent = ofTrace(span.traceId).find(({ spanId }) => spanId === span.parentSpanId)
  return [`${span.service} ${span.name}`, ...(parent === undefined ? [] : wayOf(parent))]
}

test('a request, the vault, the nodes, the broadcast and the block are one trace', async () => {
  const { traceId } = CLIENT
  const { sent, settled, wallet } = await send({
    traceparent: `00-${traceId}-${CLIENT.spanId}-01`,
    'x-request-id': 'shop/order-4711',
  })
  expect(settled.json.status).toBe('success')
  if (isLong) await chain.mine(FINAL_AFTER_BLOCKS)
  const stages = isLong ? ['mined', 'confirmed', 'final'] : ['mined', 'confirmed']
  await collector.until(() => ofTrace(traceId).some(({ name }) => name === stages.at(-1)))
  await collector.until(() => ofTrace(traceId).some(({ kind }) => kind === SERVER))
  const spans = ofTrace(traceId)
  const named = (name: string) => spans.filter((span) => span.name === name)

  const route = 'POST /transactions/sign-and-send'
  const [request] = named(route)
  expect(request?.parentSpanId).toBe(CLIENT.spanId)
  expect(request?.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/transactions/sign-and-send',
    'http.response.status_code': '200',
    'strongroom.request_id': 'shop/order-4711',
    'strongroom.project_id': service.project.projectId,
  })
  expect(sent.headers.get('x-request-id')).toBe('shop/order-4711')
  // Each of the others hangs below it.
  for (const span of spans) expect(wayOf(span).at(-1)).toBe(`strongroom-api ${route}`)

  const ways = spans.map((span) => wayOf(span).join(' < '))
  const top = `strongroom-api ${route}`
  expect(ways).toContain(
    `strongroom-vault argon2 < strongroom-vault strongroom.Vault/openKey < strongroom-api strongroom.Vault/openKey < ${top}`,
  )
  expect(ways).toContain(
    `strongroom-vault audit < strongroom-vault strongroom.Vault/sign < strongroom-api strongroom.Vault/sign < ${top}`,
  )
  expect(ways).toContain(`strongroom-worker eth_sendRawTransaction < strongroom-worker broadcast < ${top}`)
  for (const name of stages) expect(ways).toContain(`strongroom-worker ${name} < ${top}`)

  const nodeCalls = spans.filter(({ attributes }) => attributes['rpc.system'] === 'jsonrpc')
  expect(nodeCalls.filter(({ service: of }) => of === 'strongroom-api').length).toBeGreaterThan(0)
  for (const { attributes } of nodeCalls) {
    expect(attributes).toMatchObject({ 'strongroom.network': network, 'strongroom.node': '1 (127.0.0.1)' })
  }
  expect(named('mined')[0]?.attributes['strongroom.transaction.id']).toBe(sent.json.transaction_id)

  // What the vault says of itself lies within the call.
  const [call, run] = ['strongroom-api', 'strongroom-vault'].map((of) =>
    spans.find((span) => span.service === of && span.name === 'strongroom.Vault/openKey'),
  )
  expect(BigInt(run?.startTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(BigInt(call?.startTimeUnixNano ?? 0))
  expect(BigInt(run?.endTimeUnixNano ?? 0)).toBeLessThanOrEqual(BigInt(call?.endTimeUnixNano ?? 0))

  const said = collector.bodies.join('\n')
  const secrets = [PIN, NODE_KEY, service.project.apiKey, wallet.address, fundedAccount(6).address]
  expect(secrets.filter((secret) => said.toLowerCase().includes(secret.toLowerCase()))).toEqual([])
  expect(collector.malformed).toEqual([])
  expect(collector.headers.every((headers) => headers.get('authorization') === TOKEN)).toBe(true)
  expect(request?.resource).toMatchObject({ 'host.name': 'here', 'deployment.environment.name': 'testnet' })
})

longTest('a speed-up is a part of the trace of the transaction, with a link to its own', async () => {
  const [first, second] = ['1af7651916cd43dd8448eb211c80319c', '2af7651916cd43dd8448eb211c80319c']
  const headersOf = (traceId: string) => ({ traceparent: `00-${traceId}-${CLIENT.spanId}-01` })
  await chain.setAutomine(false)
  const { sent } = await submit(headersOf(first))
  const { transaction_id: id } = sent.json
  const again = await client.post('/transactions/speed-up', { transaction_id: id, ...CREDENTIAL }, headersOf(second))
  expect(again.status).toBe(200)
  await chain.setAutomine(true)
  await chain.mine()
  expect((await client.settled(id)).json.status).toBe('success')
  const hasRequest = (traceId: string) => ofTrace(traceId).some(({ kind }) => kind === SERVER)
  const raised = () => ofTrace(first).find(({ name }) => name === 'fee raised')
  await collector.until(() => raised() !== undefined && hasRequest(first) && hasRequest(second))
  const links = raised()?.links ?? []
  expect(raised()?.attributes['strongroom.transaction.id']).toBe(id)
  expect([raised()].flatMap((span) => (span === undefined ? [] : wayOf(span))).at(-1)).toBe(
    'strongroom-api POST /transactions/sign-and-send',
  )
  const causes = ofTrace(second).filter(({ spanId }) => links.some((link) => link.spanId === spanId))
  expect(links.map(({ traceId }) => traceId)).toEqual([second])
  expect(causes.map((cause) => wayOf(cause).at(-1))).toEqual(['strongroom-api POST /transactions/speed-up'])
  expect(collector.malformed).toEqual([])
})

longTest('a malformed traceparent begins another trace, and an unsampled one none', async () => {
  const malformed = {
    traceparent: '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    'x-request-id': 'malformed',
  }
  await client.call('/wallets?network=Polygon', { headers: malformed })
  const unsampled = '0af7651916cd43dd8448eb211c80ffff'
  await client.call('/wallets?network=Polygon', { headers: { traceparent: `00-${unsampled}-b7ad6b7169203331-00` } })
  await client.call('/wallets?network=Polygon', { headers: { 'x-request-id': 'last' } })
  const of = (id: string) => collector.spans.find(({ attributes }) => attributes['strongroom.request_id'] === id)
  await collector.until(() => of('last') !== undefined)
  expect(of('malformed')?.parentSpanId).toBeUndefined()
  expect(of('malformed')?.traceId).toMatch(/^[0-9a-f]{32}$/)
  expect(ofTrace(unsampled)).toEqual([])
})

longTest('a refusal by the vault is an error of its call, and not of the request', async () => {
  const wallet = await client.newWallet({ network, pin: PIN })
  const body = { network, signer_wallet_address: wallet.address, message: 'no', user_pin: '000001' }
  const refused = await client.post('/transactions/sign-message', body, { 'x-request-id': 'wrong-pin' })
  expect(refused.status).toBe(403)
  const request = () => collector.spans.find(({ attributes }) => attributes['strongroom.request_id'] === 'wrong-pin')
  await collector.until(() => request() !== undefined)
  const spans = ofTrace(request()?.traceId ?? '')
  const call = spans.find(({ service: of, name }) => of === 'strongroom-api' && name === 'strongroom.Vault/signMessage')
  expect(call?.status).toEqual({ code: 2 })
  expect(call?.attributes['error.type']).toBe('INVALID_SECRET')
  expect(request()?.status).toEqual({})
  expect(spans.some(({ name }) => name === 'argon2')).toBe(true)
})

test('the access log has a line for each request, with its trace', async () => {
  await client.call('/wallets?network=Polygon', { headers: { 'x-request-id': 'logged' } })
  await client.call('/nowhere/secret-of-a-path?code=secret-of-a-query', { headers: { 'x-request-id': 'nowhere' } })
  const isThere = () => api.output().includes('"requestId":"nowhere"')
  while (!isThere()) await Bun.sleep(5)
  const lines = api
    .output()
    .split('\n')
    .flatMap((line) => (line.includes('"msg":"request"') ? [JSON.parse(line)] : []))
  const [logged, nowhere] = ['logged', 'nowhere'].map((id) => lines.filter(({ requestId }) => requestId === id))
  expect(logged).toEqual([
    {
      level: 30,
      time: expect.any(String),
      process: 'api',
      pid: expect.any(Number),
      method: 'GET',
      route: '/wallets',
      status: 200,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      requestId: 'logged',
      projectId: service.project.projectId,
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      msg: 'request',
    },
  ])
  expect(nowhere).toMatchObject([{ route: 'other', status: 404 }])
  expect(api.output()).not.toContain('secret-of-a')
})
