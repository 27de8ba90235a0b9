// Somebody else uses the key and sends transactions from the same address. Ours then end as success, once, or as failed
// because their nonce is finally used; and later nonces go on.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { type Address, type Hex, keccak256, parseGwei } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { addJob } from '../../db/jobs.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { createProject } from '../../src/operators/projects.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { isLeftOut, isLong, longTest } from '../support/long.ts'
import { ageTransactions } from '../support/rows.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
/** For anvil a block is final when two epochs of 32 blocks are above it. */
const BLOCKS_TO_FINAL = 70
/** A fee far above all our rungs and the cancel, so that they do not replace it; and an even higher one. */
const HIGH_FEE = parseGwei('500')
const HIGHER_FEE = parseGwei('1000')
/** Each look makes the reconciler run and mines a block, so more looks keep the worker from its work. */
const POLL_MS = 100

let chain: TestChain
let service: Service
let sql: Sql
let worker: WorkerHere | null = null

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  sql = postgres(service.database.url, { max: 1 })
  await resume()
})

afterAll(async () => {
  await pause()
  await sql.end()
  await service.close()
  await chain.stop()
})

beforeEach(() => chain.setAutomine(false))
afterEach(async () => {
  await resume()
  await chain.setAutomine(true)
})

/** From here until `resume` no worker runs, and none of our transactions is sent. */
const pause = async (): Promise<void> => {
  await worker?.stop()
  worker = null
}
const resume = async (): Promise<void> => {
  worker ??= await startWorkerHere(service)
}

const until = async <Value>(look: () => Promise<Value>, right: (value: Value) => boolean): Promise<Value> => {
  const deadline = Date.now() + 20_000
  for (;;) {
    const value = await look()
    if (right(value) || Date.now() > deadline) return value
    await Bun.sleep(POLL_MS)
  }
}

/** A new address, so that its balance shows the effect of one transaction. */
const freshAddress = (): Address => privateKeyToAccount(generatePrivateKey()).address
const balanceOf = (address: Address) => chain.publicClient.getBalance({ address })

/** A wallet of the project whose key somebody else has too. */
const sharedKey = async (client: Pick<Service, 'post'> = service, key = generatePrivateKey()) => {
  const account = privateKeyToAccount(key)
  const imported = await client.post('/wallets/import', {
    network,
    name: 'Shared',
    control_mode: 'developer',
    developer_secret: SECRET,
    private_key: key,
  })
  expect(imported.json).toMatchObject({ address: account.address })
  await chain.fund(account.address)
  return account
}

type Intent = { readonly id: string; readonly to: Address; readonly value: bigint }

let values = 0n

const intend = async (from: Address, client: Pick<Service, 'post'> = service): Promise<Intent> => {
  const [to, value] = [freshAddress(), ++values]
  const answer = await client.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: { to, value: value.toString() },
    developer_secret: SECRET,
  })
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return { id: answer.json.transaction_id, to, value }
}

type Outside = { readonly hash: Hex; readonly to: Address }

const sendRaw = async (raw: Hex): Promise<Hex> => (await chain.rpc('eth_sendRawTransaction', [raw])) as Hex

const sendOutside = async (account: PrivateKeyAccount, nonce: number, fee: bigint): Promise<Outside> => {
  const to = freshAddress()
  const raw = await account.signTransaction({
    ...{ type: 'eip1559', chainId: chain.chainId, gas: 21_000n, to, value: 1n },
    ...{ nonce, maxFeePerGas: fee, maxPriorityFeePerGas: fee },
  })
  return { hash: await sendRaw(raw), to }
}

const drop = async ({ address }: PrivateKeyAccount, { hash }: Outside): Promise<void> => {
  // A transaction above a gap cannot be dropped alone; so the whole pool is dropped.
  if ((await chain.rpc('anvil_dropTransaction', [hash])) === null) {
    await chain.rpc('anvil_removePoolTransactions', [address])
  }
  expect(await chain.rpc('eth_getTransactionByHash', [hash])).toBeNull()
}

const statusOf = async ({ id }: Intent) => (await service.get('/transactions/status-by-id', { id })).json
const codeOf = async (intent: Intent): Promise<string> => {
  const { status, code } = await statusOf(intent)
  return code ?? status
}
const codesOf = (intents: readonly Intent[]) => Promise.all(intents.map(codeOf))

const arePending = async (intents: readonly Intent[]): Promise<void> => {
  const codes = await until(
    () => codesOf(intents),
    (all) => all.every((code) => code === 'pending'),
  )
  expect(codes).toEqual(intents.map(() => 'pending'))
}

/** Makes transactions look unchecked for long, so that the reconciler asks the node and sends again. */
const nudge = async (): Promise<void> => {
  await ageTransactions(sql)
  await sql`update graphile_worker._private_jobs set run_at = now() where run_at > now() and locked_at is null and key like 'broadcast:%'`
  await addJob(service.ctx.db, 'reconcile', { again: false })
  const waiting = (await chain.rpc('txpool_status')) as { pending: Hex }
  if (Number(waiting.pending) > 0) await chain.mine()
}

/** Repeats until ours are as expected. */
const become = async (intents: readonly Intent[], expected: readonly string[]): Promise<void> => {
  const look = async () => {
    await nudge()
    return codesOf(intents)
  }
  expect(await until(look, (codes) => Bun.deepEquals(codes, expected))).toEqual([...expected])
}

/** Checks that each of our effects is on the chain at most once, and who used each nonce. */
const checkOnChain = async (
  account: PrivateKeyAccount,
  input: { readonly ours: readonly Intent[]; readonly outside: readonly Outside[] },
): Promise<void> => {
  const codes = await codesOf(input.ours)
  const succeeded = input.ours.filter((_, index) => codes[index] === 'success')
  for (const intent of input.ours) {
    expect(await balanceOf(intent.to)).toBe(succeeded.includes(intent) ? intent.value : 0n)
  }
  for (const { to } of input.outside) expect(await balanceOf(to)).toBe(1n)
  const used = await chain.publicClient.getTransactionCount({ address: account.address })
  expect(used).toBe(succeeded.length + input.outside.length)
}

type Place = 'before' | 'between' | 'at'
type Broadcast = 'not yet' | 'already'
type Fate = 'mined' | 'dropped' | 'replaced'

/** `contended`: success or nonce_taken, depending on which of the two the node kept. */
type Expected = 'success' | 'pending' | 'nonce_taken' | 'contended'

/**
 * The expected results of ours after the fate of the outside transaction: first the earlier one, then the later one.
 */
const EXPECTED: Record<Place, Record<Broadcast, Record<Fate, readonly Expected[]>>> = {
  // Ours comes after it; if it is gone, there is a gap.
  before: {
    'not yet': { mined: ['success'], dropped: ['pending'], replaced: ['success'] },
    already: { mined: ['success'], dropped: ['pending'], replaced: ['success'] },
  },
  // While our first is not sent, no node reports the next nonce as used, so our second gets it too.
  between: {
    'not yet': {
      mined: ['success', 'contended'],
      dropped: ['success', 'success'],
      replaced: ['success', 'contended'],
    },
    already: { mined: ['success', 'success'], dropped: ['success', 'pending'], replaced: ['success', 'success'] },
  },
  at: {
    'not yet': {
      mined: ['nonce_taken', 'success'],
      dropped: ['success', 'success'],
      replaced: ['nonce_taken', 'success'],
    },
    already: {
      mined: ['nonce_taken', 'success'],
      dropped: ['success', 'success'],
      replaced: ['nonce_taken', 'success'],
    },
  },
}

const rows = (['before', 'between', 'at'] as const).flatMap((place) =>
  (['not yet', 'already'] as const).flatMap((broadcast) =>
    (['mined', 'dropped', 'replaced'] as const).map((fate) => ({ place, broadcast, fate })),
  ),
)

const isMined = async ({ hash }: Outside): Promise<boolean> =>
  (await chain.rpc('eth_getTransactionReceipt', [hash])) !== null

/** The conflict is decided once the nonce is used. */
const decided = async (
  expected: readonly Expected[],
  input: { readonly account: PrivateKeyAccount; readonly outside: Outside },
): Promise<readonly Expected[]> => {
  const { address } = input.account
  const isUsed = async () => {
    await nudge()
    return (await chain.publicClient.getTransactionCount({ address })) >= expected.length
  }
  if (expected.includes('contended')) expect(await until(isUsed, (used) => used)).toBe(true)
  const winner = (await isMined(input.outside)) ? 'nonce_taken' : 'success'
  return expected.map((code) => (code === 'contended' ? winner : code))
}

describe('an outside transaction', () => {
  if (isLeftOut('an outside transaction before, between and at our nonces, then mined, dropped or replaced')) return
  test.each(rows)('$place our nonces, ours $broadcast broadcast, then $fate', async ({ place, broadcast, fate }) => {
    const account = await sharedKey()
    const ours: Intent[] = []
    const follow = async () => {
      ours.push(await intend(account.address))
      if (broadcast === 'already') await arePending(ours.slice(-1))
    }
    if (broadcast === 'not yet') await pause()
    if (place !== 'before') await follow()
    const nonce = place === 'between' ? 1 : 0
    let outside = await sendOutside(account, nonce, HIGH_FEE)
    await follow()
    if (fate === 'dropped') await drop(account, outside)
    if (fate === 'replaced') outside = await sendOutside(account, nonce, HIGHER_FEE)
    if (fate !== 'dropped') await chain.mine()
    await resume()

    const expected = await decided(EXPECTED[place][broadcast][fate], { account, outside })
    const taken = ours.filter((_, index) => expected[index] === 'nonce_taken')
    const others = ours.filter((intent) => !taken.includes(intent))
    await become(
      others,
      expected.filter((code) => code !== 'nonce_taken'),
    )
    // A taken nonce is reported only once that is final.
    for (const code of await codesOf(taken)) expect(code).toMatch(/^(submitted|pending)$/)

    ours.push(await intend(account.address))
    if (taken.length > 0) await chain.mine(BLOCKS_TO_FINAL)
    await become(ours, [...expected.map((code) => (code === 'pending' ? 'success' : code)), 'success'])
    await checkOnChain(account, { ours, outside: (await isMined(outside)) ? [outside] : [] })
  })
})

describe('a transaction that `sign` returned and its owner sends', () => {
  /** Signs a payment of one wei to a new address, with the nonce that the next intent would get. */
  const sign = async (from: Address, unsigned: Record<string, null> = {}): Promise<Outside & { raw: Hex }> => {
    const to = freshAddress()
    const fees = { maxFeePerGas: HIGH_FEE.toString(), maxPriorityFeePerGas: HIGH_FEE.toString() }
    const answer = await service.post('/transactions/sign', {
      network,
      signer_wallet_address: from,
      unsigned_transaction: { to, value: '1', ...fees, ...unsigned },
      developer_secret: SECRET,
    })
    expect(answer.status).toBe(200)
    return { raw: answer.json, hash: keccak256(answer.json), to }
  }

  longTest('before our next intent: ours gets the nonce after it', async () => {
    const account = await sharedKey()
    const outside = await sign(account.address)
    await sendRaw(outside.raw)
    const ours = [await intend(account.address)]
    await become(ours, ['success'])
    await checkOnChain(account, { ours, outside: [outside] })
  })

  const times = [
    ['after ours was broadcast', true],
    ['before ours is broadcast', false],
  ] as const
  for (const [when, isBroadcast] of times) {
    longTest(`at the nonce that our next intent has got, ${when}: ours failed once that is final`, async () => {
      const account = await sharedKey()
      const outside = await sign(account.address)
      if (!isBroadcast) await pause()
      const ours = [await intend(account.address)]
      if (isBroadcast) await arePending(ours)
      await sendRaw(outside.raw)
      await chain.mine()
      await resume()
      ours.push(await intend(account.address))
      await become(ours.slice(1), ['success'])
      expect((await codesOf(ours))[0]).toMatch(/submitted|pending/)
      await chain.mine(BLOCKS_TO_FINAL)
      await become(ours, ['nonce_taken', 'success'])
      await checkOnChain(account, { ours, outside: [outside] })
    })
  }

  longTest('at no higher fee than ours: ours climbs above it and is mined instead', async () => {
    const account = await sharedKey()
    const outside = await sign(account.address, { maxFeePerGas: null, maxPriorityFeePerGas: null })
    await pause()
    const ours = [await intend(account.address)]
    await sendRaw(outside.raw)
    await resume()
    await arePending(ours)
    await become(ours, ['success'])
    await checkOnChain(account, { ours, outside: [] })
    expect(await balanceOf(outside.to)).toBe(0n)
  })

  test('with the same bytes as our attempt: is mined once, and ours succeeds', async () => {
    const account = await sharedKey()
    const to = freshAddress()
    const fees = { maxFeePerGas: HIGH_FEE.toString(), maxPriorityFeePerGas: HIGH_FEE.toString() }
    const body = {
      network,
      signer_wallet_address: account.address,
      unsigned_transaction: { to, value: '5', gasLimit: '21000', ...fees },
      developer_secret: SECRET,
    }
    const signed = await service.post('/transactions/sign', body)
    await pause()
    const sent = await service.post('/transactions/sign-and-send', body)
    const hash = await sendRaw(signed.json)
    await chain.mine()
    await resume()
    const ours = [{ id: sent.json.transaction_id, to, value: 5n }]
    await become(ours, ['success'])
    expect(await statusOf(ours[0] as Intent)).toMatchObject({ transaction_hash: hash })
    await checkOnChain(account, { ours, outside: [] })
  })
})

describe('a nonce that an outside transaction used', () => {
  longTest(
    'is reported with the next block for each affected transaction, and as a failure when it is final',
    async () => {
      const account = await sharedKey()
      const ours = [await intend(account.address), await intend(account.address), await intend(account.address)]
      await arePending(ours)
      // A transaction that was just recorded is not checked yet.
      await sql`update transactions set created_at = now() - interval '10 s' where signer_address = ${account.address}`
      const outside = [
        await sendOutside(account, 0, HIGH_FEE),
        await sendOutside(account, 1, HIGH_FEE),
        await sendOutside(account, 2, HIGH_FEE),
      ]
      await chain.mine()
      const told = await until(
        () => Promise.all(ours.map(statusOf)),
        (all) => all.every(({ waiting }) => waiting === 'nonce_used'),
      )
      for (const each of told) expect(each).toMatchObject({ status: 'pending', waiting: 'nonce_used' })
      // Only the tracker checks.
      for (let block = 0; block < BLOCKS_TO_FINAL; block += 1) await chain.mine()
      const isTold = async () => {
        await chain.mine()
        return codesOf(ours)
      }
      const taken = ours.map(() => 'nonce_taken')
      expect(await until(isTold, (codes) => Bun.deepEquals(codes, taken))).toEqual(taken)
      expect(await statusOf(ours[0] as Intent)).not.toHaveProperty('waiting')
      await checkOnChain(account, { ours, outside })
    },
  )
})

describe('two projects with the same key', () => {
  test('share its nonces, also across two processes, and nothing else', async () => {
    const key = generatePrivateKey()
    const project = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'second-api' })
    const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
    const other = service.as(project, `http://127.0.0.1:${server.port}`)
    try {
      const account = await sharedKey(service, key)
      expect(await sharedKey(other, key)).toMatchObject({ address: account.address })
      const both = await Promise.all(
        Array.from({ length: isLong ? 20 : 4 }, (_, index) =>
          intend(account.address, index % 2 === 0 ? service : other),
        ),
      )
      const ours = both.filter((_, index) => index % 2 === 0)
      const theirs = both.filter((_, index) => index % 2 === 1)
      const of = (client: Pick<Service, 'get'>, intents: readonly Intent[]) =>
        Promise.all(
          intents.map(async ({ id }) => {
            const { json } = await client.get('/transactions/status-by-id', { id })
            return json.code ?? json.status
          }),
        )
      const hidden = ours.map(() => 'transaction_not_found')
      const mined = ours.map(() => 'success')
      await become(ours, mined)
      expect(
        await until(
          () => of(other, theirs),
          (all) => Bun.deepEquals(all, mined),
        ),
      ).toEqual(mined)
      expect([await of(other, ours), await of(service, theirs)]).toEqual([hidden, hidden])
      for (const { to, value } of both) expect(await balanceOf(to)).toBe(value)
      const nonces = await sql<{ nonce: number }[]>`
        select nonce::int from transactions where signer_address = ${account.address} order by nonce`
      expect(nonces.map(({ nonce }) => nonce)).toEqual([...both.keys()])
      expect(await chain.publicClient.getTransactionCount({ address: account.address })).toBe(both.length)
    } finally {
      await server.stop(true)
      await ctx.close({ timeoutSeconds: 5 })
    }
  })
})
