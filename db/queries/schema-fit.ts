import { getTableColumns, getTableName, is, sql } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import type { Queryable } from '../client.ts'
import { readOnlyError } from '../pool.ts'
import * as schema from '../schema.ts'

/** All columns of this version, as `table.column`. */
const EXPECTED: readonly string[] = Object.values(schema)
  .filter((each) => is(each, PgTable))
  .flatMap((table) => Object.values(getTableColumns(table)).map(({ name }) => `${getTableName(table)}.${name}`))

/**
 * The columns that this version uses and the database does not have, sorted: the database is older than the code, or so much
 * newer that it lost them. Reads only the catalogue, which every role may read, also before the first migration.
 * @throws Error with the code 25006 if nothing can be written there
 */
export const missingColumns = async (db: Queryable): Promise<readonly string[]> => {
  const { rows } = await db.execute<{ missing: string[]; isReadOnly: boolean }>(sql`
    select array(
      select name from unnest(${sql.param(EXPECTED)}::text[]) name
      where not exists (
        select from pg_class relation join pg_attribute attribute on attribute.attrelid = relation.oid
        where relation.relnamespace = to_regnamespace('public')
          and relation.relname = split_part(name, '.', 1) and relation.relkind in ('r', 'p')
          and attribute.attname = split_part(name, '.', 2) and attribute.attnum > 0 and not attribute.attisdropped
      )
      order by name
    ) as missing, pg_is_in_recovery() or current_setting('transaction_read_only')::bool as "isReadOnly"`)
  if (rows[0]?.isReadOnly !== false) throw readOnlyError()
  return rows[0].missing
}
