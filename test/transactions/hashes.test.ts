// A transaction is found by the hash of each of its attempts, also those that were never sent, while it waits and when
// it is final.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql as text } from 'drizzle-orm'
import { attemptsWith, hasHash } from '../../db/queries/attempts.ts'
import { findAttempts } from '../../db/queries/mined.ts'
import { transactions } from '../../db/schema.ts'
import { createProject } from '../../src/operators/projects.ts'
import { network, type OperatorWorld, startOperatorWorld } from '../cli/operator-world.ts'
import { someOf } from '../support/long.ts'

const BLOCKS_TO_FINAL = 20

let world: OperatorWorld
let waits: string
let final: string

type Row = { readonly hash: string; readonly kind: string; readonly rung: number; readonly raw: string | null }

const rowsOf = async (id: string): Promise<readonly Row[]> => [
  ...(await world.sql<Row[]>`
    select hash, kind, rung, raw from tests.attempts where transaction_id = ${id}
    order by array_position(array['rung', 'cancel', 'former_cancel'], kind), rung`),
]

const statusOf = (hash: string) =>
  world.service.get('/transactions/status-by-hash', { network, transaction_hash: hash })

/** As two speed-ups of a transaction whose cancel was sent leave them. */
const addFormerCancels = (id: string) => {
  const hashes = [1, 2].map(() => `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll('-', ''))
  const keys = hashes.map((hash) => String(BigInt.asIntN(64, BigInt(`0x${hash.slice(0, 16)}`))))
  return world.sql`
    update ladders set hashes = hashes || ${`{${hashes.map((hash) => `"\\\\x${hash}"`)}}`}::text::bytea[],
      hash_keys = hash_keys || ${`{${keys}}`}::text::bigint[],
      accepted_at = accepted_at || '{null,null}', last_errors = last_errors || '{null,null}'
    where transaction_id = ${id}`
}

beforeAll(async () => {
  world = await startOperatorWorld()
  const from = await world.wallet()
  waits = await world.send(from)
  final = await world.send(from)
  await world.startWorker()
  await world.service.settled(final)
  await addFormerCancels(final)
  await world.chain.mine(BLOCKS_TO_FINAL)
  await world.until(
    () => world.sql`select from transactions where not final`,
    (rows) => rows.length === 0,
  )
  await world.stopWorkers()
  waits = await world.send(from)
})

afterAll(() => world.close())

describe.each(['waits', 'is final'] as const)('a transaction that %s', (state) => {
  const its = () => (state === 'waits' ? waits : final)

  test('is found by each of its hashes, over HTTP and by `tx show`', async () => {
    const rows = await rowsOf(its())
    expect(rows.length).toBeGreaterThan(4)
    expect(rows.filter(({ raw }) => (raw === null) !== (state === 'is final'))).toEqual([])
    expect(rows.some(({ kind }) => kind === 'former_cancel')).toBe(state === 'is final')
    for (const { hash } of someOf(rows, 8)) {
      const shownHash = state === 'waits' ? null : rows[0]?.hash
      expect((await statusOf(hash)).json).toMatchObject({ network, transaction_hash: shownHash })
      const { transaction, attempts } = await world.cliJson('tx', 'show', hash)
      expect(transaction.id).toBe(its())
      expect(attempts.map((each: { hash: string }) => each.hash)).toEqual(rows.map((row) => row.hash))
    }
  })

  test('is not found by another project, and a hash that begins as one of its hashes finds nothing', async () => {
    const [, , unsent] = await rowsOf(its())
    const nobodys = `${unsent?.hash.slice(0, 18)}${'ab'.repeat(24)}`
    expect((await statusOf(nobodys)).status).toBe(404)
    expect((await world.cli('tx', 'show', nobodys)).exitCode).toBe(1)
    const stranger = world.service.as(await createProject(world.service.ctx, { name: 'Other', actor: 'operator' }))
    const asked = { network, transaction_hash: unsent?.hash ?? '' }
    expect((await stranger.get('/transactions/status-by-hash', asked)).status).toBe(404)
  })
})

test('the tracker finds the attempts of unfinished transactions among all hashes of a block', async () => {
  const { db } = world.service.ctx
  const ours = await rowsOf(waits)
  const ended = await rowsOf(final)
  const others = Array.from({ length: 1_000 }, (_, index) => `0x${String(index).padStart(64, '7')}`)
  const hashes = [...others, ...ours.map(({ hash }) => hash), ...ended.map(({ hash }) => hash)]
  const found = await findAttempts(db, { network, hashes })
  expect(found.map(({ hash }) => hash).sort()).toEqual(ours.map(({ hash }) => hash).sort())
  expect(new Set(found.map(({ transactionId }) => transactionId))).toEqual(new Set([waits]))
  expect(await findAttempts(db, { network: 'Polygon', hashes })).toEqual([])
})

test('hashes are looked up by an index', async () => {
  const hashes = [`0x${'12'.repeat(32)}`, `0x${'34'.repeat(32)}`]
  const plans = await world.service.ctx.db.transaction(async (tx) => {
    await tx.execute(text`set local enable_seqscan = off`)
    const ofOne = text`select ${transactions.id} from ${transactions} where ${hasHash({ network, hash: hashes[0] ?? '' })}`
    const ofMany = text`select from ${attemptsWith({ network, hashes })}`
    return [await tx.execute(text`explain ${ofOne}`), await tx.execute(text`explain ${ofMany}`)]
  })
  for (const { rows } of plans) expect(JSON.stringify(rows)).toContain('ladders_hashes')
})
