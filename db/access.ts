// What each kind of process may do with a table. Declared beside the table; grants.ts makes SQL of it.

import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'

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
