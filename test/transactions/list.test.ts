// The list of transactions over HTTP, with a real chain.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { createProject } from '../../src/operators/projects.ts'
import { network, type OperatorWorld, startOperatorWorld } from '../cli/operator-world.ts'
import { isLong } from '../support/long.ts'
import type { Answer, Service } from '../support/service.ts'

type Item = { readonly transaction_id: string; readonly created_at: string; readonly status: string }
type Caller = Pick<Service, 'get' | 'post'>

let world: OperatorWorld
let stranger: ReturnType<Service['as']>

beforeAll(async () => {
  world = await startOperatorWorld()
  stranger = world.service.as(await createProject(world.service.ctx, { name: 'Other', actor: 'operator' }))
})
afterEach(() => world.stopWorkers())
afterAll(() => world.close())

const list = (query: Record<string, string> = {}, who: Caller = world.service): Promise<Answer> =>
  who.get('/transactions', query)

const idsOf = ({ json }: Answer): readonly string[] => json.map((item: Item) => item.transaction_id)

/** All pages of a list, one after the other. */
const pagesOf = async (query: Record<string, string>): Promise<readonly (readonly string[])[]> => {
  const pages: (readonly string[])[] = []
  for (let before: string | undefined = ''; before !== undefined; before = pages.at(-1)?.at(-1)) {
    const page = idsOf(await list({ ...query, before }))
    if (page.length === 0) break
    pages.push(page)
  }
  return pages
}

const settled = async (id: string) => (await world.service.settled(id)).json

/** A wallet with three transactions: one that succeeded, one that failed, one that waits. */
const makeWalletWithThree = async () => {
  const from = await world.wallet()
  const done = await world.send(from)
  await world.startWorker()
  expect(await settled(done)).toMatchObject({ status: 'success' })
  await world.stopWorkers()
  const failed = await world.send(from)
  await world.sql`update transactions set status = 'failed', error_code = 'execution_reverted', error = 'It reverted.',
    final = true, settled_at = now() where id = ${failed}`
  return { from, done, failed, waiting: await world.send(from) }
}

let three: ReturnType<typeof makeWalletWithThree> | undefined
/** The same one for all tests. */
const walletWithThree = () => {
  three ??= makeWalletWithThree()
  return three
}

describe('the list of transactions', () => {
  test('shows each as status-by-id does, with its wallet, its kind and its time, the newest first', async () => {
    const { from, done, failed, waiting } = await walletWithThree()
    const answer = await list({ network, wallet_address: from })
    expect(idsOf(answer)).toEqual([waiting, failed, done])
    for (const item of answer.json) {
      const { wallet_address, kind, created_at, ...status } = item
      expect([wallet_address, kind]).toEqual([from, 'send'])
      const [row] = await world.sql`select created_at from transactions where id = ${item.transaction_id}`
      expect(created_at).toBe(row?.created_at.toISOString())
      expect((await world.service.get('/transactions/status-by-id', { id: item.transaction_id })).json).toEqual(status)
    }
    expect(answer.json[1]).toMatchObject({ status: 'failed', code: 'execution_reverted', error: 'It reverted.' })
    const { events } = (await world.service.get('/events', { types: 'transaction.updated', limit: '500' })).json
    for (const { wallet_address: _wallet, kind: _kind, created_at: _at, ...status } of answer.json) {
      const told = events.filter(({ data }: { data: Item }) => data.transaction_id === status.transaction_id)
      expect(told.at(-1).data).toEqual(status)
    }
  })

  test('is of one wallet, of some statuses, of one network or of a time', async () => {
    const { from, done, failed, waiting } = await walletWithThree()
    const other = await world.send(await world.wallet())
    // Only wallets on one network have the address, so the network may be left out.
    const of = { wallet_address: from.toLowerCase() }
    expect(idsOf(await list({ page_size: '4' }))).toEqual([other, waiting, failed, done])
    expect(idsOf(await list({ network, page_size: '4' }))).toEqual([other, waiting, failed, done])
    expect(idsOf(await list({ network: 'Polygon' }))).toEqual([])
    expect(idsOf(await list({ ...of, status: 'success' }))).toEqual([done])
    expect(idsOf(await list({ ...of, status: 'pending' }))).toEqual([])
    expect(idsOf(await list({ ...of, status: 'submitted,failed' }))).toEqual([waiting, failed])
    expect(idsOf(await list({ ...of, status: 'failed,failed' }))).toEqual([failed])
    expect(idsOf(await list({ status: 'submitted,pending', page_size: '2' }))).toEqual([other, waiting])
    const created_from: string = (await list({ ...of, status: 'failed' })).json[0].created_at
    expect(idsOf(await list({ ...of, created_from }))).toEqual([waiting, failed])
    expect(idsOf(await list({ ...of, created_until: created_from }))).toEqual([done])
    expect(idsOf(await list({ ...of, created_from: created_from.replace('Z', '+00:00') }))).toEqual([waiting, failed])
    expect(idsOf(await list({ ...of, status: 'null', created_from: '', before: 'null' }))).toHaveLength(3)
  })

  test('has each once over its pages, also those that were recorded at the same time', async () => {
    const { safe } = await world.contractWallet()
    const sent = await world.send(safe)
    const more = [await world.send(safe), await world.send(safe)]
    const { json: all } = await list({ network, wallet_address: safe })
    expect(all.map((item: { kind: string }) => item.kind).sort()).toEqual(['deployment', 'send', 'send', 'send'])
    expect(all.every((item: { wallet_address: string }) => item.wallet_address === safe)).toBe(true)
    const ids = all.map((item: Item) => item.transaction_id)
    expect(new Set(ids)).toEqual(new Set([...ids, sent, ...more]))
    const [first, second] = all.slice(-2)
    expect(first.created_at).toBe(second.created_at)
    for (const [page_size, sizes] of [...(isLong ? [['1', [1, 1, 1, 1]] as const] : []), ['3', [3, 1]]] as const) {
      const pages = await pagesOf({ network, wallet_address: safe, page_size })
      expect(pages.map((page) => page.length)).toEqual([...sizes])
      expect(pages.flat()).toEqual(ids)
    }
  })

  test('says why a transaction waits', async () => {
    const id = await world.send(await world.wallet())
    await world.sql`update ladders set last_errors[1] = 'the nonce is used on the chain' where transaction_id = ${id}`
    expect((await list({ page_size: '1' })).json).toMatchObject([{ transaction_id: id, waiting: 'nonce_used' }])
  })

  test('of a stranger is empty, and names neither wallets nor transactions of others', async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    expect((await list({}, stranger)).json).toEqual([])
    const unknown = `0x${'1'.repeat(40)}`
    for (const query of [{ network }, {}]) {
      const [other, none] = [
        await list({ ...query, wallet_address: from }, stranger),
        await list({ ...query, wallet_address: unknown }, stranger),
      ]
      expect([other.status, other.text]).toEqual([none.status, none.text])
      expect(other.json.code).toBe('network' in query ? 'wallet_forbidden' : 'network_required')
    }
    const [other, none] = [await list({ before: id }, stranger), await list({ before: randomUUID() }, stranger)]
    expect([other.status, other.text]).toEqual([400, none.text])
  })

  test.each([
    ['network', 'Nowhere', 'one of Ethereum, '],
    ['status', 'done', 'one or several of submitted, pending, success, failed, separated by commas'],
    ['status', 'pending,', 'one or several of'],
    ['created_from', 'yesterday', 'an RFC 3339 time with an offset'],
    ['created_until', '2026-02-30T00:00:00Z', 'an RFC 3339 time with an offset'],
    ['before', '7', 'a UUID'],
    ['page_size', '101', 'a whole number from 1 to 100'],
  ])('refuses %s=%s by the name of the field', async (field, value, rule) => {
    const answer = await list({ [field]: value })
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
    expect(answer.json.error).toContain(`"${field}" must be ${rule}`)
  })
})
