// Reads and extends the audit's chains. Nothing is ever changed.

import { and, asc, type Column, count, desc, eq, gt, lte, max, min, notExists, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../../client.ts'
import { prepare } from '../../prepare.ts'
import { pickColumns, readRows } from '../../rows.ts'
import { audit, auditChain } from '../../schema.ts'
import { type AuditRecord, EXACT_TIME, ofChain, type TimedRecord } from '../audit-rows.ts'

/** Rows above `above`: the bound is repeated for both tables, so that neither is read from its start. */
const isUnchained = (db: Queryable, above: bigint) =>
  notExists(
    db
      .select({ one: sql`1` })
      .from(auditChain)
      .where(and(eq(auditChain.auditId, audit.id), gt(auditChain.auditId, above))),
  )

/** So much is read at once: a row may be larger than its CHECK allows if the database's owner has removed that. */
const READ_BYTES_MAX = 4 * 1024 * 1024
/** PostgreSQL compresses at most so many bytes to one (LZ4; PGLZ reaches fewer): no value is read to be measured. */
const COMPRESSED_MAX = 255

const bytesOf = (column: Column) =>
  sql`pg_column_size(${column})::bigint * case when pg_column_compression(${column}) is null then 1 else ${sql.raw(String(COMPRESSED_MAX))} end`

const ROW_BYTES = sql`${bytesOf(audit.details)} + ${bytesOf(audit.actor)} + ${bytesOf(audit.subject)} + ${bytesOf(audit.mac)}`

/** In the order of ids, above `above`, as many as fit into memory, but at least one. `isFull`: there may be more. */
export const listUnchained = async (
  db: Queryable,
  input: {
    readonly chain: string | null
    readonly above: bigint
    readonly upTo: bigint | null
    readonly limit: number
  },
): Promise<{ readonly rows: readonly AuditRecord[]; readonly isFull: boolean }> => {
  const before = sql<string>`coalesce(sum(${ROW_BYTES}) over (order by ${audit.id} rows between unbounded preceding and 1 preceding), 0)`
  const found = await db
    .select({ id: audit.id, before })
    .from(audit)
    .where(
      and(
        gt(audit.id, input.above),
        input.upTo === null ? undefined : lte(audit.id, input.upTo),
        ofChain(input.chain),
        isUnchained(db, input.above),
      ),
    )
    .orderBy(asc(audit.id))
    .limit(input.limit)
  const ids = found.flatMap((row) => (BigInt(row.before) < READ_BYTES_MAX ? [String(row.id)] : []))
  if (ids.length === 0) return { rows: [], isFull: false }
  const isRead = sql`${audit.id} = any(${sql.param(ids)}::bigint[])`
  const rows = await db.select().from(audit).where(isRead).orderBy(asc(audit.id))
  return { rows, isFull: ids.length < found.length || found.length === input.limit }
}

const newest = prepare((db) => db.select({ id: max(auditChain.auditId) }).from(auditChain))

/** The highest id that has a link, or 0. */
export const newestChainedId = async (db: Queryable) => {
  const [row] = await newest(db, {})
  return row?.id ?? 0n
}

export type Link = {
  readonly chain: string
  readonly position: bigint
  readonly auditId: bigint
  readonly head: Uint8Array
}

const linkColumns = pickColumns(auditChain, 'chain', 'position', 'auditId', 'head')

export const lastLinks = async (db: Queryable, chains: readonly string[]): Promise<readonly Link[]> => {
  const { rows: ends } = await db.execute<{ chain: string; position: string }>(sql`
    select wanted.chain, last.position
    from unnest(${sql.param([...chains])}::text[]) as wanted(chain)
    cross join lateral (
      select c.position from audit_chain c where c.chain = wanted.chain order by c.position desc limit 1
    ) last`)
  if (ends.length === 0) return []
  const places = ends.map((end) => sql`(${end.chain}, ${end.position}::bigint)`)
  return db
    .select(linkColumns)
    .from(auditChain)
    .where(sql`(${auditChain.chain}, ${auditChain.position}) in (${sql.join(places, sql`, `)})`)
}

/** Adds all links or none. A unique violation means that another process has added a link at a place or for a row. */
export const insertLinks = async (db: Pick<Db, 'prepared'>, links: readonly Link[]) => {
  await db.prepared`
    insert into public.audit_chain (chain, position, audit_id, head)
    select link.chain, link.position, link.audit_id, decode(link.head, 'hex')
    from unnest(
      ${links.map(({ chain }) => chain)}::text[],
      ${links.map(({ position }) => String(position))}::bigint[],
      ${links.map(({ auditId }) => String(auditId))}::bigint[],
      ${links.map(({ head }) => Buffer.from(head).toString('hex'))}::text[]
    ) as link(chain, position, audit_id, head)`
}

export type PresentAudit = { readonly id: bigint; readonly link: Link | null; readonly previousHead: Uint8Array | null }

/** The rows that are there, by their MACs in hex. */
export const presentAudit = async (
  db: Queryable,
  rows: readonly { readonly mac: string; readonly at: Date }[],
): Promise<ReadonlyMap<string, PresentAudit>> => {
  const times = rows.map(({ at }) => at.toISOString()).toSorted()
  const { rows: present } = await db.execute<{
    mac: string
    id: string
    chain: string | null
    position: string
    head: Uint8Array
    previousHead: Uint8Array | null
  }>(sql`
    select encode(a.mac, 'hex') as mac, a.id, c.chain, c.position, c.head, p.head as "previousHead"
    from public.audit a left join public.audit_chain c on c.audit_id = a.id
    left join public.audit_chain p on p.chain = c.chain and p.position = c.position - 1
    where a.at between ${times[0]}::timestamptz and ${times.at(-1)}::timestamptz
      and a.mac = any(array(select decode(m, 'hex') from unnest(${sql.param(rows.map(({ mac }) => mac))}::text[]) m))`)
  return new Map(
    present.map(({ mac, id, chain, position, head, previousHead }) => {
      const auditId = BigInt(id)
      const link = chain === null ? null : { chain, position: BigInt(position), auditId, head }
      return [mac, { id: auditId, link, previousHead }]
    }),
  )
}

export const recentChains = async (db: Queryable, input: { readonly links: number }): Promise<readonly string[]> => {
  const newest = db
    .select({ chain: auditChain.chain })
    .from(auditChain)
    .orderBy(desc(auditChain.auditId))
    .limit(input.links)
    .as('newest')
  const rows = await db.selectDistinct({ chain: newest.chain }).from(newest)
  return rows.map((row) => row.chain)
}

/** Every chain that has a link, with one index step for each chain. */
export const listChains = async (db: Queryable): Promise<readonly string[]> =>
  (
    await readRows<{ chain: string }>(db)`
    with recursive each as (
      (select chain from audit_chain order by chain limit 1)
      union all
      select (select c.chain from audit_chain c where c.chain > each.chain order by c.chain limit 1)
      from each where each.chain is not null
    )
    select chain from each where chain is not null`
  ).map((row) => row.chain)

export type ReadLink = Link & { readonly row: TimedRecord | null }

export const readLinks = async (
  db: Queryable,
  input: { readonly chain: string; readonly after: bigint; readonly upTo?: bigint | null; readonly limit: number },
): Promise<readonly ReadLink[]> => {
  const rows = await db
    .select({ link: linkColumns, row: audit, exactTime: EXACT_TIME })
    .from(auditChain)
    .leftJoin(audit, eq(audit.id, auditChain.auditId))
    .where(
      and(
        eq(auditChain.chain, input.chain),
        gt(auditChain.position, input.after),
        typeof input.upTo === 'bigint' ? lte(auditChain.position, input.upTo) : undefined,
      ),
    )
    .orderBy(asc(auditChain.position))
    .limit(input.limit)
  return rows.map(({ link, row, exactTime: exact }) => ({
    ...link,
    row: row === null ? null : { ...row, exactTime: exact === true },
  }))
}

export const countUnchained = async (
  db: Queryable,
  input: { readonly chain: string | null },
): Promise<{ readonly rows: number; readonly oldest: Date | null }> => {
  const [row] = await db
    .select({ rows: count(), oldest: min(audit.at) })
    .from(audit)
    .where(and(ofChain(input.chain), isUnchained(db, 0n)))
  return { rows: row?.rows ?? 0, oldest: row?.oldest ?? null }
}
