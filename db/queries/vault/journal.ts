// The rows of the vault as a journal keeps them: whole, as PostgreSQL's own JSON, which loses no digit.

import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../../client.ts'
import { firstRow, readRows, readValue } from '../../rows.ts'
import { audit, vaultJournals } from '../../schema.ts'

export type Kept = {
  readonly key: readonly string[]
  /** Columns that are not kept. */
  readonly without?: readonly string[]
  /** What else is kept of a row `t`, in a field `more`. */
  readonly more?: SQL
  /**
   * Shows which of two states of a row is newer: a number that only grows, and perhaps a time after which nothing
   * changes. Absent if the deciding values never change. A rotation of the project's key only seals the row again, and
   * older seals still open.
   */
  readonly age?: { readonly grows: string; readonly ends?: string }
  /** The columns that are written where the present row is older. */
  readonly changing?: readonly string[]
}

/** Above all numbers that grow. */
export const ENDED = Number.MAX_SAFE_INTEGER

/** In the order in which rows can be inserted. */
export const KEPT = {
  project_keys: { key: ['project_id', 'version'] },
  developer_keys: {
    key: ['project_id'],
    age: { grows: 'version' },
    changing: ['sealed', 'version', 'updated_at'],
  },
  user_keys: {
    key: ['project_id', 'owner_id'],
    age: { grows: 'version' },
    changing: ['salt', 'sealed', 'version', 'updated_at'],
  },
  user_key_locks: {
    key: ['project_id', 'owner_id', 'kind', 'passkey_id'],
    age: { grows: 'version' },
    changing: ['sealed', 'version', 'updated_at'],
  },
  pin_guesses: {
    key: ['project_id', 'owner_id'],
    without: ['lease', 'lease_until'],
    age: { grows: 'revision' },
    changing: ['fails', 'total', 'locked_until', 'revision', 'mac'],
  },
  // A second lock means that control is shared, and the seed sealed under both.
  keyrings: {
    key: ['id'],
    more: sql`(select count(*) from public.owner_locks l where l.keyring_id = t.id)`,
    age: { grows: 'more' },
  },
  owner_locks: {
    key: ['keyring_id', 'control_mode'],
    age: { grows: 'version' },
    changing: ['sealed', 'policies_only', 'version'],
  },
  wallet_keys: { key: ['wallet_id'] },
  policies: {
    key: ['id'],
    age: { grows: 'uses', ends: 'revoked_at' },
    changing: ['uses', 'spent_value', 'spent_fee', 'limit_counts', 'mac', 'updated_at', 'revoked_at'],
  },
  policy_locks: { key: ['id'] },
  used_approvals: { key: ['approval_id'] },
  delegate_lists: {
    key: ['project_id'],
    age: { grows: 'version' },
    changing: ['delegates', 'version', 'mac', 'updated_at'],
  },
  freeze_lists: {
    key: ['id'],
    age: { grows: 'version' },
    changing: ['freezes', 'version', 'mac', 'updated_at'],
  },
} as const satisfies Readonly<Record<string, Kept>>

export type JournalTable = keyof typeof KEPT

export const JOURNAL_TABLES = Object.keys(KEPT) as readonly JournalTable[]

export type RowsWith = { readonly table: JournalTable; readonly where: Readonly<Record<string, string>> }

/** `text` is the row in JSON. */
export type RowImage = {
  readonly table: JournalTable
  readonly text: string
  /** It was only read from the table, which may show anything: another image of the row counts more. */
  readonly isSeen?: true
}

const list = (parts: readonly SQL[]): SQL => sql.join([...parts], sql`, `)

const names = (columns: readonly string[]): SQL => list(columns.map((column) => sql`${sql.identifier(column)}`))

/** A row that a statement calls `row`, as a journal keeps it. */
export const imageOf = (table: JournalTable, row: SQL): SQL<string> => {
  const { without = [] }: Kept = KEPT[table]
  const image = without.reduce((kept, column) => sql`${kept} - ${column}::text`, sql`pg_catalog.to_jsonb(${row})`)
  return sql`(${image})::text`
}

const imagesOf = (table: JournalTable, rows: readonly RowsWith[]): SQL => {
  const { more }: Kept = KEPT[table]
  const matches = rows.map(({ where }) => {
    const parts = Object.entries(where).map(([column, value]) => sql`t.${sql.identifier(column)} = ${value}`)
    return sql`(${sql.join(parts, sql` and `)})`
  })
  const row = imageOf(table, sql`t`)
  const image = more === undefined ? row : sql`(${row}::jsonb || pg_catalog.jsonb_build_object('more', ${more}))::text`
  return sql`select ${table}::text as "table", ${image} as text from public.${sql.identifier(table)} t
    where ${sql.join(matches, sql` or `)}`
}

export const readImages = async (db: Queryable, wanted: readonly RowsWith[]): Promise<readonly RowImage[]> => {
  const parts = JOURNAL_TABLES.flatMap((table) => {
    const rows = wanted.filter((each) => each.table === table)
    return rows.length === 0 ? [] : [imagesOf(table, rows)]
  })
  if (parts.length === 0) return []
  const { rows } = await db.execute<RowImage>(sql.join(parts, sql` union all `))
  return rows.map((row) => ({ ...row, isSeen: true as const }))
}

/** @returns the row's key as one text, and its age: higher for newer states, 1 for a row that never changes. */
export const readImage = ({ table, text }: RowImage) => {
  const { key, age }: Kept = KEPT[table]
  const row = JSON.parse(text) as Readonly<Record<string, unknown>>
  const hasEnded = age?.ends !== undefined && row[age.ends] !== null
  return {
    row,
    key: [table, ...key.map((column) => String(row[column]))].join('\n'),
    age: hasEnded ? ENDED : Number(age === undefined ? 1 : row[age.grows]),
  }
}

/** The same age of a row that a statement calls `name`. */
const ageIn = (name: 't' | 'excluded', { grows, ends }: NonNullable<Kept['age']>): SQL => {
  const column = (columnName: string) => sql`${sql.identifier(name)}.${sql.identifier(columnName)}`
  if (ends === undefined) return column(grows)
  return sql`case when ${column(ends)} is null then ${column(grows)} else ${sql.raw(String(ENDED))} end`
}

/** Writes rows where they are missing or older. @param texts of different rows. @returns how many were written. */
export const applyImages = async (tx: Tx, table: JournalTable, texts: readonly string[]) => {
  if (texts.length === 0) return 0
  const { key, age, changing = [] }: Kept = KEPT[table]
  const name = sql.identifier(table)
  const rows = sql`${`[${texts.join(',')}]`}::jsonb`
  const set = changing.map((column) => sql`${sql.identifier(column)} = excluded.${sql.identifier(column)}`)
  const conflict =
    age === undefined || set.length === 0
      ? sql`do nothing`
      : sql`(${names(key)}) do update set ${list(set)} where ${ageIn('excluded', age)} > ${ageIn('t', age)}`
  // A revoked policy has no lock any more.
  const only =
    table === 'policy_locks'
      ? sql`where exists (select from policies p where p.id = r.policy_id and p.revoked_at is null)`
      : sql``
  const { rowCount } = await tx.execute(sql`
    insert into ${name} as t
    select r.* from jsonb_populate_recordset(null::${name}, ${rows}) r ${only}
    on conflict ${conflict}`)
  if (table === 'policies') {
    await tx.execute(
      sql`delete from policy_locks l using policies p where p.id = l.policy_id and p.revoked_at is not null`,
    )
  }
  return (rowCount ?? 0) + (table === 'keyrings' ? await shareKeyrings(tx, rows) : 0)
}

/** Seals seeds under both credentials again whose second lock is missing; the lock comes after. */
const shareKeyrings = async (tx: Tx, rows: SQL) => {
  const { rowCount } = await tx.execute(sql`
    update keyrings t set sealed = r.sealed
    from jsonb_to_recordset(${rows}) as r(id uuid, sealed bytea, more int)
    where t.id = r.id and r.more > (select count(*) from public.owner_locks l where l.keyring_id = t.id) and t.sealed <> r.sealed`)
  return rowCount ?? 0
}

/** A server that took the place of another one was started at another time. Seconds, with microseconds. */
const STARTED = sql`extract(epoch from pg_postmaster_start_time())::text`

type Server = {
  readonly started: string
  /** Whether a vault has compared all that it knows with the database on this server. */
  readonly isKnown: boolean
}

/** The server that answers; null while it still goes through its log: later it has more. */
export const readServer = (db: Queryable): Promise<Server | null> =>
  firstRow(
    readRows<Server>(db)`
    select ${STARTED} as started, exists (select from ${vaultJournals} where server = ${STARTED}) as "isKnown"
    where not pg_is_in_recovery()`,
  )

const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'

/** An id in the audit; null if another program wrote another text. */
const idIn = (text: SQL): SQL => sql`case when ${text} ~ ${UUID} then (${text})::uuid end`

const UNRECORDED_MAX = 10_000

/**
 * Finds what vaults have signed and made shortly before the last mark, or since, and the API's tables lack. A failover
 * may have lost these rows, or their requests failed. A transaction that was signed anew stays unknown until it is
 * final.
 * @returns the ids of transactions and wallets, 10,000 at most.
 */
export const unrecordedIds = async (
  db: Queryable,
  { withinMs }: { readonly withinMs: number },
): Promise<readonly string[]> => {
  const transaction = idIn(sql`a.details->>'transaction'`)
  const { rows } = await db.execute<{ readonly id: string }>(sql`
    select distinct coalesce(a.details->>'transaction', a.subject) as id from ${audit} a
    where a.at > (select max(updated_at) - ${withinMs} * interval '1 ms' from ${vaultJournals})
      and case
        when a.action = 'transaction_submitted' then not exists (select from transactions t where t.id = ${transaction})
        when a.action = 'transaction_signed_anew' then exists (
          select from transactions t where t.id = ${transaction} and not t.final)
        when a.action in ('wallet_created', 'wallet_imported') then not exists (
          select from wallets w where w.id = ${idIn(sql`a.subject`)})
        else false
      end
    limit ${UNRECORDED_MAX}`)
  return rows.map(({ id }) => id)
}

/** How many records of a journal this database knows; null if it does not know the journal. */
export const readMark = (db: Queryable, id: string): Promise<number | null> =>
  readValue<number>(db)`select records::float8 as records from ${vaultJournals} where id = ${id}`

const isInUse = isNull(vaultJournals.retiredAt)

/** The journals that this database knows, but for retired ones. */
export const listJournals = async (db: Queryable): Promise<readonly string[]> => {
  const { id } = vaultJournals
  const rows = await db.select({ id }).from(vaultJournals).where(isInUse).orderBy(id)
  return rows.map((row) => row.id)
}

/** @returns false if the database knows no such journal. */
export const markRetired = async (db: Queryable, { id }: { readonly id: string }) => {
  const ofIt = and(eq(vaultJournals.id, id), isInUse)
  const { rowCount } = await db.update(vaultJournals).set({ retiredAt: sql`now()` }).where(ofIt)
  return (rowCount ?? 0) > 0
}

type Mark = { readonly id: string; readonly from: number; readonly to: number; readonly started: string }

/**
 * Marks that this database has the contents of a journal's first records, if it still knows `from` of them, on a server
 * that was `started` then. A journal that it does not know has 0.
 * @returns false if it is another database, in which nothing was changed.
 */
export const writeMark = async (db: Queryable, { id, from, to, started }: Mark) => {
  const { rows } = await db.execute(sql`
    insert into ${vaultJournals} as t (id, records, server)
    select ${id}::uuid, ${to}::bigint, ${started}::text where ${STARTED} = ${started}
      and coalesce((select records from ${vaultJournals} where id = ${id}), 0) = ${from}
    on conflict (id) do update set
      records = excluded.records, server = excluded.server, updated_at = now(), retired_at = null
      where t.records = ${from}
    returning id`)
  return rows.length === 1
}

/** The same where it was compared before. One small statement, or none that writes if no more records exist. */
export const advanceMark = async (db: Db, { id, from, to, started }: Mark) => {
  const isSame = sql`id = ${id} and records = ${from} and ${STARTED} = ${started}`
  const { rows } =
    from === to
      ? await db.execute(sql`select from ${vaultJournals} where ${isSame}`)
      : await db.execute(
          sql`update ${vaultJournals} set records = ${to}, updated_at = now(), retired_at = null where ${isSame} returning id`,
        )
  return rows.length === 1
}
