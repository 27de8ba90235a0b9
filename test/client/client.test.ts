// The client against the real service, and against a network that loses answers.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { encodeAbiParameters, encodeFunctionData, type Hex, keccak256, zeroHash } from 'viem'
import { createClient } from '../../client/src/client.ts'
import { ApprovalRequiredError, StrongroomError, TransactionFailedError } from '../../client/src/errors.ts'
import type { EventOf } from '../../client/src/events.ts'
import { createProject } from '../../src/projects/projects.ts'
import { newApprover } from '../approvals/approver.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const secret = { developer_secret: 'testnet-secret' }
const RECIPIENT = fundedAccount(5).address

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

  test('is asked for again with the same key, and nothing is done twice', async () => {
    const wallet = await newWallet()
    const { client, sent } = losing()
    const { transaction_id } = await client.transactions.signAndSend(payment(wallet.address))
    await client.waitFor(transaction_id)
    const keys = sent.slice(0, 2).map(({ headers }) => headers.get('idempotency-key'))
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(keys[1]).toBe(String(keys[0]))
    expect(await chain.publicClient.getTransactionCount({ address: `0x${wallet.address.slice(2)}` })).toBe(1)
  })

  test('of a reading call is asked for again', async () => {
    const { client, sent } = losing()
    await client.wallets.list({ network })
    expect(sent.length).toBe(2)
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

  test('is left alone after some attempts, or if it asks for more time than a caller would wait', async () => {
    const often = busy(503, {}, 100)
    expect(await errorOf(often.client.wallets.list({ network }))).toMatchObject({ status: 503 })
    expect(often.sent.length).toBe(3)
    const long = busy(429, { 'retry-after': '3600' })
    expect(await errorOf(long.client.wallets.list({ network }))).toMatchObject({ retryAfterSeconds: 3600 })
    expect(long.sent.length).toBe(1)
  })

  test("is told from a proxy's page", async () => {
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

  test('throws what the chain says of one that failed', async () => {
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

  test('go on after a lost connection, and while the service is away', async () => {
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
