// How far followers were behind their chains, minute by minute, for the plots of the console.

import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import type { Network } from '../words.ts'

/** A day, and the longest interval of a plot before it. */
const KEPT_HOURS = 25

/** Notes this minute's heads beside the cursors, and forgets old ones. @param heads null where no node answered. */
export const noteHeads = async (
  db: Queryable,
  heads: readonly { readonly network: Network; readonly head: bigint | null }[],
): Promise<void> => {
  const networks = sql.param(heads.map(({ network }) => network))
  const numbers = sql.param(heads.map(({ head }) => head?.toString() ?? null))
  await db.execute(sql`
    insert into public.heads (network, at, head, tracked, indexed)
    select network.name, date_trunc('minute', now()), given.head, track.block_number, index.block_number
    from unnest(${networks}::text[], ${numbers}::bigint[]) given (network, head)
    join public.networks network on network.name = given.network
    left join public.cursors track on track.network = network.name and track.purpose = 'track'
    left join public.cursors index on index.network = network.name and index.purpose = 'index'
    on conflict (network, at) do update set head = excluded.head, tracked = excluded.tracked, indexed = excluded.indexed`)
  await db.execute(sql`delete from public.heads where at < now() - make_interval(hours => ${KEPT_HOURS}::int)`)
}

export type HeadInterval = {
  readonly network: Network
  /** From 0, the oldest; -1 is the one before. */
  readonly index: number
  /** The newest block; null if no node answered. */
  readonly head: number | null
  /** By how many blocks each follower was behind it, at the most; null if that is not known. */
  readonly trackedBehind: number | null
  readonly indexedBehind: number | null
}

/** The heads in each of the intervals up to now, and in one before; those without a row are left out. */
export const readHeads = async (
  db: Queryable,
  { intervals, seconds }: { readonly intervals: number; readonly seconds: number },
): Promise<readonly HeadInterval[]> => {
  const { rows } = await db.execute<HeadInterval>(sql`
    select network, ${intervals}::int - 1 - floor(extract(epoch from now() - at) / ${seconds}::int)::int as index,
      max(head)::float8 as head, max(greatest(head - tracked, 0))::float8 as "trackedBehind",
      max(greatest(head - indexed, 0))::float8 as "indexedBehind"
    from public.heads
    where at > now() - make_interval(secs => (${intervals}::int + 1) * ${seconds}::int) and at <= now()
    group by 1, 2 order by 1, 2`)
  return rows
}
