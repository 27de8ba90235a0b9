// Attempts of final transactions become hashes: each still finds its transaction, and a reorganisation still finds
// each.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql as text } from 'drizzle-orm'
import { addJob } from '../../db/jobs.ts'
import { FOLDED_AFTER_DAYS, foldAttempts } from '../../db/queries/attempts.ts'
import { createProject } from '../../src/operators/projects.ts'
import { network, type OperatorWorld, startOperatorWorld } from '../cli/operator-world.ts'
import { longTest, someOf } from '../support/long.ts'

const BLOCKS_TO_FINAL = 20

let world: OperatorWorld

beforeAll(async () => {
  world = await startOperatorWorld()
  await world.startWorker()
})

afterAll(() => world.close())

type Row = { readonly hash: string; readonly kind: string; readonly rung: number; readonly raw: string | null }

const rowsOf = async (id: string): Promise<readonly Row[]> => [
  ...(await world.sql<Row[]>`
    select hash, kind, rung, raw from attempts where transaction_id = ${id}
    order by array_position(array['rung', 'cancel', 'former_cancel'], kind), rung`),
]

const foldedOf = async (id: string): Promise<readonly string[] | null> => {
  const [row] = await world.sql`
    select (select array_agg('0x' || encode(hash, 'hex') order by place) from unnest(attempt_hashes) with ordinality as each(hash, place)) as hashes
    from transactions where id = ${id}`
  return row?.hashes ?? null
}

const makeFinal = async (ids: readonly string[]): Promise<void> => {
  for (const id of ids) expect((await world.service.settled(id)).json.status).toBe('success')
  // Until the result is final, the signed bytes may be needed again. Those before the last may be final by now.
  expect((await rowsOf(ids.at(-1) ?? ''))[0]?.raw).toBeString()
  await world.chain.mine(BLOCKS_TO_FINAL)
  await world.until(
    () => world.sql`select id from transactions where id in ${world.sql([...ids])} and final`,
    (rows) => rows.length === ids.length,
  )
}

const finalOnes = async (count: number): Promise<string[]> => {
  const from = await world.wallet()
  const ids: string[] = []
  for (let sent = 0; sent < count; sent += 1) ids.push(await world.send(from, { value: String(sent + 1) }))
  await makeFinal(ids)
  return ids
}

/** As if they had ended so long ago. */
const age = (ids: readonly string[], days: number) =>
  world.sql`update transactions set updated_at = updated_at - make_interval(days => ${days}) where id in ${world.sql([...ids])}`

const fold = async (ids: readonly string[]): Promise<void> => {
  await age(ids, FOLDED_AFTER_DAYS)
  await addJob(world.service.ctx.db, 'fold_attempts', {})
  for (const id of ids)
    await world.until(
      () => rowsOf(id),
      (rows) => rows.length === 0,
    )
}

const shown = async (key: string) => {
  const { transaction, attempts } = await world.cliJson('tx', 'show', key)
  return { transaction, attempts: attempts as Record<string, unknown>[] }
}

/** As two speed-ups of a transaction whose cancel was sent leave them. */
const addFormerCancels = async (id: string): Promise<void> => {
  for (const rung of [0, 1]) {
    const hash = `0x${crypto.randomUUID().replaceAll('-', '').repeat(2)}`
    await world.sql`
      insert into attempts (network, hash, transaction_id, kind, rung) values (${network}, ${hash}, ${id}, 'former_cancel', ${rung})`
  }
}

const statusOf = (hash: string) =>
  world.service.get('/transactions/status-by-hash', { network, transaction_hash: hash })

describe('a transaction that has been final for a week', () => {
  let id: string
  let before: Awaited<ReturnType<typeof rowsOf>>
  let shownBefore: Awaited<ReturnType<typeof shown>>

  beforeAll(async () => {
    ;[id = ''] = await finalOnes(1)
    await addFormerCancels(id)
    before = await rowsOf(id)
    shownBefore = await shown(id)
    await fold([id])
  })

  test('has no rows of attempts, and their hashes by their numbers', async () => {
    expect(before.length).toBeGreaterThan(4)
    expect(before.filter(({ raw }) => raw !== null)).toEqual([])
    expect(await foldedOf(id)).toEqual(before.map(({ hash }) => hash))
  })

  test('is found by each of its hashes, over HTTP and by `tx show`', async () => {
    for (const { hash } of someOf(before, 8)) {
      const { status, json } = await statusOf(hash)
      expect({ status, json }).toMatchObject({
        status: 200,
        json: { status: 'success', transaction_hash: before[0]?.hash },
      })
      expect((await shown(hash)).transaction.id).toBe(id)
    }
  })

  test('looks the same to operators, but for the fees and for when a node accepted an attempt', async () => {
    const { transaction, attempts } = await shown(id)
    const kept = ({ attempt, kind, hash, chosen, mined, network: of }: Record<string, unknown>) => ({
      attempt,
      kind,
      hash,
      chosen,
      mined,
      of,
    })
    expect(attempts.map(kept)).toEqual(shownBefore.attempts.map(kept))
    expect(attempts.every(({ sendable, max_fee_per_gas: fee }) => sendable === false && fee === null)).toBe(true)
    expect({ ...transaction, updated_at: '', age: '' }).toEqual({
      ...shownBefore.transaction,
      ...{ updated_at: '', age: '', accepted_at: null },
    })
    expect(transaction).toMatchObject({ attempt_hash: before[0]?.hash, mined_attempt: 'rung' })
  })

  test("is not found by another project, and a hash that is nobody's finds nothing", async () => {
    // It begins as one of its hashes does.
    const nobodys = `${before[0]?.hash.slice(0, 18)}${'ab'.repeat(24)}`
    expect((await statusOf(nobodys)).status).toBe(404)
    expect((await world.cli('tx', 'show', nobodys)).exitCode).toBe(1)
    const stranger = world.service.as(await createProject(world.service.ctx, { name: 'Other', actor: 'operator' }))
    const [, , unsent] = before
    expect(
      (await stranger.get('/transactions/status-by-hash', { network, transaction_hash: unsent?.hash ?? '' })).status,
    ).toBe(404)
  })

  test('cannot be made open again, whoever writes it', async () => {
    const reopened = world.sql`update transactions set final = false where id = ${id}`.then(() => null)
    await expect(reopened).rejects.toThrow('transactions_folded_is_final')
  })

  test('the hash is looked up by an index', async () => {
    const { rows } = await world.service.ctx.db.transaction(async (tx) => {
      await tx.execute(text`set local enable_seqscan = off`)
      return tx.execute(text`explain select id from transactions where attempt_hash_keys @> array[5::bigint]`)
    })
    expect(JSON.stringify(rows)).toContain('transactions_attempt_hashes')
  })
})

describe('rows of attempts stay', () => {
  test('of a transaction that is not final, and of one that became final lately', async () => {
    const [live = '', late = '', old = ''] = await finalOnes(3)
    await age([late], FOLDED_AFTER_DAYS - 1)
    await age([live, old], 100)
    // In one transaction, as the tracker would make it final again.
    await world.service.ctx.db.transaction(async (tx) => {
      await tx.execute(text`update transactions set final = false where id = ${live}`)
      expect(await foldAttempts(tx, { limit: 100, afterDays: FOLDED_AFTER_DAYS })).toBe(1)
      await tx.execute(text`update transactions set final = true, updated_at = now() where id = ${live}`)
    })
    for (const id of [live, late]) {
      expect(await foldedOf(id)).toBeNull()
      expect((await rowsOf(id)).length).toBeGreaterThan(4)
    }
    expect(await rowsOf(old)).toHaveLength(0)
  })

  longTest('of a transaction that somebody has locked: the job does not wait, and folds it the next time', async () => {
    const [locked = '', free = ''] = await finalOnes(2)
    await age([locked, free], 30)
    await world.sql.begin(async (other) => {
      await other`select from transactions where id = ${locked} for update`
      await foldAttempts(world.service.ctx.db, { limit: 100, afterDays: FOLDED_AFTER_DAYS })
      expect(await rowsOf(free)).toHaveLength(0)
      expect((await rowsOf(locked)).length).toBeGreaterThan(4)
    })
    expect(await foldAttempts(world.service.ctx.db, { limit: 100, afterDays: FOLDED_AFTER_DAYS })).toBe(1)
    expect(await rowsOf(locked)).toHaveLength(0)
  })

  longTest('until their turn: a batch has a limit, and takes the oldest first', async () => {
    const ids = await finalOnes(3)
    const [first = '', second = '', third = ''] = ids
    await age([first], 30)
    await age([second], 40)
    await age([third], 50)
    const folded = async () => Promise.all(ids.map(async (id) => (await foldedOf(id)) !== null))
    expect(await foldAttempts(world.service.ctx.db, { limit: 2, afterDays: FOLDED_AFTER_DAYS })).toBe(2)
    expect(await folded()).toEqual([false, true, true])
    expect(await foldAttempts(world.service.ctx.db, { limit: 2, afterDays: FOLDED_AFTER_DAYS })).toBe(1)
    expect(await foldAttempts(world.service.ctx.db, { limit: 2, afterDays: FOLDED_AFTER_DAYS })).toBe(0)
  })
})

describe('after a reorganisation below what was final', () => {
  longTest(
    'folded transactions are found in another block or on no chain, and the moved one becomes final again',
    async () => {
      const from = await world.wallet()
      await world.chain.mine()
      const moved = await world.send(from, { value: '1' })
      const [{ raw = null } = {}] = await rowsOf(moved)
      await world.service.settled(moved)
      const gone = await world.send(from, { value: '2' })
      await makeFinal([moved, gone])
      await addFormerCancels(moved)
      const before = { moved: await rowsOf(moved), gone: await rowsOf(gone) }
      await fold([moved, gone])
      await world.chain.rpc('anvil_reorg', [BLOCKS_TO_FINAL + 3, [[raw, 2]]])
      await world.chain.mine(3)
      const { hash } = await world.chain.publicClient.getBlock()
      await world.until(
        () => world.sql`select 1 from cursors where purpose = 'track' and block_hash = ${hash}`,
        (rows) => rows.length === 1,
      )
      const { output } = await world.cli('tx', 'repair', '--network', network, '--yes')
      expect(output).toMatch(new RegExp(`^${moved} .* in another block: `, 'm'))
      expect(output).toMatch(new RegExp(`^${gone} .* on no chain: `, 'm'))
      expect(await foldedOf(moved)).toBeNull()
      expect(await rowsOf(moved)).toEqual(before.moved.map((row) => ({ ...row, raw: null })))
      await world.chain.mine(BLOCKS_TO_FINAL)
      await world.until(
        () => world.sql`select 1 from transactions where id = ${moved} and final and status = 'success'`,
        (rows) => rows.length === 1,
      )
      await fold([moved])
      expect(await foldedOf(moved)).toEqual(before.moved.map((row) => row.hash))
      expect(await foldedOf(gone)).toEqual(before.gone.map((row) => row.hash))
      expect((await world.service.get('/transactions/status-by-id', { id: gone })).json).toMatchObject({
        status: 'failed',
        code: 'reorganised',
      })
    },
  )
})
