// Speed-ups with the credential, on a real chain behind go-ethereum's pool: same nonce and one effect, by any attempt.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Hex, parseTransaction, serializeTransaction, type TransactionSerializedEIP1559 } from 'viem'
import { recordObservation } from '../../src/signing/transactions/record-observation.ts'
import { type TransactionState, transition } from '../../src/signing/transactions/transition.ts'
import { longTest, someOf } from '../support/long.ts'
import { byTcp } from '../support/postgres.ts'
import { GWEI, type LadderWorld, network, startLadderWorld } from './ladder-world.ts'
import { FIRST_STATE } from './rules.ts'

let world: LadderWorld

beforeAll(async () => {
  world = await startLadderWorld()
})

afterEach(async () => {
  world.node.refuse(() => null)
  await world.mineAt(GWEI)
})

afterAll(() => world.close())

const SECRET = { developer_secret: 'testnet-secret' }

const speedUp = (id: string, body: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  world.service.post('/transactions/speed-up', { transaction_id: id, ...SECRET, ...body }, headers)

const minedIn = async () => (await world.chain.publicClient.getBlock()).transactions

const poolTook = (from: Hex) =>
  world.node.verdictsOn(from).flatMap(({ hash, refusal }) => (refusal === null ? [hash] : []))

const kindsOf = async (id: string): Promise<readonly string[]> => {
  const rows = await world.sql<{ kind: string; attempt: number }[]>`
    select kind, attempt from strongroom_views.attempts where transaction_id = ${id} order by attempt`
  expect(rows.map(({ attempt }) => attempt)).toEqual(rows.map((_, index) => index + 1))
  return rows.map(({ kind }) => kind)
}

const feesOf = async (id: string): Promise<readonly bigint[]> => {
  const rows = await world.sql<{ fee: string }[]>`
    select max_fee_per_gas::text as fee from strongroom_views.attempts where transaction_id = ${id} order by attempt`
  return rows.map(({ fee }) => BigInt(fee))
}

describe('a transaction whose rows were changed in the database', () => {
  const THIEF = '0x000000000000000000000000000000000000dEaD'
  let worker: Sql

  beforeAll(() => {
    worker = postgres(byTcp(world.service.database.workerUrl).href, { max: 1 })
  })
  afterAll(() => worker.end())

  const rawsOf = async (id: string) => (await world.attemptsOf(id)).map(({ raw }) => raw)

  test('is not signed: the key must have signed the same transaction for this nonce before', async () => {
    const from = await world.wallet()
    const other = await world.wallet()
    const id = await world.send(from, { value: '7' })
    await world.taken(id)
    const before = await rawsOf(id)
    // The worker's role cannot change these columns. This check also protects against the owner of the tables.
    const { sql } = world
    await sql`insert into signers ${sql({ network, address: other })}`
    const [otherWallet] = await sql`select id from wallets where address = ${other}`
    const changes = [
      ['to', THIEF],
      ['value', '1000000000000000000'],
      ['input', '0xdeadbeef'],
      ['gas_limit', '2000000'],
      ['nonce', '1'],
      ['signer_address', other],
      ['wallet_id', otherWallet?.id],
    ] as const
    for (const [column, value] of someOf(changes, 4)) {
      const [row] = await sql`select * from transactions where id = ${id}`
      await sql`update transactions set ${sql({ [column]: value })} where id = ${id}`
      const answer = await speedUp(id)
      await sql`update transactions set ${sql({ [column]: row?.[column] })} where id = ${id}`
      expect(answer.status).not.toBe(200)
      expect({ column, raws: await rawsOf(id) }).toEqual({ column, raws: before })
    }
    expect((await speedUp(id)).status).toBe(200)
  })

  test('is not signed if an attempt was not signed by its key', async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    await world.taken(id)
    const [raw] = await rawsOf(id)
    const sent = parseTransaction(raw as TransactionSerializedEIP1559)
    const forged = serializeTransaction(
      { ...sent, type: 'eip1559', maxFeePerGas: 700n * GWEI, maxPriorityFeePerGas: 700n * GWEI },
      { r: sent.r as Hex, s: sent.s as Hex, yParity: sent.yParity ?? 0 },
    )
    const change = (to: string) =>
      worker`update ladders set raws[1] = decode(${to.slice(2)}, 'hex') where transaction_id = ${id}`
    await change(forged)
    const answer = await speedUp(id)
    await change(raw ?? '')
    expect(answer.status).toBe(500)
    expect((await speedUp(id)).status).toBe(200)
  })
})

describe('a transaction that waits in the pool', () => {
  test('is replaced at once at higher fees, with a new ladder, and is mined once', async () => {
    const from = await world.wallet()
    const id = await world.send(from, { value: '7' })
    await world.taken(id)
    const [before] = await feesOf(id)
    const answer = await speedUp(id)
    expect(answer.json).toEqual({ transaction_id: id, network, status: 'pending' })
    await world.until(id, ({ chosen }) => chosen === 1)
    await world.taken(id)
    const fees = await feesOf(id)
    expect(await kindsOf(id)).toEqual([...Array(7).fill('rung'), 'cancel'])
    expect(fees[0]).toBe(before ?? 0n)
    for (const [index, fee] of fees.entries())
      if (index > 0) expect(fee * 4n >= (fees[index - 1] ?? 0n) * 5n).toBe(true)
    const hashes = (await world.attemptsOf(id)).map(({ hash }) => hash)
    expect(poolTook(from)).toEqual(hashes.slice(0, 2))
    await world.node.mine()
    expect(await minedIn()).toEqual(hashes.slice(1, 2))
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'success', transaction_hash: hashes[1] })
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
  })

  longTest('gets one rung and a higher cancel if the caller fixes the fees', async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    await world.taken(id)
    const answer = await speedUp(id, { maxFeePerGas: String(30n * GWEI), maxPriorityFeePerGas: String(GWEI / 100n) })
    expect(answer.status).toBe(200)
    await world.until(id, ({ chosen }) => chosen === 1)
    await world.taken(id)
    expect(await kindsOf(id)).toEqual(['rung', 'rung', 'cancel'])
    expect((await feesOf(id))[1]).toBe(30n * GWEI)
    await world.node.mine()
    expect((await world.service.settled(id)).json.status).toBe('success')
  })

  longTest('succeeds if an earlier attempt is mined, and every hash leads to that one', async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    await world.taken(id)
    const [first] = await world.attemptsOf(id)
    world.node.refuse(({ feeCap }) => (feeCap > 2n * GWEI ? 'not now' : null))
    expect((await speedUp(id)).status).toBe(200)
    await world.until(id, ({ chosen }) => chosen === 1)
    await world.refused(id)
    await world.node.mine()
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'success', transaction_hash: first?.hash })
  })

  longTest('can be sped up twice at once: each Idempotency-Key has one answer, and the fees rise', async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    await world.taken(id)
    const key = { 'idempotency-key': `faster ${id}` }
    const answers = await Promise.all([speedUp(id, {}, key), speedUp(id, {}, key), speedUp(id)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers[0]?.json).toEqual(answers[1]?.json)
    await world.until(id, ({ chosen }) => chosen === 2)
    const fees = await feesOf(id)
    expect(fees.toSorted((one, other) => (one < other ? -1 : 1))).toEqual([...fees])
    await world.taken(id)
    await world.node.mine()
    expect((await world.service.settled(id)).json.status).toBe('success')
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
  })
})

describe('a transaction that was given up', () => {
  /** Its cancel is in the pool, and is too low for every block until fees fall. */
  const givenUp = async () => {
    const from = await world.wallet()
    const id = await world.send(from, { value: '7' })
    await world.taken(id)
    await world.expire(id)
    await world.taken(id)
    return { from, id, cancel: (await world.attemptsOf(id)).at(-1)?.hash ?? '0x' }
  }

  longTest('is sent again at fees above its cancel, keeps that as a former cancel, and succeeds', async () => {
    const { from, id, cancel } = await givenUp()
    expect((await speedUp(id)).status).toBe(200)
    const row = await world.until(id, ({ chosen, rungs }) => chosen < rungs)
    expect(row.chosen).toBe(6)
    await world.taken(id)
    const kinds = await kindsOf(id)
    expect(kinds.slice(0, 7)).toEqual(Array(7).fill('rung'))
    expect(kinds.slice(-2)).toEqual(['cancel', 'former_cancel'])
    expect((await world.attemptsOf(id)).map(({ hash }) => hash)).toContain(cancel)
    await world.node.mine()
    expect((await world.service.settled(id)).json.status).toBe('success')
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
  })

  longTest('is expired when its former cancel is mined and final', async () => {
    const { id, cancel } = await givenUp()
    world.node.refuse(() => 'not now')
    expect((await speedUp(id)).status).toBe(200)
    await world.until(id, ({ chosen, rungs }) => chosen < rungs)
    await world.node.mine()
    await world.until(id, ({ shown_hash }) => shown_hash === cancel)
    expect((await world.statusOf(id)).status).toBe('pending')
    await world.mineToFinal()
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'failed', code: 'expired' })
  })
})

describe('a speed-up is refused and changes nothing', () => {
  const unchanged = async (id: string, body: Record<string, string>) => {
    const before = await world.attemptsOf(id)
    const { status, json } = await speedUp(id, body)
    expect(await world.attemptsOf(id)).toEqual([...before])
    return { status, code: json.code, error: json.error }
  }

  test('if the fee is less than a tenth above what was sent; the answer says how much is needed', async () => {
    const id = await world.send(await world.wallet())
    await world.taken(id)
    const [sent = 0n] = await feesOf(id)
    const { error, ...told } = await unchanged(id, {
      maxFeePerGas: String(sent + 1n),
      maxPriorityFeePerGas: String(GWEI / 100n),
    })
    expect(told).toEqual({ status: 400, code: 'fee_too_low' })
    const [, least = ''] = /"maxFeePerGas" must be at least ([0-9]+)/.exec(error) ?? []
    expect((await speedUp(id, { maxFeePerGas: least, maxPriorityFeePerGas: String(GWEI / 100n) })).status).toBe(200)
  })

  test('if the signer cannot pay it', async () => {
    const id = await world.send(await world.wallet(10n ** 17n))
    await world.taken(id)
    const fees = { maxFeePerGas: String(10_000n * GWEI), maxPriorityFeePerGas: String(GWEI) }
    expect(await unchanged(id, fees)).toMatchObject({ status: 400, code: 'balance_insufficient' })
  })

  test('with a wrong secret, or for an unknown transaction', async () => {
    const id = await world.send(await world.wallet())
    expect(await unchanged(id, { developer_secret: 'wrong' })).toMatchObject({ status: 403, code: 'INVALID_SECRET' })
    const { status, json } = await speedUp(crypto.randomUUID())
    expect({ status, code: json.code }).toEqual({ status: 404, code: 'transaction_not_found' })
  })

  longTest('if the transaction is mined', async () => {
    const id = await world.send(await world.wallet())
    await world.taken(id)
    await world.node.mine()
    await world.service.settled(id)
    expect(await unchanged(id, {})).toMatchObject({ status: 409, code: 'transaction_not_waiting' })
  })
})

describe('a speed-up by a policy', () => {
  const PIN = '493817'

  const delegated = async (maxUses: number): Promise<Hex> => {
    const { address } = await world.service.newWallet({ network, pin: PIN, ownerId: crypto.randomUUID() })
    await world.chain.fund(address, 10n ** 20n)
    const answer = await world.service.post('/policies', {
      ...{ network, wallet_address: address, max_uses: maxUses, user_pin: PIN, ...SECRET },
      argument_rules: [{ argument: 'value', operator: 'le', value: '7' }],
    })
    expect(answer.status).toBe(200)
    return address
  }

  test('is one more use of the policy, at fees chosen by the service', async () => {
    const from = await delegated(2)
    const id = await world.send(from, { value: '7' })
    await world.taken(id)
    const fixed = await speedUp(id, { maxFeePerGas: String(40n * GWEI) })
    expect({ status: fixed.status, code: fixed.json.code }).toEqual({ status: 403, code: 'policy_denied' })
    expect((await speedUp(id)).status).toBe(200)
    const spent = await speedUp(id)
    expect({ status: spent.status, code: spent.json.code }).toEqual({ status: 403, code: 'policy_denied' })
  })

  longTest('needs no policy with the PIN, and takes effect once', async () => {
    const from = await delegated(2)
    const id = await world.send(from, { value: '7' })
    await world.taken(id)
    expect((await speedUp(id)).status).toBe(200)
    await world.until(id, ({ chosen }) => chosen === 1)
    await world.taken(id)
    const byOwner = await world.service.post('/transactions/speed-up', { transaction_id: id, user_pin: PIN })
    expect(byOwner.status).toBe(200)
    await world.until(id, ({ chosen }) => chosen === 2)
    await world.taken(id)
    await world.node.mine()
    expect((await world.service.settled(id)).json.status).toBe('success')
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
  })
})

longTest(
  'a late observation of a former cancel does not change the chosen attempt, and no sent attempt is erased',
  async () => {
    const fees = (gwei: bigint) => ({
      maxFeePerGas: String(gwei * GWEI),
      maxPriorityFeePerGas: String((gwei * GWEI) / 20n),
    })
    const id = await world.send(await world.wallet(), fees(20n))
    await world.taken(id)
    const [first] = await world.attemptsOf(id)
    const giveUp = async (): Promise<string> => {
      await world.expire(id)
      await world.taken(id)
      const { rungs } = await world.rowOf(id)
      return (await world.attemptsOf(id))[rungs]?.hash ?? ''
    }
    const cancelHash = await giveUp()
    expect((await speedUp(id, fees(60n))).status).toBe(200)
    await world.until(id, ({ chosen, rungs }) => chosen < rungs)
    await world.taken(id)
    await giveUp()
    const before = await world.rowOf(id)
    const news = { kind: 'resumed', hash: first?.hash ?? '', cancelHash } as const
    const { ctx } = world.service
    await ctx.db.transaction((tx) => recordObservation(ctx, tx, { transactionId: id, observation: news }))
    expect(await world.rowOf(id)).toEqual(before)
    const sent = (await world.attemptsOf(id)).map(({ hash }) => hash)
    expect((await speedUp(id, fees(200n))).status).toBe(200)
    expect((await world.attemptsOf(id)).map(({ hash }) => hash)).toEqual(expect.arrayContaining(sent))
  },
)

test('a speed-up makes a waiting transaction continue with its first new rung, and changes no mined or done one', () => {
  const ladder = { rungs: 4, isFixed: false }
  const event = { kind: 'sped_up', first: 2 } as const
  const send = [{ kind: 'send', attempt: 2 }] as const
  for (const [chosen, givenUp] of [
    [0, null],
    [1, null],
    [2, 'expired'],
    [2, 'cancelled'],
  ] as const) {
    const state: TransactionState = { ...FIRST_STATE, chosen, givenUp } as TransactionState
    expect(transition({ ladder, state, event })).toEqual({
      state: { ...FIRST_STATE, chosen: 2, givenUp: null } as TransactionState,
      effects: send,
    })
  }
  const mined = transition({
    ladder,
    state: FIRST_STATE,
    event: { kind: 'included', attempt: 5, blockHash: '0x1' },
  }).state
  expect(transition({ ladder, state: mined, event }).state).toBe(mined)
  // A former cancel counts too.
  const final = transition({ ladder, state: mined, event: { kind: 'finalized', blockHash: '0x1' } }).state
  expect(final).toEqual({ kind: 'done', outcome: 'expired' })
})
