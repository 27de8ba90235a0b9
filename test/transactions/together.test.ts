// Requests of one signer are prepared at the same time and recorded in the order in which they came. A gate before the
// node holds one of them back in its preparation, so that each test knows who is where.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Address, parseEther } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Gate, type Held, startGate } from '../support/gate.ts'
import { isLong, longTest } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const REVERTING = '0xdeadbeef'
/** How much of the coin each wallet has. */
const MORE_THAN_HALF = parseEther('0.6').toString()

let chain: TestChain
let gate: Gate
let service: Service
let worker: WorkerHere | undefined
let sql: Sql

beforeAll(async () => {
  chain = await startChain(network)
  // Contract wallets and blocks are of the long cases only.
  if (isLong) await deployCanonicalContracts(chain.rpcUrl)
  gate = startGate(chain.rpcUrl)
  service = await startService({ rpcUrls: { [network]: gate.url } })
  sql = postgres(service.database.url, { max: 1 })
  if (isLong) worker = await startWorkerHere(service)
})

afterAll(async () => {
  await sql.end()
  await worker?.stop()
  await service.close()
  await gate.stop()
  await chain.stop()
})

/** Another API process on the same database. */
const startOther = async () => {
  const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'other-api' })
  const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
  const { post } = service.as(service.project, `http://127.0.0.1:${server.port}`)
  const close = async () => {
    await server.stop(true)
    await ctx.close({ timeoutSeconds: 5 })
  }
  return { post, close }
}

const fundedWallet = async (): Promise<Address> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address, parseEther('1'))
  return address
}

const send = (from: Address, unsigned: object = {}, post = service.post): Promise<Answer> =>
  post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: { to: RECIPIENT, value: '1', ...unsigned },
    developer_secret: SECRET,
  })

/** A contract wallet that is deployed, has this many wei, and whose key can pay fees. */
const deployedSafe = async (wei: bigint): Promise<Address> => {
  const body = { network, name: 'A Safe', type: 'contract', control_mode: 'developer', developer_secret: SECRET }
  const { address } = (await service.post('/wallets', body)).json
  // The error about missing coins names the key's address.
  const [owner] = /^0x[0-9a-fA-F]{40}/.exec((await send(address, { value: '0' })).json.error) ?? []
  await chain.fund(owner as Address)
  const { transaction_id: id } = (await send(address, { value: '0' })).json
  expect((await service.settled(id)).json).toMatchObject({ status: 'success' })
  await chain.fund(address, wei)
  return address
}

const told = ({ json }: Answer): string => json.code ?? json.status

const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
  for (const deadline = Date.now() + 20_000; !(await isSo()); await Bun.sleep(5)) {
    if (Date.now() > deadline) throw new Error('it did not come to that')
  }
}

/** Starts the request and waits until its preparation is held back: `before` the node has read it, or `after`. */
const heldBack = async (
  request: () => Promise<Answer>,
  when: 'before' | 'after' = 'before',
): Promise<Held & { readonly answer: Promise<Answer> }> => {
  const held = gate.hold(when, 'eth_estimateGas')
  const answer = request()
  await held.reached
  return { ...held, answer }
}

/** Starts the request and waits until the node was asked about it. */
const asked = async (request: () => Promise<Answer>): Promise<{ readonly answer: Promise<Answer> }> => {
  const before = gate.count('eth_estimateGas')
  const answer = request()
  await until(() => gate.count('eth_estimateGas') > before)
  return { answer }
}

const nonceOf = async (answer: Answer): Promise<number> => {
  expect(answer.json).toMatchObject({ status: 'submitted' })
  const [row] = await sql<{ nonce: number }[]>`
    select nonce::int from transactions where id = ${answer.json.transaction_id}`
  return row?.nonce ?? -1
}

const recordedOf = async (signer: Address): Promise<number> =>
  (await sql`select from transactions where signer_address = ${signer}`).length

describe('a request that comes while an earlier one of its signer is prepared', () => {
  test('is prepared beside it, and gets the nonce after it', async () => {
    const wallet = await fundedWallet()
    using first = await heldBack(() => send(wallet))
    const second = await asked(() => send(wallet))
    const third = await asked(() => send(wallet, { nonce: '2' }))
    expect(await recordedOf(wallet)).toBe(0)
    first.release()
    const nonces = [first, second, third].map(async ({ answer }) => nonceOf(await answer))
    expect(await Promise.all(nonces)).toEqual([0, 1, 2])
  })

  test('gets its nonce if that one fails, however it fails', async () => {
    const wallet = await fundedWallet()
    const { address: contract } = await chain.deploy('TestToken', ['Test', 'TST', 18])
    using first = await heldBack(() => send(wallet))
    using reverting = await heldBack(() => send(wallet, { to: contract, value: '0', input: REVERTING }))
    const third = await asked(() => send(wallet))
    reverting.release()
    first.release('forgotten')
    expect(told(await first.answer)).toBe('node_unavailable')
    expect(told(await reverting.answer)).toBe('execution_reverted')
    expect(await nonceOf(await third.answer)).toBe(0)
  })

  test('does not wait for it if it is refused', async () => {
    const wallet = await fundedWallet()
    using first = await heldBack(() => send(wallet))
    expect(told(await send(wallet, { value: parseEther('2').toString() }))).toBe('balance_insufficient')
    first.release()
    expect(await nonceOf(await first.answer)).toBe(0)
  })

  test('is refused if the balance that both have seen is enough for one only', async () => {
    const wallet = await fundedWallet()
    using first = await heldBack(() => send(wallet, { value: MORE_THAN_HALF }), 'after')
    using second = await heldBack(() => send(wallet, { value: MORE_THAN_HALF }), 'after')
    second.release()
    first.release()
    expect(told(await first.answer)).toBe('submitted')
    expect(told(await second.answer)).toBe('balance_insufficient')
  })

  longTest('is refused if both spend the same coins of a contract wallet', async () => {
    const safe = await deployedSafe(10n)
    using first = await heldBack(() => send(safe, { value: '6' }))
    const second = await asked(() => send(safe, { value: '6' }))
    first.release()
    expect(told(await first.answer)).toBe('submitted')
    expect(told(await second.answer)).toBe('balance_insufficient')
  })

  longTest(
    'is refused if that one is mined and told before it is recorded: the balance that it has seen is older',
    async () => {
      const wallet = await fundedWallet()
      using late = await heldBack(() => send(wallet, { value: MORE_THAN_HALF }), 'after')
      // By another process, which does not wait for this one.
      const other = await startOther()
      const sooner = await send(wallet, { value: MORE_THAN_HALF }, other.post)
      expect((await service.settled(sooner.json.transaction_id)).json).toMatchObject({ status: 'success' })
      late.release()
      expect(told(await late.answer)).toBe('balance_insufficient')
      await other.close()
    },
  )
})

describe('requests of one signer that are ready at the same time', () => {
  type Together = { readonly answers: readonly Answer[]; readonly nonces: readonly number[]; readonly commits: number }

  const recorded = async (signer: Address): Promise<Omit<Together, 'answers'>> => {
    const rows = await sql<{ nonce: number; commit: string }[]>`
      select nonce::int, xmin::text as commit from transactions where signer_address = ${signer} order by created_at, nonce`
    return { nonces: rows.map(({ nonce }) => nonce), commits: new Set(rows.map(({ commit }) => commit)).size }
  }

  /**
   * Holds a first request back until others wait behind it, which takes some milliseconds. Does it again with more time
   * until they were recorded with it. @param meanwhile what happens before the first one goes on.
   */
  const together = async (input: {
    readonly wallet?: () => Promise<Address>
    readonly first?: (wallet: Address) => Promise<Answer>
    readonly others: (wallet: Address) => readonly (() => Promise<Answer>)[]
    readonly meanwhile?: (wallet: Address) => Promise<unknown>
    readonly isShared?: (those: Together) => boolean
  }): Promise<Together> => {
    const { first: pay = send, isShared = ({ commits }) => commits === 1 } = input
    for (let waitMs = 20; waitMs < 2_000; waitMs *= 2) {
      const wallet = await (input.wallet ?? fundedWallet)()
      using first = await heldBack(() => pay(wallet))
      const others: Promise<Answer>[] = []
      for (const other of input.others(wallet)) others.push((await asked(other)).answer)
      await input.meanwhile?.(wallet)
      await Bun.sleep(waitMs)
      first.release()
      const those = { answers: await Promise.all([first.answer, ...others]), ...(await recorded(wallet)) }
      if (isShared(those)) return those
    }
    throw new Error('they were not recorded together')
  }

  test('are recorded in one commit, in their order, each with its own nonce, audit row, job and answer', async () => {
    const key = { 'idempotency-key': crypto.randomUUID() }
    const post = (path: string, body: unknown) => service.post(path, body, key)
    const { answers, nonces } = await together({
      others: (wallet) => [() => send(wallet), () => send(wallet, { nonce: '2' }), () => send(wallet, {}, post)],
    })
    expect(nonces).toEqual([0, 1, 2, 3])
    expect(await Promise.all(answers.map(nonceOf))).toEqual([0, 1, 2, 3])
    const ids = answers.map(({ json }) => json.transaction_id)
    expect(new Set(ids).size).toBe(4)
    const [counts] = await sql`
      select (select count(distinct details->>'transaction')::int from audit where details->>'transaction' = any(${ids})) as acts,
        (select count(*)::int from graphile_worker.jobs where key = any(${ids.map((id) => `broadcast:${id}`)})) as jobs,
        (select count(*)::int from ladders where transaction_id = any(${ids}::uuid[])) as ladders`
    expect(counts).toEqual({ acts: 4, jobs: isLong ? expect.any(Number) : 4, ladders: 4 })
  })

  test('leave no gap where one cannot pay or asks for a nonce that it cannot have: only that one is refused', async () => {
    const { answers, nonces } = await together({
      others: (wallet) => [
        () => send(wallet, { value: MORE_THAN_HALF }),
        () => send(wallet, { value: MORE_THAN_HALF }),
        () => send(wallet, { nonce: '1' }),
        () => send(wallet, { nonce: '2' }),
        () => send(wallet),
      ],
    })
    expect(answers.map(told)).toEqual([
      ...['submitted', 'submitted', 'balance_insufficient'],
      ...['nonce_conflict', 'submitted', 'submitted'],
    ])
    expect(nonces).toEqual([0, 1, 2, 3])
  })

  test('are each refused for their own reason if none can be recorded', async () => {
    const { answers, nonces } = await together({
      wallet: async () => {
        const { address } = await service.newWallet({ network })
        await chain.fund(address, parseEther('0.001'))
        return address
      },
      first: (wallet) => send(wallet, { nonce: '7' }),
      others: (wallet) => [() => send(wallet, { nonce: '8' }), () => send(wallet, { nonce: '9' })],
      isShared: () => true,
    })
    expect(answers.map(told)).toEqual(['nonce_gap', 'nonce_gap', 'nonce_gap'])
    expect(nonces).toEqual([])
  })

  test('are done one by one if another process has answered one of them, which gets that answer', async () => {
    const other = await startOther()
    const theirs: Answer[] = []
    let key: Record<string, string> = {}
    const { answers, nonces } = await together({
      others: (wallet) => {
        key = { 'idempotency-key': crypto.randomUUID() }
        const post = (path: string, body: unknown) => service.post(path, body, key)
        return [() => send(wallet), () => send(wallet, {}, post), () => send(wallet)]
      },
      meanwhile: async (wallet) => {
        theirs.push(await send(wallet, {}, (path, body) => other.post(path, body, key)))
      },
      // One commit each: theirs, and three of ours.
      isShared: ({ commits }) => commits === 4,
    })
    expect(nonces).toEqual([0, 1, 2, 3])
    expect(answers[2]?.json).toEqual(theirs.at(-1)?.json)
    expect(await Promise.all(answers.map(nonceOf))).toEqual([1, 2, 0, 3])
    await other.close()
  })

  test('are recorded one by one with a PIN, of which each is a try', async () => {
    const pin = '493817'
    const pay = (wallet: Address, userPin = pin) =>
      service.post('/transactions/sign-and-send', {
        ...{ network, signer_wallet_address: wallet, unsigned_transaction: { to: RECIPIENT, value: '1' } },
        user_pin: userPin,
      })
    const { answers, nonces } = await together({
      wallet: async () => {
        const { address } = await service.newWallet({ network, pin })
        await chain.fund(address, parseEther('1'))
        return address
      },
      first: pay,
      others: (wallet) => [() => pay(wallet), () => pay(wallet)],
      isShared: ({ commits }) => commits === 3,
    })
    expect(nonces).toEqual([0, 1, 2])
    expect(answers.map(told)).toEqual(['submitted', 'submitted', 'submitted'])
  })
})
