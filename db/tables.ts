// What the tables in schema/ are declared with: what each kind of process may do (grants.ts makes SQL of it), and
// column types that drizzle lacks: bytes as Uint8Array, base units as bigint, instants as Date.

import { getTableName, sql } from 'drizzle-orm'
import { customType, type PgTable, timestamp } from 'drizzle-orm/pg-core'

/** Privileges as GRANT takes them: `select, update (raw, last_error)`. Absent: none. */
type Rights = {
  readonly api?: string
  readonly vault?: string
  readonly worker?: string
  readonly console?: string
  /** The worker deletes the rows for which this SQL condition holds, by a function. */
  readonly workerDeletes?: string
  /** The operators' views read the table. */
  readonly views?: 'select'
}

export class TableAccess {
  readonly table: string
  constructor(
    table: PgTable,
    readonly rights: Rights,
  ) {
    this.table = getTableName(table)
  }
}

export const access = (table: PgTable, rights: Rights): TableAccess => new TableAccess(table, rights)

export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({
  dataType: () => 'bytea',
})

/** A list of bytes, each as `0x` hex. Only statements of `prepare` read it: their connection gives texts. */
export const hexes = customType<{ data: readonly string[]; driverData: string }>({
  dataType: () => 'bytea[]',
  toDriver: (value) => `{${value.map((hex) => `"\\\\x${hex.slice(2)}"`).join()}}`,
  fromDriver: (text) => (text.match(/[0-9a-f]{2,}/g) ?? []).map((hex) => `0x${hex}`),
})

const itemsIn = (list: string): readonly string[] => list.slice(1, -1).split(',').filter(Boolean)

/** Likewise of uint256. */
export const uint256s = customType<{ data: readonly bigint[]; driverData: string }>({
  dataType: () => 'numeric(78, 0)[]',
  toDriver: (value) => `{${value.join()}}`,
  fromDriver: (text) => itemsIn(text).map(uint256In),
})

/** Likewise of times, some of which are null. */
export const instants = customType<{ data: readonly (Date | null)[]; driverData: string }>({
  dataType: () => 'timestamp (6) with time zone[]',
  toDriver: (value) => `{${value.map((at) => at?.toISOString() ?? 'NULL').join()}}`,
  fromDriver: (text) => itemsIn(text).map((at) => (at === 'NULL' ? null : new Date(at.replaceAll('"', '')))),
})

/** We never write NaN, but another program may. */
export const uint256In = (text: string): bigint => (text === 'NaN' ? -1n : BigInt(text))

/**
 * Base units (wei, planck) and token ids: any uint256 fits in 78 digits. NaN is read as -1, so that one such row is
 * found to be forged and no list of rows fails.
 */
export const uint256 = customType<{ data: bigint; driverData: string }>({
  dataType: () => 'numeric(78, 0)',
  toDriver: (value) => value.toString(),
  fromDriver: uint256In,
})

export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 6 })

const LAST_MS = 8_640_000_000_000_000

export const editedInstantIn = (text: string): Date => {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? new Date(LAST_MS) : at
}

/** An instant that an attacker may have edited: what no Date can be, such as infinity, is read as the last one. */
export const editedInstant = customType<{ data: Date; driverData: string }>({
  dataType: () => 'timestamp (6) with time zone',
  toDriver: (value) => value.toISOString(),
  fromDriver: editedInstantIn,
})

export const now = sql`now()`

/**
 * A closed list is text with a CHECK, because a migration can change that more easily than an enum type. PostgreSQL
 * reads the condition anew for each statement: one list takes half as long as a list of literals.
 */
export const oneOf = (column: string, words: readonly string[]) =>
  sql.raw(`"${column}" = any ('{${words.join(',')}}'::text[])`)
