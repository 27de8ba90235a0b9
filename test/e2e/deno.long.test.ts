// The same code and packages on Deno 2: the vault, the API, the worker, the console and a command run as Deno
// processes, from a wallet to its activity.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { platform } from 'node:process'
import { fileURLToPath } from 'node:url'
import { verifyMessage } from 'viem'
import { inviteOperator } from '../../src/operators/console/operators.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { startCollector } from '../support/collector.ts'
import { denoCommand } from '../support/deno.ts'
import { logInAt, RESOURCE_AUDIENCE, startOpenidProvider, tokensFrom } from '../support/openid-provider.ts'
import { type Service, startService } from '../support/service.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { peopleOf } from '../users/people.ts'
import { startReceiver } from '../webhooks/receiver.ts'

const network = 'Ethereum'
const PIN = '493817'
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Long enough for slow machines, which compile for a while. */
const START_MAX_MS = 60_000
const NODE_TIMEOUT_MS = 3_000

const collector = startCollector()
const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
let chain: TestChain
/** Before the node, which is asked by WebSocket. */
let proxy: TcpProxy
let service: Service
let vault: ReturnType<typeof deno>
let api: ReturnType<typeof deno>
let worker: ReturnType<typeof deno>
let operators: ReturnType<typeof deno>
let onDeno: Service
let onDenoProject: Pick<Service['project'], 'projectId' | 'apiKey'>

const deno = (file: string, variables: Record<string, string>, ...args: readonly string[]) =>
  Bun.spawn([...denoCommand(), file, ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      NO_COLOR: '1',
      ...service.variables,
      ...variables,
    },
    stdout: 'pipe',
    stderr: 'inherit',
  })

/** Reads the lines of a process until one contains the text. */
const untilSaid = async (child: ReturnType<typeof deno>, text: string): Promise<string> => {
  const decoder = new TextDecoder()
  let said = ''
  for await (const chunk of child.stdout) {
    said += decoder.decode(chunk, { stream: true })
    const line = said.split('\n').find((each) => each.includes(text))
    if (line !== undefined) return line
  }
  throw new Error(`the process ended before it said ${text}: ${said}`)
}

beforeAll(async () => {
  chain = await startChain(network)
  proxy = await startTcpProxy(chain.rpcUrl.replace('http:', 'ws:'))
  service = await startService({
    rpcUrls: { [network]: proxy.url },
    variables: { NODE_TIMEOUT_MS: String(NODE_TIMEOUT_MS), OUTGOING_ALLOWED_HOSTS: '127.0.0.1' },
  })
  const socket = `${service.variables.VAULT_SOCKET}.deno`
  vault = deno('src/main/vault.ts', {
    ...service.vaultVariables,
    VAULT_SOCKET: socket,
    VAULT_JOURNAL: `${socket}.journal`,
    LOG_LEVEL: 'info',
  })
  await untilSaid(vault, '"listening"')
  const cli = deno('src/main/cli.ts', { VAULT_SOCKET: socket }, 'project', 'create', '--name', 'On Deno', '--json')
  const { project_id: projectId, api_key: apiKey } = JSON.parse(await new Response(cli.stdout).text())
  expect(await cli.exited).toBe(0)
  api = deno('src/main/api.ts', { VAULT_SOCKET: socket, PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'info', ...tracing })
  worker = deno('src/main/worker.ts', {
    VAULT_SOCKET: '',
    IDENTITY_KEY: '',
    DATABASE_URL: service.database.workerUrl,
    LOG_LEVEL: 'info',
    ...tracing,
  })
  const { url } = JSON.parse(await untilSaid(api, '"listening"'))
  operators = deno('src/main/console.ts', {
    VAULT_SOCKET: socket,
    DATABASE_URL: service.database.consoleUrl,
    CONSOLE_PORT: '0',
    LOG_LEVEL: 'info',
  })
  onDenoProject = { projectId, apiKey }
  onDeno = { ...service, baseUrl: url, ...service.as(onDenoProject, url) }
}, START_MAX_MS)

afterAll(async () => {
  for (const child of [api, worker, operators, vault]) {
    if (child !== undefined && child.exitCode === null) child.kill('SIGKILL')
  }
  await service.close()
  await proxy.stop()
  await chain.stop()
  await collector.stop()
})

test('a wallet with a PIN signs, sends, mints, and lists its activity', async () => {
  const wallet = await onDeno.newWallet({ network, pin: PIN })
  await chain.fund(wallet.address)

  const message = 'Signed on Deno'
  const signed = await onDeno.post('/transactions/sign-message', {
    network,
    signer_wallet_address: wallet.address,
    message,
    user_pin: PIN,
  })
  expect(await verifyMessage({ address: wallet.address, message, signature: signed.json.signature })).toBe(true)

  const sent = await onDeno.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: wallet.address,
    unsigned_transaction: { to: fundedAccount(6).address, value: '12345' },
    user_pin: PIN,
  })
  expect((await onDeno.settled(sent.json.transaction_id)).json).toMatchObject({ status: 'success' })

  const collection = await chain.deploy('WizardCollection', ['On Deno', 'DENO', wallet.address])
  const minted = await onDeno.post('/nfts/mint', {
    network,
    contract_address: collection.address,
    from: wallet.address,
    recipient: wallet.address,
    uri: 'https://example.com/1.json',
    user_pin: PIN,
  })
  expect((await onDeno.settled(minted.json.transaction_id)).json).toMatchObject({ status: 'success' })

  let listed: readonly Record<string, unknown>[] = []
  for (const deadline = Date.now() + START_MAX_MS; listed.length < 2 && Date.now() < deadline; await Bun.sleep(50)) {
    listed = (await onDeno.get('/activity', { network, wallet_address: wallet.address })).json
  }
  expect(listed.length).toBeGreaterThanOrEqual(2)
}, 120_000)

test('its transactions are traced from the request into the worker, with the times of the vault', async () => {
  const named = (name: string) => collector.spans.filter((span) => span.name === name)
  await collector.until(() => named('mined').length >= 2 && named('POST /transactions/sign-and-send').length >= 1)
  const [request] = named('POST /transactions/sign-and-send')
  const ofTrace = collector.spans.filter(({ traceId }) => traceId === request?.traceId)
  const [mined] = ofTrace.filter(({ name }) => name === 'mined')
  expect(mined?.parentSpanId).toBe(request?.spanId ?? '')
  const parts = ['argon2', 'audit', 'eth_sendRawTransaction']
  expect(parts.filter((part) => !ofTrace.some(({ name }) => name === part))).toEqual([])
  expect(collector.malformed).toEqual([])
})

test('a user logs in by a mailed code, and wrong PINs and broken bodies are refused as on Bun', async () => {
  const people = peopleOf(onDeno)
  const session = await people.logIn('somebody@example.com')
  expect(await people.reach(session)).toBe(200)
  const wallet = await onDeno.newWallet({ network, pin: PIN })
  const refused = await onDeno.post('/transactions/sign-message', {
    network,
    signer_wallet_address: wallet.address,
    message: 'x',
    user_pin: '271828',
  })
  expect([refused.status, refused.json.code]).toEqual([403, 'INVALID_SECRET'])
  for (const ask of [
    (on: Service) => on.call('/transactions/sign-message', { rawBody: '{"network":' }),
    (on: Service) => on.call('/nowhere'),
    (on: Service) => on.call('/users/login-with-email', { rawBody: `{"email":"${'a'.repeat(20_000)}"}` }),
  ]) {
    const [there, here] = [await ask(onDeno), await ask(service)]
    expect([there.status, there.json]).toEqual([here.status, here.json])
  }
})

test('a user logs in at an identity provider of the project, and calls with its token', async () => {
  const provider = await startOpenidProvider()
  const { projectId } = onDenoProject
  const callback = `http://localhost:3000/login/oidc/callback/${projectId}/acme`
  await provider.serve([{ id: 'strongroom', secret: null, callback }])
  const variables = { VAULT_SOCKET: '' }
  const facts = ['acme', provider.issuer, '--audience', RESOURCE_AUDIENCE, '--client-id', 'strongroom']
  const added = deno('src/main/cli.ts', variables, 'project', 'issuers', 'add', projectId, ...facts)
  expect(await added.exited).toBe(0)

  const verifier = 'the-secret-of-the-page-43-characters-or-more'
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  const page = { origin: 'http://localhost:3000', authorization: undefined }
  const begun = await onDeno.post('/login/issuer', { issuer: 'acme', code_challenge }, page)
  const back = await logInAt({ from: begun.json.url, callback, name: 'ada' })
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const ended = await fetch(`${onDeno.baseUrl}${back.pathname}${back.search}`, {
    headers: { cookie },
    redirect: 'manual',
  })
  const code = new URLSearchParams(ended.headers.get('location')?.split('#')[1]).get('issuer_code')
  const proof = { session_challenge_code: code, code_verifier: verifier }
  const session = (await onDeno.post('/users/verify-login', proof, { authorization: undefined })).json
  expect(await peopleOf(onDeno).reach(session)).toBe(200)

  const { access_token } = await tokensFrom(provider, { clientId: 'strongroom', callback, name: 'ada' })
  const headers = { authorization: `Bearer ${access_token}`, 'x-walletkit-token-source': 'acme' }
  const wallet = { network, name: 'Mine', control_mode: 'user', user_pin: PIN }
  expect((await onDeno.post('/wallets', wallet, headers)).json).toMatchObject({ owner_id: session.user_id })
  await provider.close()
})

test('an event is sent to a webhook, signed, and what is refused is shown', async () => {
  const receiver = await startReceiver()
  const { json } = await onDeno.post('/webhooks', { url: receiver.url, types: ['wallet.created'] })
  receiver.trust(json.secret)
  await onDeno.newWallet({ network })
  expect(await receiver.until(1)).toMatchObject([{ signatures: 1, payload: { type: 'wallet.created' } }])
  receiver.answer((_, response) => response.writeHead(500).end('busy'))
  await onDeno.newWallet({ network })
  await receiver.until(2)
  let [last] = (await onDeno.get('/webhooks/deliveries', { webhook_id: json.id })).json
  while (last.attempts === 0) [last] = (await onDeno.get('/webhooks/deliveries', { webhook_id: json.id })).json
  expect(last).toMatchObject({ state: 'waiting', status: 500, failure: 'status', excerpt: 'busy' })
  expect(receiver.refused).toEqual([])
  await receiver.close()
  await onDeno.post('/webhooks/remove', { webhook_id: json.id })
})

test('when a connection to a node hangs, a new one is opened, and API and worker continue', async () => {
  const wallet = await onDeno.newWallet({ network, pin: PIN })
  await chain.fund(wallet.address)
  const send = () =>
    onDeno.post('/transactions/sign-and-send', {
      network,
      signer_wallet_address: wallet.address,
      unsigned_transaction: { to: fundedAccount(6).address, value: '12345' },
      user_pin: PIN,
    })
  proxy.freeze()
  expect((await send()).json).toMatchObject({ code: 'node_unavailable' })
  await untilSaid(worker, 'a step of a follower failed')
  proxy.thaw()
  let sent = await send()
  for (const deadline = Date.now() + START_MAX_MS; sent.status === 503 && Date.now() < deadline; await Bun.sleep(100)) {
    sent = await send()
  }
  expect((await onDeno.settled(sent.json.transaction_id)).json).toMatchObject({ status: 'success' })
}, 120_000)

test('the login page has its script', async () => {
  const script = await onDeno.call('/login/client.js')
  expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
  expect(script.text.length).toBeGreaterThan(10_000)
})

test('an operator logs in at the console by a link, and sees the wallets', async () => {
  const { origin } = JSON.parse(await untilSaid(operators, '"listening"'))
  const secret = await inviteOperator(service.ctx, { name: 'dan', role: 'viewer', actor: 'operator' })
  const entered = await fetch(`${origin}/link`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ secret }).toString(),
  })
  expect(entered.status).toBe(303)
  const cookie = entered.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  for (const path of ['/', '/wallets', '/transactions', '/policies', '/nodes', '/console.js', '/pages/console.css']) {
    const answer = await fetch(`${origin}${path}`, { headers: { cookie } })
    expect([path, answer.status]).toEqual([path, 200])
  }
  const wallets = await (
    await fetch(`${origin}/wallets?project=${service.project.projectId}`, { headers: { cookie } })
  ).text()
  expect(wallets).toContain('Project wallet')
})

test('commands examine the installation and what the chains have after a restore, as they do on Bun', async () => {
  const variables = { ...service.variables, VAULT_SOCKET: `${service.variables.VAULT_SOCKET}.deno` }
  const onBoth = async (...args: readonly string[]) => {
    const child = deno('src/main/cli.ts', variables, ...args)
    const [output, exitCode] = [await new Response(child.stdout).text(), await child.exited]
    const here = await runCli(args, variables)
    return [
      { exitCode, json: JSON.parse(output) },
      { exitCode: here.exitCode, json: JSON.parse(here.output) },
    ] as const
  }
  const [there, here] = await onBoth('doctor', '--json')
  const states = (findings: readonly { readonly check: string; readonly state: string }[]) =>
    findings.map(({ check, state }) => `${check} ${state}`)
  expect(states(there.json)).toEqual(states(here.json))
  expect(states(there.json)).toContain('database schema ok')
  const [checkedThere, checkedHere] = await onBoth('restore', 'check', '--json')
  expect(checkedThere).toEqual(checkedHere)
  expect(checkedThere).toMatchObject({ exitCode: 0, json: { unknown: [] } })
})

test.if(platform === 'linux')('no process can leave a core dump', () => {
  for (const { pid } of [vault, api, worker, operators]) {
    expect(readFileSync(`/proc/${pid}/limits`, 'utf8')).toMatch(/^Max core file size +0 +0 /m)
  }
})

test('SIGTERM ends each with exit code 0', async () => {
  for (const child of [api, worker, operators, vault]) {
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  }
}, 30_000)
