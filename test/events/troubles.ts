// The check after a crash: each cause has its event, and no project's ids have a gap.

import type { Sql } from 'postgres'
import type { Db } from '../../db/client.ts'
import { numberEvents } from '../../db/queries/events.ts'

/** The indexer may write events meanwhile. */
const ROUNDS_MAX = 20

/** Gives each event its number. @throws Error if some get none. */
const numberAll = async ({ db, sql }: { readonly db: Db; readonly sql: Sql }): Promise<void> => {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const waiting = await sql<{ id: string }[]>`select distinct project_id as id from events where number is null`
    if (waiting.length === 0) return
    for (const { id: projectId } of waiting) await numberEvents(db, { projectId, atMost: 1_000_000 })
  }
  throw new Error('events stay without a number')
}

/** Reports gaps in the ids of events, and wallets and policies without exactly one event. */
export const eventTroubles = async ({
  db,
  sql,
}: {
  readonly db: Db
  readonly sql: Sql
}): Promise<readonly string[]> => {
  await numberAll({ db, sql })
  const rows = await sql<{ trouble: string }[]>`
    select format('%s has %s events with the ids %s to %s', project_id, count(*), min(number), max(number)) as trouble
    from events where number is not null group by project_id having (min(number), max(number)) is distinct from (1, count(*))
    union all
    select format('the wallet %s has %s events', wallet.id, count(event.id))
    from wallets wallet left join events event on event.type = 'wallet.created' and event.data->>'id' = wallet.id::text
    group by wallet.id having count(event.id) <> 1
    union all
    select format('the policy %s has %s events', policy.id, count(event.id))
    from policies policy left join events event on event.type = 'policy.created' and event.data->>'policy_uuid' = policy.id::text
    group by policy.id having count(event.id) <> 1`
  return rows.map(({ trouble }) => trouble)
}

/** As the output plugin `test_decoding` writes a changed row. */
const CHANGED = /^table public\.transactions: (INSERT|UPDATE): .*?\bid\[uuid\]:'([^']+)'.*? status\[[^\]]+\]:'(\w+)'/s
const SLOT = 'noted_statuses'

/**
 * Notes from now on each status of a transaction, in another way than events are written: from PostgreSQL's log,
 * because vaults refuse a database with a trigger that is not ours. The server needs `LOGICAL`.
 * @returns a function that reports transactions, recorded since then, whose events are not exactly their statuses.
 */
export const noteStatuses = async (sql: Sql) => {
  await sql`select pg_create_logical_replication_slot(${SLOT}, 'test_decoding')`
  /** A server that was killed may show changes again. */
  const read = new Set<string>()
  const noted = new Map<string, string[]>()

  const note = async (): Promise<void> => {
    const rows = await sql<{ xid: string; data: string }[]>`
      select xid::text, data from pg_logical_slot_get_changes(${SLOT}, null, null)
      where data like 'table public.transactions: %'`
    const unread = rows.filter(({ xid }) => !read.has(xid))
    for (const { xid, data } of unread) {
      read.add(xid)
      const [, act, id, status] = data.match(CHANGED) ?? []
      if (id === undefined || status === undefined) throw new Error(`unreadable: ${data}`)
      if (act === 'INSERT') noted.set(id, [status])
      else if (noted.get(id)?.at(-1) !== status) noted.get(id)?.push(status)
    }
  }

  return async (): Promise<readonly string[]> => {
    await note()
    const rows = await sql<{ id: string; statuses: string }[]>`
      select data->>'transaction_id' as id, string_agg(data->>'status', ' ' order by number) as statuses
      from events where type = 'transaction.updated' group by 1`
    const told = new Map(rows.map(({ id, statuses }) => [id, statuses]))
    return [...noted].flatMap(([id, statuses]) => {
      const [was, says] = [statuses.join(' '), told.get(id) ?? 'nothing']
      return was === says ? [] : [`${id} was ${was}, and its events say ${says}`]
    })
  }
}
