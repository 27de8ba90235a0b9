// What is observed of a transaction at the same time is written once, and loses nothing: each status that it had is
// told, and each attempt that a node has accepted is marked.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Tx } from '../../db/client.ts'
import { recordObservations } from '../../src/signing/transactions/record-observation.ts'
import { type OperatorWorld, startOperatorWorld } from '../cli/operator-world.ts'

let world: OperatorWorld

beforeAll(async () => {
  world = await startOperatorWorld()
  await world.sql.unsafe(`
    create table written (id uuid, status text, is_mined boolean, is_settled boolean, at bigserial);
    create function note_written() returns trigger language plpgsql security definer as $$ begin
      insert into public.written
        values (new.id, new.status, new.mined_block_hash is not null, new.settled_at is not null);
      return null;
    end $$;
    create trigger note_written after update on transactions for each row execute function note_written();`)
})

afterAll(() => world.close())

const writesOf = (id: string) =>
  world.sql`select status, is_mined, is_settled from written where id = ${id} order by at`.then((rows) => [...rows])

const toldOf = async (id: string) =>
  (await world.sql`select data->>'status' status from events where data->>'transaction_id' = ${id} order by id`).map(
    ({ status }) => status,
  )

test('several observations of a transaction are recorded together, each status with an event', async () => {
  const id = await world.send(await world.wallet())
  const hashes = await world.sql<{ hash: string }[]>`
    select hash from tests.attempts where transaction_id = ${id} and kind = 'rung' order by rung`
  const [first = '', second = ''] = hashes.map(({ hash }) => hash)
  const [blockHash, otherBlockHash] = [`0x${'ab'.repeat(32)}`, `0x${'cd'.repeat(32)}`]
  const { ctx } = world.service
  await ctx.db.transaction((tx) =>
    recordObservations(
      ctx,
      tx,
      [
        { kind: 'accepted' as const, hash: first },
        { kind: 'accepted' as const, hash: second },
        { kind: 'included' as const, hash: second, blockNumber: 5n, blockHash: otherBlockHash },
        { kind: 'excluded' as const, blockHash: otherBlockHash },
        { kind: 'included' as const, hash: first, blockNumber: 6n, blockHash },
        { kind: 'confirmed' as const, blockHash, failure: null, contractAddress: null },
      ].map((observation) => ({ transactionId: id, observation })),
    ),
  )
  expect(await toldOf(id)).toEqual(['submitted', 'pending', 'success'])
  expect(await writesOf(id)).toEqual([
    { status: 'pending', is_mined: true, is_settled: false },
    { status: 'success', is_mined: true, is_settled: true },
  ])
  expect(
    await world.sql`select hash from tests.attempts where transaction_id = ${id} and broadcast_at is not null`,
  ).toHaveLength(2)
  const [row] = await world.sql`select shown_hash, mined_block_number from transactions where id = ${id}`
  expect(row).toEqual({ shown_hash: first, mined_block_number: '6' })
})

test('on a network that needs one confirmation, a transaction gets its block and its result in one write', async () => {
  const id = await world.send(await world.wallet())
  await world.startWorker()
  await world.service.settled(id)
  await world.stopWorkers()
  expect(await writesOf(id)).toEqual([
    { status: 'pending', is_mined: false, is_settled: false },
    { status: 'success', is_mined: true, is_settled: true },
  ])
  expect(await toldOf(id)).toEqual(['submitted', 'pending', 'success'])
})

test('a transaction that a node accepts is updated within its page, and no index is written', async () => {
  const id = await world.send(await world.wallet())
  const [attempt] = await world.sql<{ hash: string }[]>`
    select hash from tests.attempts where transaction_id = ${id} and kind = 'rung' and rung = 0`
  const { ctx } = world.service
  const counts = async (tx: Tx) =>
    (
      await tx.execute<{ updated: number; hot: number }>(`
        select pg_stat_get_xact_tuples_updated(oid)::int updated, pg_stat_get_xact_tuples_hot_updated(oid)::int hot
        from pg_class where oid = 'public.transactions'::regclass`)
    ).rows[0] ?? { updated: 0, hot: 0 }
  const [before, after] = await ctx.db.transaction(async (tx) => {
    // Those of earlier transactions of this connection may still be in it.
    const first = await counts(tx)
    await recordObservations(ctx, tx, [
      { transactionId: id, observation: { kind: 'accepted', hash: attempt?.hash ?? '' } },
    ])
    return [first, await counts(tx)]
  })
  expect({ updated: after.updated - before.updated, hot: after.hot - before.hot }).toEqual({ updated: 1, hot: 1 })
})
