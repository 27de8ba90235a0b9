// The client against the real service, and against a network that loses answers.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { encodeAbiParameters, encodeFunctionData, type Hex, keccak256, zeroHash } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { delay } from '../../client/src/answer.ts'
import { createBatches } from '../../client/src/batches.ts'
import { type Client, createClient } from '../../client/src/client.ts'
import { createProvider } from '../../client/src/eip1193.ts'
import { ApprovalRequiredError, StrongroomError, TransactionFailedError } from '../../client/src/errors.ts'
import type { EventOf } from '../../client/src/events.ts'
import type { EvmWallet } from '../../client/src/evm-wallet.ts'
import { ProviderError } from '../../client/src/provider-error.ts'
import { createSender } from '../../client/src/send.ts'
import { createTokens } from '../../client/src/tokens.ts'
import { createProject } from '../../src/operators/projects.ts'
import { newApprover } from '../approvals/approver.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { LOSS_NAMES, type Loss, type LossyGateway, startLossyGateway } from '../support/lossy-gateway.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const secret = { developer_secret: 'testnet-secret' }
const RECIPIENT = fundedAccount(5).address

/** In the suite one page of a gateway, and those that differ from it in what the client does or says. */
const SHORT: readonly Loss[] = [
  'nginx 502',
  'AWS API Gateway 429',
  'a 500 of the service',
  'a broken connection',
  'half of the answer',
]
const LOSSES = isLong ? LOSS_NAMES : SHORT
/** For what takes long: the suite tries a page and a broken answer. */
const FEW: readonly Loss[] = isLong ? LOSS_NAMES : ['nginx 502', 'half of the answer']
/** How often in a row an answer is lost that is asked for again. The client pauses longer each time. */
const TIMES_LOST = isLong ? 2 : 1
/** For the dearest calls. */
const ONE: readonly Loss[] = isLong ? LOSS_NAMES : ['half of the answer']

let chain: TestChain
let service: Service
let worker: WorkerHere

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  worker = await startWorkerHere(service)
})
afterAll(async () => {
  await worker.stop()
  await service.close()
  await chain.stop()
})

type Sent = { readonly url: string; readonly headers: Headers }

/** A client whose requests pass through a hand, which can lose or replace answers. */
const clientThrough = (
  hand: (passOn: () => Promise<Response>, count: number) => Promise<Response> = (passOn) => passOn(),
  bearer: { apiKey: string | (() => Promise<string>) } | { accessToken: string } = { apiKey: service.project.apiKey },
) => {
  const sent: Sent[] = []
  const passing = (input: string, init: RequestInit) => {
    sent.push({ url: input, headers: new Headers(init.headers) })
    return hand(() => fetch(input, init), sent.length)
  }
  const { projectId } = service.project
  return { client: createClient({ baseUrl: service.baseUrl, projectId, fetch: passing, ...bearer }), sent }
}

const errorOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no error',
    (error: unknown) => error,
  )

const newWallet = async () => {
  const wallet = await clientThrough().client.wallets.create({
    network,
    name: 'A',
    control_mode: 'developer',
    ...secret,
  })
  await chain.fund(`0x${wallet.address.slice(2)}`)
  return wallet
}
const payment = (signer: string, transaction: { to?: string; value?: string; input?: string } = {}) => ({
  ...{ network, signer_wallet_address: signer, ...secret },
  unsigned_transaction: { to: RECIPIENT, value: '7', ...transaction },
})

describe('a call', () => {
  test('has its input in path, query or body, and answers as the document says', async () => {
    const { client } = clientThrough()
    const wallet = await newWallet()
    expect(await client.wallets.getByAddress({ network, address: wallet.address })).toEqual(wallet)
    const ours = await client.wallets.list({ network, page_size: '100' })
    expect(ours.map(({ id }) => id)).toContain(wallet.id)
    expect((await errorOf(client.metadata.get({ file: '../wallets' }))) instanceof StrongroomError).toBe(true)
    expect((await client.healthz()).status).toBe('ok')
    expect((await client.jwks.get()).keys).toBeArray()
  })

  test('that is refused throws an error with the code, the status and the id of the request', async () => {
    const error = await errorOf(clientThrough().client.wallets.getById({ network, id: crypto.randomUUID() }))
    if (!(error instanceof StrongroomError)) throw error
    expect([error.code, error.status]).toEqual(['not_found', 404])
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/)
    expect(error.message.length).toBeGreaterThan(10)
  })

  test('has the token of its time', async () => {
    const asked: string[] = []
    const apiKey = async () => {
      asked.push('once')
      return service.project.apiKey
    }
    const { client } = clientThrough(undefined, { apiKey })
    await client.wallets.list({ network })
    await client.wallets.list({ network })
    expect(asked).toEqual(['once', 'once'])
    const stranger = clientThrough(undefined, { accessToken: 'no token' }).client
    expect(await errorOf(stranger.wallets.list({ network }))).toMatchObject({ code: 'unauthorized', status: 401 })
  })

  test('ends when its signal is aborted, with the reason', async () => {
    const controller = new AbortController()
    const { client } = clientThrough(async () => {
      controller.abort(new Error('the page was left'))
      throw new TypeError('aborted')
    })
    const error = await errorOf(client.wallets.list({ network }, { signal: controller.signal }))
    expect(String(error)).toBe('Error: the page was left')
  })
})

describe('an answer that is lost', () => {
  const losing = () =>
    clientThrough(async (passOn, count) => {
      const answer = await passOn()
      if (count > 1) return answer
      await answer.text()
      throw new TypeError('the connection was reset')
    })

  test('of a signature, which has no key, is not asked for again', async () => {
    const wallet = await newWallet()
    const { client, sent } = losing()
    const error = await errorOf(
      client.transactions.signMessage({ network, signer_wallet_address: wallet.address, message: 'x', ...secret }),
    )
    const message = `The service at ${service.baseUrl} did not answer.`
    expect(error).toMatchObject({ code: 'connection_failed', message, cause: expect.any(TypeError) })
    expect(sent.length).toBe(1)
  })
})

/** A gateway of its own for each loss, so that all of them can be tried at a time. */
describe('an answer that is not of the service', () => {
  const gateways = new Map<Loss, LossyGateway>()
  beforeAll(async () => {
    for (const loss of LOSSES) gateways.set(loss, await startLossyGateway(service.baseUrl))
  })
  afterAll(() => Promise.all([...gateways.values()].map((gateway) => gateway.stop())))

  /** Tries the losses at a time. @returns what came of each */
  const forEachLoss = async <Outcome>(
    look: (through: { loss: Loss; gateway: LossyGateway; client: Client }) => Promise<Outcome>,
    losses = LOSSES,
  ): Promise<Record<string, Outcome>> =>
    Object.fromEntries(
      await Promise.all(
        losses.map(async (loss) => {
          const gateway = gateways.get(loss)
          if (gateway === undefined) throw new Error(`no gateway has ${loss}`)
          gateway.reset()
          const client = createClient({ baseUrl: gateway.url, ...bearer() })
          return [loss, await look({ loss, gateway, client })] as const
        }),
      ),
    )
  const bearer = () => ({ projectId: service.project.projectId, apiKey: service.project.apiKey })
  const always = <Outcome>(outcome: Outcome, losses = LOSSES) =>
    Object.fromEntries(losses.map((loss) => [loss, outcome]))
  const pay = (to: string) => ({ to, value: '0x3e8' })
  const newAddress = () => privateKeyToAddress(generatePrivateKey())
  const balanceOf = (address: Hex) => chain.publicClient.getBalance({ address })

  test('is asked for again by a call that reads', async () => {
    const wallet = await newWallet()
    const { unsigned_transaction } = payment(wallet.address)
    const preview = { network, from: wallet.address, unsigned_transaction }
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      for (const path of ['/wallets', '/transactions/preview']) gateway.lose({ loss, path })
      const [wallets, previewed] = await Promise.all([
        client.wallets.list({ network, page_size: '100' }),
        client.transactions.preview(preview),
      ])
      return [wallets.some(({ id }) => id === wallet.id), previewed.network, gateway.count('/')]
    }, ONE)
    expect(seen).toEqual(always([true, network, 4], ONE))
  })

  test('is asked for again with the same key by a call that has one, and nothing is done twice', async () => {
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      gateway.lose({ loss, path: '/wallets', times: TIMES_LOST })
      const owner_id = crypto.randomUUID()
      const made = await client.wallets.create({ network, name: 'A', owner_id, control_mode: 'developer', ...secret })
      return (await client.wallets.getByOwnerId({ network, ownerID: owner_id })).id === made.id
    }, FEW)
    expect(seen).toEqual(always(true, FEW))
  })

  test('is not asked for again by a signature, unless the gateway has too many requests', async () => {
    const wallet = await newWallet()
    const message = { network, signer_wallet_address: wallet.address, message: 'x', ...secret }
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      gateway.lose({ loss, path: '/transactions/sign-message' })
      const error = await errorOf(client.transactions.signMessage(message))
      return [error instanceof StrongroomError ? error.code : error, gateway.count('/')]
    })
    expect(seen).toEqual({
      ...always(['answer_unreadable', 1]),
      'AWS API Gateway 429': ['no error', 2],
      'a 500 of the service': ['internal', 1],
      'a broken connection': ['connection_failed', 1],
      'half of the answer': ['connection_failed', 1],
    })
  })

  longTest('does not end a wait for a transaction, which says what interrupts it', async () => {
    const wallet = await newWallet()
    const sent = await clientThrough().client.transactions.signAndSend(payment(wallet.address))
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      // More often than a call is sent again.
      gateway.lose({ loss, path: '/transactions/status-by-id', times: 4 })
      const interruptions: string[] = []
      const onInterruption = ({ code }: StrongroomError) => void interruptions.push(code)
      const { status } = await client.waitFor(sent, { onInterruption })
      return [status, interruptions.length]
    })
    expect(seen).toEqual(always(['success', 1]))
  })

  longTest('ends a wait only at its own deadline', async () => {
    const wallet = await newWallet()
    const sent = await clientThrough().client.transactions.signAndSend(payment(wallet.address))
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      gateway.lose({ loss, path: '/transactions/status-by-id', times: Number.POSITIVE_INFINITY })
      const error = await errorOf(client.waitFor(sent, { timeoutMs: 1_000 }))
      return error instanceof StrongroomError && error.code
    })
    expect(seen).toEqual(always('wait_timed_out'))
  })

  longTest('does not end the events', async () => {
    const { next } = await clientThrough().client.events.list()
    const { id } = await newWallet()
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      gateway.lose({ loss, path: '/events', times: 2 })
      for await (const event of client.events({ after: next, types: ['wallet.created'] })) return event.data.id
      return null
    })
    expect(seen).toEqual(always(id))
  })

  /** The tokens of a user who has just logged in. */
  const logIn = async ({ gateway, repeatMs = 5_000 }: { gateway: LossyGateway; repeatMs?: number }) => {
    const visitor = createClient({ baseUrl: service.baseUrl, projectId: service.project.projectId })
    const ends: string[] = []
    const tokens = createTokens({
      baseUrl: gateway.url,
      projectId: service.project.projectId,
      name: () => gateway.url,
      keep: 'page',
      repeatMs,
      onUser: () => {},
      onEnd: ({ code }) => void ends.push(code),
    })
    const verifier = 'the-secret-of-the-app-43-characters-or-more'
    const code_challenge = createHash('sha256').update(verifier).digest('base64url')
    const { code } = await visitor.users.createSessionChallenge({ code_challenge, code_challenge_method: 'S256' })
    const login = await visitor.users.loginAnonymously()
    const user = { baseUrl: service.baseUrl, projectId: service.project.projectId, accessToken: login.access_token }
    await createClient(user).users.completeSessionChallenge({ code })
    await tokens.begin({ session_challenge_code: code, code_verifier: verifier })
    return { tokens, ends }
  }

  longTest('sends a refresh token again only while the service knows the answer, also after 429', async () => {
    const [gateway] = [...gateways].flatMap(([loss, each]) => (loss === 'AWS API Gateway 429' ? [each] : []))
    if (gateway === undefined) throw new Error('no gateway answers 429')
    gateway.reset()
    const { tokens } = await logIn({ gateway, repeatMs: 100 })
    gateway.lose({ loss: 'AWS API Gateway 429', path: '/users/refresh-token', times: Number.POSITIVE_INFINITY })
    expect(await errorOf(tokens.restore())).toMatchObject({ status: 429 })
    // At once, and at the end of this time, if the first answer came within it: without this time a client asks three
    // times.
    expect(gateway.count('/users/refresh-token')).toBeWithin(1, 3)
  })

  test('does not end the session of a user, whose refresh token is sent again', async () => {
    const seen = await forEachLoss(async ({ loss, gateway }) => {
      const { tokens, ends } = await logIn({ gateway })
      // A gateway that refuses a call says nothing of the token.
      gateway.lose({ loss, path: '/users/sessions' })
      const own = { baseUrl: gateway.url, projectId: service.project.projectId, accessToken: tokens.token }
      await createClient({ ...own, fetch: tokens.fetchAsUser }).users.sessions()
      const refreshes = gateway.count('/users/refresh-token')
      gateway.lose({ loss, path: '/users/refresh-token', times: TIMES_LOST })
      return [refreshes, await tokens.restore(), await tokens.restore(), ends]
    }, ONE)
    expect(seen).toEqual(always([0, true, true, []], ONE))
  })

  const sending = async ({ client, gateway }: { client: Client; gateway: LossyGateway }) => {
    const { address } = await newWallet()
    const wallet: EvmWallet = { client, network, address, credential: secret }
    const to = newAddress()
    return { wallet, to, isPaidOnce: async () => (await balanceOf(to)) === 1_000n, gateway }
  }

  longTest('does not keep a dapp from its hash, and it pays once', async () => {
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      const { wallet, to, isPaidOnce } = await sending({ client, gateway })
      for (const path of ['/transactions/sign-and-send', '/transactions/status-by-id'])
        gateway.lose({ loss, path, times: 4 })
      const chains = { [chain.chainId]: { network, rpcUrl: chain.rpcUrl } }
      const provider = createProvider({ ...wallet, chains })
      const hash = await provider.request({ method: 'eth_sendTransaction', params: [pay(to)] })
      await chain.receiptOf(`0x${String(hash).slice(2)}`)
      return isPaidOnce()
    })
    expect(seen).toEqual(always(true))
  })

  longTest('does not send the calls of a batch twice', async () => {
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      const { wallet, to, isPaidOnce } = await sending({ client, gateway })
      gateway.lose({ loss, path: '/transactions/sign-and-send', times: 4 })
      const chains = { [chain.chainId]: { network, rpcUrl: chain.rpcUrl } }
      const chainId = `0x${chain.chainId.toString(16)}`
      const batch = { version: '2.0.0', chainId, atomicRequired: false, calls: [pay(to)] }
      await createProvider({ ...wallet, chains }).request({ method: 'wallet_sendCalls', params: [batch] })
      return until(isPaidOnce)
    })
    expect(seen).toEqual(always(true))
  })

  longTest('for too long to a batch without an id is asked for again by the same calls, and it pays once', async () => {
    const seen = await forEachLoss(async ({ loss, gateway, client }) => {
      const { wallet, to, isPaidOnce } = await sending({ client, gateway })
      const path = '/transactions/sign-and-send'
      gateway.lose({ loss, path, times: Number.POSITIVE_INFINITY })
      const { chainId: id } = chain
      const own = { address: wallet.address, own: () => {}, walletOn: () => wallet, receipt: async () => null }
      const { send } = createBatches({ ...own, chainIds: [id], type: 'eoa', sendMs: 100 })
      const batch = { version: '2.0.0', chainId: id, atomicRequired: false, calls: [pay(to), pay(RECIPIENT)] }
      await errorOf(send(batch))
      gateway.heal()
      // Pressed again and again, until there is an id.
      const again = () => send(batch).catch(() => null)
      const sent = await until(again, (answer) => answer !== null)
      await until(isPaidOnce)
      const [, first = ''] = /:([^,]+)/.exec(sent?.id ?? '') ?? []
      await client.waitFor(first)
      const all = await client.transactions.list({ network, wallet_address: wallet.address })
      return [all.length, await isPaidOnce()]
    })
    expect(seen).toEqual(always([2, true]))
  })

  const LATE = [
    ['/transactions/sign-and-send', 'idempotency_key'],
    ['/transactions/status-by-id', 'transaction_id'],
  ] as const

  test.each(someOf(LATE, 2))(
    'for too long at %s names the transaction by its %s, and asked again it pays once',
    async (path, fact) => {
      const seen = await forEachLoss(async ({ loss, gateway, client }) => {
        const { wallet, to, isPaidOnce } = await sending({ client, gateway })
        gateway.lose({ loss, path, times: Number.POSITIVE_INFINITY })
        const send = createSender({ sendMs: 100, waitMs: 100 })
        const error = await errorOf(send(wallet, pay(to)))
        gateway.heal()
        // Pressed again and again, until there is a hash.
        const press = (gas?: bigint) => send(wallet, { ...pay(to), gas }).catch(() => null)
        await until(
          // As a library may that estimates it each time.
          () => press(30_000n),
          (hash) => hash !== null,
        )
        await until(isPaidOnce)
        const named = error instanceof ProviderError ? Object.keys(Object(error.data)) : error
        // Told that it was sent, the dapp may mean a second payment.
        await until(
          () => press(),
          (hash) => hash !== null,
        )
        await until(async () => (await balanceOf(to)) === 2_000n)
        return named
      }, ONE)
      expect(seen).toEqual(always(['code', fact], ONE))
    },
  )
})

longTest('an answer that is lost for a later call of a batch leaves none out, and each pays once', async () => {
  const { address } = await newWallet()
  let isAway = true
  const { client } = clientThrough(async (passOn, count) => {
    const answer = await passOn()
    if (count === 1 || !isAway) return answer
    await answer.text()
    throw new TypeError('the connection was reset')
  })
  const walletOn = () => ({ client, network, address, credential: secret })
  const own = { address, own: () => {}, walletOn, receipt: async () => null, sendMs: 100 }
  const { send } = createBatches({ ...own, chainIds: [chain.chainId], type: 'eoa' })
  const calls = [RECIPIENT, RECIPIENT].map((to, index) => ({ to, value: `0x${index + 1}` }))
  const batch = { version: '2.0.0', chainId: chain.chainId, atomicRequired: false, calls }
  // Whether the second call was sent is not known, so a status without it could be wrong.
  expect(await errorOf(send(batch))).toMatchObject({ code: 'connection_failed' })
  isAway = false
  const { id } = await send(batch)
  const sent = await client.transactions.list({ network, wallet_address: address })
  expect(sent.map(({ transaction_id }) => transaction_id).sort()).toEqual(id.split(':')[1]?.split(',').sort() ?? [])
  expect(sent.length).toBe(2)
})

test('a pause that is longer than a timer knows is not over at once', async () => {
  const controller = new AbortController()
  const pause = errorOf(delay(2 ** 31, controller.signal))
  await Bun.sleep(20)
  controller.abort(new Error('the end of the test'))
  expect(String(await pause)).toBe('Error: the end of the test')
})

test("a node's answer that is lost has a code of JSON-RPC and a sentence in a provider", async () => {
  const gateway = await startLossyGateway(chain.rpcUrl)
  try {
    const { client } = clientThrough()
    const providerAt = (rpcUrl: string) =>
      createProvider({ client, address: RECIPIENT, credential: secret, chains: { 1: { network, rpcUrl } } })
    const request = { method: 'eth_blockNumber', params: [] }
    for (const loss of LOSSES) {
      gateway.lose({ loss, path: '/' })
      const error = await errorOf(providerAt(gateway.url).request(request))
      expect({ loss, error }).toMatchObject({
        loss,
        error: { code: -32603, message: expect.stringMatching(/^The node (did not )?answer/) },
      })
    }
    expect(await providerAt(gateway.url).request(request)).toMatch(/^0x/)
    const away = await errorOf(providerAt('http://127.0.0.1:1').request(request))
    expect(away).toMatchObject({ code: -32603, message: 'The node did not answer.' })
  } finally {
    await gateway.stop()
  }
})

describe('what HTTP cannot carry is refused as a mistake of the caller, before anything is sent', () => {
  test.each(['заказ 7', 'order\n7', 'order 7\u200b'])('the key %j', async (idempotencyKey) => {
    const { client, sent } = clientThrough()
    const error = await errorOf(client.transactions.signAndSend(payment(RECIPIENT), { idempotencyKey }))
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('idempotency-key') })
    expect(sent).toEqual([])
  })

  test('an API key with an invisible character at its end, which is not shown', async () => {
    const { client, sent } = clientThrough(undefined, { apiKey: `${service.project.apiKey}\u200b` })
    const error = await errorOf(client.wallets.list({ network }))
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('authorization') })
    expect(String(error)).not.toContain(service.project.apiKey)
    expect(sent).toEqual([])
  })

  test.each(['localhost:3000', 'wallets.example.com', 'ftp://wallets.example.com'])(
    'the address %s',
    async (baseUrl) => {
      const error = await errorOf(createClient({ baseUrl, projectId: 'x' }).healthz())
      expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('https://') })
    },
  )
})

test('a service that does not answer in time is named, with the time', async () => {
  const fetch = (_: unknown, init?: RequestInit) =>
    new Promise<Response>((_, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
    })
  const client = createClient({ baseUrl: 'https://wallets.example', projectId: 'x', fetch, timeoutMs: 50, retries: 0 })
  expect(await errorOf(client.wallets.list({ network }))).toMatchObject({
    code: 'connection_failed',
    message: 'The service at https://wallets.example did not answer within 0.05 seconds.',
  })
})

describe('a service that is busy', () => {
  const busy = (status: number, headers: Record<string, string> = {}, times = 1) =>
    clientThrough(async (passOn, count) =>
      count > times ? passOn() : Response.json({ error: 'Not now.', code: 'busy' }, { status, headers }),
    )

  test.each([429, 503])('is asked again after %d', async (status) => {
    const { client, sent } = busy(status, { 'retry-after': '0' })
    await client.wallets.list({ network })
    expect(sent.length).toBe(2)
  })

  test('is asked again for a signature only after 429', async () => {
    const wallet = await newWallet()
    const message = { network, signer_wallet_address: wallet.address, message: 'x', ...secret }
    const limited = busy(429)
    expect((await limited.client.transactions.signMessage(message)).signature).toMatch(/^0x/)
    const away = busy(503)
    expect(await errorOf(away.client.transactions.signMessage(message))).toMatchObject({ code: 'busy', status: 503 })
    expect(away.sent.length).toBe(1)
  })

  longTest('is left alone after some attempts, or if it asks for more time than a caller would wait', async () => {
    const often = busy(503, {}, 100)
    expect(await errorOf(often.client.wallets.list({ network }))).toMatchObject({ status: 503 })
    expect(often.sent.length).toBe(3)
    const long = busy(429, { 'retry-after': '3600' })
    expect(await errorOf(long.client.wallets.list({ network }))).toMatchObject({ retryAfterSeconds: 3600 })
    expect(long.sent.length).toBe(1)
  })

  longTest("is told from a proxy's page", async () => {
    const { client } = clientThrough(async () => new Response('<h1>Bad gateway</h1>', { status: 502 }))
    expect(await errorOf(client.wallets.list({ network }))).toMatchObject({ code: 'answer_unreadable', status: 502 })
  })
})

describe('waiting for a transaction', () => {
  test('ends with its hash when the chain has it', async () => {
    const { client } = clientThrough()
    const wallet = await newWallet()
    const sent = await client.transactions.signAndSend(payment(wallet.address))
    const mined = await client.waitFor(sent)
    expect(mined.status).toBe('success')
    const receipt = await chain.publicClient.getTransactionReceipt({ hash: `0x${mined.transaction_hash?.slice(2)}` })
    expect(receipt.to).toBe(RECIPIENT.toLowerCase() as `0x${string}`)
  })

  test('ends before the block where only the hash is wanted, and in time where the block does not come', async () => {
    const { client } = clientThrough()
    const wallet = await newWallet()
    await chain.setAutomine(false)
    try {
      const sent = await client.transactions.signAndSend(payment(wallet.address))
      const { status, transaction_hash } = await client.waitFor(sent, { until: 'broadcast' })
      expect([status, transaction_hash?.length]).toEqual(['pending', 66])
      expect(await errorOf(client.waitFor(sent, { timeoutMs: 1 }))).toMatchObject({ code: 'wait_timed_out' })
    } finally {
      await chain.setAutomine(true)
      await chain.mine()
    }
  })

  longTest('throws what the chain says of one that failed', async () => {
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const wallet = await newWallet()
    const owner: Hex = `0x${wallet.address.slice(2)}`
    await chain.write({ contract: token, functionName: 'mint', args: [owner, 1n] })
    const { client } = clientThrough()
    const input = encodeFunctionData({ abi: token.abi, functionName: 'transfer', args: [RECIPIENT, 1n] })
    await chain.setAutomine(false)
    const sent = await client.transactions.signAndSend(
      payment(wallet.address, { to: token.address, value: '0', input }),
    )
    await client.waitFor(sent, { until: 'broadcast' })
    // The token is gone before the block: OpenZeppelin's balances are a mapping at slot 0.
    const index = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [owner, 0n]))
    await chain.testClient.setStorageAt({ address: token.address, index, value: zeroHash })
    await chain.mine()
    await chain.setAutomine(true)
    const error = await errorOf(client.waitFor(sent))
    if (!(error instanceof TransactionFailedError)) throw error
    expect(error.transaction).toMatchObject({ status: 'failed', code: 'execution_reverted' })
  })
})

test('a use of a policy that people must approve throws the id of the approval', async () => {
  const { client } = clientThrough()
  const wallet = await newWallet()
  const approver = await newApprover(service)
  await client.policies.create({
    ...{ network, wallet_address: wallet.address, ...secret },
    argument_rules: [{ argument: 'value', operator: 'le', value: '9' }],
    require_approval: { of: 1, from: [approver.id] },
  })
  await client.wallets.putUnderPolicies({ network, address: wallet.address, ...secret })
  const error = await errorOf(client.transactions.signAndSend(payment(wallet.address)))
  if (!(error instanceof ApprovalRequiredError)) throw error
  expect(Date.parse(error.expiresAt)).toBeGreaterThan(Date.now())
  expect((await client.approvals.list({})).map(({ approval_id }) => approval_id)).toContain(error.approvalId)
})

describe('events', () => {
  /** A client of a project of its own, and a way to make an event. */
  const newProject = async (fetch?: Parameters<typeof createClient>[0]['fetch']) => {
    const { projectId, apiKey } = await createProject(service.ctx, { name: 'Another', actor: 'operator' })
    const of = { baseUrl: service.baseUrl, projectId, apiKey, ...(fetch === undefined ? {} : { fetch }) }
    const client = createClient(of)
    const happen = () => client.wallets.create({ network, name: 'W', control_mode: 'developer', ...secret })
    const { next } = await createClient({ ...of, fetch: globalThis.fetch }).events.list()
    return { client, happen, after: next }
  }

  test('come one after the other, with the form of their type, and begin again after one of them', async () => {
    const { client, happen, after } = await newProject()
    const made = [(await happen()).id, (await happen()).id]
    const seen: EventOf<'wallet.created'>[] = []
    for await (const event of client.events({ after, types: ['wallet.created'] })) {
      seen.push(event)
      if (seen.length === 2) made.push((await happen()).id)
      if (seen.length === 3) break
    }
    expect(seen.map(({ data }) => data.id)).toEqual(made)
    for await (const event of client.events({ after: seen[0]?.id ?? '' })) {
      if (event.type !== 'wallet.created') continue
      expect(event).toEqual(seen[1] as EventOf<'wallet.created'>)
      break
    }
  })

  longTest('go on after a lost connection, and while the service is away', async () => {
    const answers = [
      () => Promise.reject(new TypeError('The connection was lost.')),
      () => Promise.resolve(Response.json({ error: 'Later.', code: 'unavailable' }, { status: 503 })),
    ]
    const { client, happen, after } = await newProject((url, init) =>
      url.includes('/events?') ? (answers.shift() ?? (() => fetch(url, init)))() : fetch(url, init),
    )
    const { id } = await happen()
    for await (const event of client.events({ after })) {
      expect([event.type, answers]).toEqual(['wallet.created', []])
      if (event.type === 'wallet.created') expect(event.data.id).toBe(id)
      break
    }
  })

  test('end when the signal is aborted, also while they wait', async () => {
    const abort = new AbortController()
    const { client, after } = await newProject((url, init) => {
      if (url.includes('wait=')) setTimeout(() => abort.abort())
      return fetch(url, init)
    })
    for await (const event of client.events({ after, signal: abort.signal })) expect(event).toBeNull()
    expect(abort.signal.aborted).toBe(true)
  })

  test('that the service refuses throw why', async () => {
    const { client } = await newProject()
    const error = await errorOf(client.events({ after: '9999' }).next())
    expect(error).toMatchObject({ code: 'invalid_input', status: 400 })
  })
})
