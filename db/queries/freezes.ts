import { asc, inArray, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { readRows, readValue } from '../rows.ts'
import { freezeLists } from '../schema.ts'
import type { FreezeScope, Network } from '../words.ts'

/** The list of networks, beside those of projects. It is the first one in the order of ids. */
export const NETWORKS_LIST = '00000000-0000-0000-0000-000000000000'

export type FreezeListRow = Omit<typeof freezeLists.$inferSelect, 'updatedAt'>

const { id, freezes, version, mac } = freezeLists
export const freezeListColumns = { id, freezes, version, mac }

export const readFreezeLists = (db: Queryable, ids: readonly string[]): Promise<readonly FreezeListRow[]> =>
  db
    .select(freezeListColumns)
    .from(freezeLists)
    .where(inArray(id, [...ids]))

export const allFreezeLists = (db: Queryable): Promise<readonly FreezeListRow[]> =>
  db.select(freezeListColumns).from(freezeLists).orderBy(asc(id))

/** For another query: the MACs of a project's lists, that of networks first, by which a vault knows them. */
export const selectFreezeMacs = (projectId: string) =>
  sql<Uint8Array | null>`(
    select string_agg(f.mac, ''::bytea order by f.id) from ${freezeLists} f
    where f.id in (${NETWORKS_LIST}::uuid, ${projectId}::uuid))`

/** What is frozen. Columns that its scope does not use are null. */
export type FrozenThing = {
  readonly scope: FreezeScope
  readonly projectId: string | null
  readonly ownerId: string | null
  readonly walletId: string | null
  readonly network: Network | null
}

/** All freezes, oldest first. */
export const listFreezes = async (
  db: Queryable,
): Promise<readonly (FrozenThing & { readonly reason: string; readonly createdAt: Date })[]> =>
  (await allFreezeLists(db))
    .flatMap((list) =>
      list.freezes.map(({ scope, subject, reason, at }) => ({
        scope,
        projectId: list.id === NETWORKS_LIST ? null : list.id,
        ownerId: scope === 'owner' ? subject : null,
        walletId: scope === 'wallet' ? subject : null,
        network: scope === 'network' ? subject : null,
        reason,
        createdAt: new Date(at),
      })),
    )
    .toSorted((one, other) => one.createdAt.getTime() - other.createdAt.getTime())

const AUDITED = sql`
  select coalesce(a.project_id, ${NETWORKS_LIST}::uuid) as id, max((a.details->>'list_version')::int) as version,
    count(*) <> count(distinct a.details->>'list_version') as repeated
  from audit a where a.action in ('frozen', 'unfrozen') group by 1`

/** The newest version of a list that the audit has; 0 if it has none. */
export const auditedFreezeVersion = async (db: Queryable, listId: string) =>
  (await readValue<number>(db)`select version from (${AUDITED}) audited where id = ${listId}`) ?? 0

/** `repeated`: the audit has a version twice, since an earlier list was put back and then changed. */
type ListState = 'gone' | 'earlier' | 'repeated'

/** The lists that contradict the audit. Each project with a key has one. */
export const setBackFreezeLists = (
  db: Queryable,
): Promise<readonly { readonly id: string; readonly state: ListState }[]> =>
  readRows<{ readonly id: string; readonly state: ListState }>(db)`
    with audited as (${AUDITED}), made as (
      select ${NETWORKS_LIST}::uuid as id union select project_id from project_keys union select id from audited
    )
    select made.id,
      case when l.id is null then 'gone' when l.version < audited.version then 'earlier' else 'repeated' end as state
    from made left join audited on audited.id = made.id left join freeze_lists l on l.id = made.id
    where l.id is null or l.version < audited.version or audited.repeated
    order by 1`
