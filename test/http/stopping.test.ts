// SIGTERM of a real API process under load, on both runtimes: nobody's request fails.

import { describe, expect, test } from 'bun:test'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { fundedAccount, startChain } from '../support/chains.ts'
import { denoCommand } from '../support/deno.ts'
import { startGate } from '../support/gate.ts'
import { isLeftOut, isLong } from '../support/long.ts'
import { programPath } from '../support/programs.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'

const network = 'Ethereum'
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RUNTIMES = { Bun: ['bun', programPath('src/main/api')], 'Deno 2': [...denoCommand(), 'src/main/api.ts'] } as const
const GRACE_SECONDS = isLong ? 4 : 1
/** Longer than the grace, and than processes wait for others by habit. */
const SLOW_MS = isLong ? 15_000 : 1_200

const chain = await shared(startChain(network))
const gate = startGate(chain.rpcUrl)
afterTests(() => gate.stop())
const service = await shared(startService({ rpcUrls: { [network]: gate.url } }))

const startApi = async (command: readonly string[]) => {
  const child = Bun.spawn([...command], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      ...service.variables,
      PORT: '0',
      LOG_LEVEL: 'info',
      NODE_TIMEOUT_MS: '45000',
      SHUTDOWN_GRACE_SECONDS: String(GRACE_SECONDS),
    },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const decoder = new TextDecoder()
  let said = ''
  const { promise: listening, resolve } = Promise.withResolvers<string>()
  const read = (async () => {
    for await (const chunk of child.stdout) {
      said += decoder.decode(chunk, { stream: true })
      const line = said.split('\n').find((each) => each.includes('"listening"'))
      if (line !== undefined) resolve(JSON.parse(line).url)
    }
  })()
  return { child, read, said: () => said, url: await listening }
}

type Asked = { readonly status: number; readonly closes: boolean } | { readonly failure: string }

/** One GET by an agent's connection; failures of the connection are told apart. */
const ask = (agent: Agent, url: string): Promise<Asked> =>
  new Promise((resolve) => {
    const asking = request(url, { agent }, (response) => {
      response.resume()
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, closes: response.headers.connection === 'close' }),
      )
      response.on('error', (error) => resolve({ failure: error.message }))
    })
    asking.on('error', (error) => resolve({ failure: 'code' in error ? String(error.code) : error.message }))
    asking.end()
  })

/**
 * Asks on one connection, again and again, until it was told that the process is not ready for `lateMs`: a load
 * balancer.
 */
const keepAsking = async (url: string, lateMs: number): Promise<readonly Asked[]> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const answers: Asked[] = []
  for (let leavesAt = Number.POSITIVE_INFINITY; performance.now() < leavesAt; await sleep(20)) {
    const ready = await ask(agent, `${url}/readyz`)
    if ('status' in ready && ready.status === 503) leavesAt = Math.min(leavesAt, performance.now() + lateMs)
    else answers.push(ready)
    answers.push(await ask(agent, `${url}/healthz`))
  }
  agent.destroy()
  return answers
}

const TRIED: readonly (keyof typeof RUNTIMES)[] = isLeftOut('the end of an API on Deno') ? ['Bun'] : ['Bun', 'Deno 2']

describe.each(TRIED)('an API on %s that gets SIGTERM', (runtime) => {
  test('is not ready, goes on accepting, finishes requests that take long, and ends', async () => {
    const api = await startApi(RUNTIMES[runtime])
    const { address } = await service.newWallet({ network })
    await chain.fund(address)
    const client = service.as(service.project, api.url)
    const send = () =>
      client.post('/transactions/sign-and-send', {
        network,
        signer_wallet_address: address,
        unsigned_transaction: { to: fundedAccount(5).address, value: '1' },
        developer_secret: 'testnet-secret',
      })
    expect((await send()).json).toMatchObject({ status: 'submitted' })
    using held = gate.hold('before', 'eth_estimateGas')
    const slow = send()
    await held.reached
    // Some leave late, but within the grace.
    const clients = [0, GRACE_SECONDS * 125, GRACE_SECONDS * 250].map((lateMs) => keepAsking(api.url, lateMs))
    await sleep(400)

    api.child.kill('SIGTERM')
    const stoppedAt = performance.now()
    const answers = (await Promise.all(clients)).flat()
    expect(answers.length).toBeGreaterThan(20)
    expect(answers.filter((each) => 'failure' in each || each.status !== 200)).toEqual([])
    expect(answers.at(-1)).toMatchObject({ closes: true })
    const idle = new Agent()
    const gone = async () => 'failure' in (await ask(idle, `${api.url}/healthz`))
    while (!(await gone())) await sleep(50)
    // Timers may be a few milliseconds early.
    expect(performance.now() - stoppedAt).toBeGreaterThan(GRACE_SECONDS * 1000 - 50)

    await sleep(Math.max(0, stoppedAt + SLOW_MS - performance.now()))
    expect(api.child.exitCode).toBeNull()
    held.release()
    const answer = await slow
    expect(answer.json).toMatchObject({ status: 'submitted' })
    expect(answer.headers.get('connection')).toBe('close')
    expect(await api.child.exited).toBe(0)
    await api.read
    expect(
      api
        .said()
        .split('\n')
        .find((line) => line.includes('"level":50')),
    ).toBeUndefined()
  }, 180_000)
})
