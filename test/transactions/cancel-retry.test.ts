// What a caller can do with a transaction that waits: give it up, or have it sent again, over HTTP with a real chain.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { createApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { createProject } from '../../src/operators/projects.ts'
import { network, type OperatorWorld, startOperatorWorld } from '../cli/operator-world.ts'
import { longTest } from '../support/long.ts'
import type { Answer, Service } from '../support/service.ts'

type Caller = Pick<Service, 'post'>

let world: OperatorWorld
let stranger: Caller

beforeAll(async () => {
  world = await startOperatorWorld()
  stranger = world.service.as(await createProject(world.service.ctx, { name: 'Other', actor: 'operator' }))
})
afterEach(() => world.stopWorkers())
afterAll(() => world.close())

const settled = async (id: string) => (await world.service.settled(id)).json

const act = (
  verb: 'cancel' | 'retry',
  transaction_id: string,
  { who = world.service, key }: { who?: Caller; key?: string } = {},
): Promise<Answer> =>
  who.post(`/transactions/${verb}`, { transaction_id }, key === undefined ? {} : { 'idempotency-key': key })

const actsOn = async (id: string) => {
  const rows = await world.sql`select actor, action from audit where subject = ${id} order by id`
  return rows.map(({ actor, action }) => `${actor.replace(/:.*/, '')} ${action}`)
}

const jobsOf = (id: string) => world.sql`select 1 from graphile_worker._private_jobs where key = ${`broadcast:${id}`}`

describe('a transaction that waits', () => {
  test('is given up by cancel, once: its cancelling transaction is the one to send', async () => {
    const id = await world.send(await world.wallet())
    const answer = await act('cancel', id.toUpperCase())
    expect([answer.status, answer.json]).toEqual([200, { transaction_id: id, network, status: 'submitted' }])
    expect((await act('cancel', id)).json).toEqual(answer.json)
    expect(await actsOn(id)).toEqual(['api_key transaction_cancelled'])
    const [row] = await world.sql`
      select given_up, chosen = rungs as is_cancel, holds_nonce from transactions where id = ${id}`
    expect(row).toEqual({ given_up: 'cancelled', is_cancel: true, holds_nonce: true })
  })

  test('is neither cancelled nor retried once it has ended', async () => {
    const id = await world.send(await world.wallet())
    await world.sql`update transactions set status = 'failed', error_code = 'execution_reverted', error = 'It reverted.',
      final = true, settled_at = now() where id = ${id}`
    for (const verb of ['cancel', 'retry'] as const) {
      const late = await act(verb, id)
      expect([late.status, late.json.code]).toEqual([409, 'transaction_not_waiting'])
    }
  })

  longTest('that is given up by cancel ends as expired: its cancelling transaction uses the nonce', async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    expect((await act('cancel', id)).status).toBe(200)
    await world.startWorker()
    await world.until(
      () => world.whyOf(id),
      ({ cause }) => cause === 'cancel_mined',
    )
    await world.chain.mine(4)
    expect(await settled(id)).toMatchObject({ status: 'failed', code: 'expired' })
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
    for (const verb of ['cancel', 'retry'] as const) {
      const late = await act(verb, id)
      expect([late.status, late.json.code]).toEqual([409, 'transaction_not_waiting'])
    }
  })

  longTest('is sent by retry, also if its job was lost', async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    await world.sql`delete from graphile_worker._private_jobs where key = ${`broadcast:${id}`}`
    const answer = await act('retry', id)
    expect([answer.status, answer.json]).toEqual([200, { transaction_id: id, network, status: 'submitted' }])
    expect(await jobsOf(id)).toHaveLength(1)
    expect(await actsOn(id)).toEqual(['api_key transaction_retried'])
    await act('retry', id)
    expect(await jobsOf(id)).toHaveLength(1)
    await world.startWorker()
    expect(await settled(id)).toMatchObject({ status: 'success' })
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
  })

  test('is acted on once for each Idempotency-Key', async () => {
    const id = await world.send(await world.wallet())
    const key = randomUUID()
    const [first, second] = [await act('retry', id, { key }), await act('retry', id, { key })]
    expect([second.status, second.text]).toEqual([200, first.text])
    expect(await actsOn(id)).toEqual(['api_key transaction_retried'])
    const cancelling = { key: randomUUID() }
    const cancelled = await act('cancel', id, cancelling)
    await world.sql`update transactions set status = 'failed', error_code = 'expired', final = true where id = ${id}`
    expect((await act('cancel', id, cancelling)).text).toBe(cancelled.text)
    const another = await act('cancel', await world.send(await world.wallet()), cancelling)
    expect([another.status, another.json.code]).toEqual([409, 'idempotency_mismatch'])
  })

  test.each(['cancel', 'retry'] as const)('does not exist for a stranger: %s', async (verb) => {
    const id = await world.send(await world.wallet())
    await world.sql`delete from graphile_worker._private_jobs where key = ${`broadcast:${id}`}`
    const [other, none] = [await act(verb, id, { who: stranger }), await act(verb, randomUUID(), { who: stranger })]
    expect([other.status, other.json.code, other.text]).toEqual([404, 'transaction_not_found', none.text])
    expect(await actsOn(id)).toEqual([])
    expect(await jobsOf(id)).toHaveLength(0)
    expect((await world.whyOf(id)).cancelling).toBe(false)
    const wrong = await world.service.post(`/transactions/${verb}`, { transaction_id: '7' })
    expect([wrong.status, wrong.json.error]).toEqual([400, 'Field "transaction_id" must be a UUID.'])
  })

  test.each(['cancel', 'retry'] as const)('is not touched by a key without the scope "sign": %s', async (verb) => {
    const { projectId } = world.service.project
    const id = await world.send(await world.wallet())
    const of = { projectId, name: 'Reader', scopes: ['read', 'admin'], expiresAt: null, actor: 'operator' } as const
    const who = world.service.as({ projectId, apiKey: (await createApiKey(world.service.ctx, of)).text })
    const refused = await act(verb, id, { who })
    expect([refused.status, refused.json.code]).toEqual([403, 'scope_required'])
    expect(await actsOn(id)).toEqual([])
  })
})
