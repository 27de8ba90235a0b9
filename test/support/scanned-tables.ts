// Finds what a statement reads or writes as a whole while it holds a lock: on a large table that takes long, and
// everybody waits.

import pg from 'pg'

type Scans = ReadonlyMap<string, { readonly scans: number; readonly file: number }>

/**
 * By table: how often this transaction has read it as a whole, and the file that holds it, which a rewrite replaces.
 */
const readScans = async (client: pg.Client): Promise<Scans> => {
  const { rows } = await client.query<{ name: string; scans: string; file: string }>(
    `select relname as name, coalesce(pg_stat_get_xact_numscans(oid), 0) as scans,
       pg_relation_filenode(oid) as file
     from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  )
  return new Map(rows.map(({ name, scans, file }) => [name, { scans: Number(scans), file: Number(file) }]))
}

/**
 * Runs statements in a transaction that is undone. @returns the tables from before it that one of them went through.
 */
export const scannedTables = async (databaseUrl: string, statements: readonly string[]): Promise<readonly string[]> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('begin')
    await client.query('drop schema if exists strongroom_views cascade')
    const before = await readScans(client)
    for (const statement of statements) await client.query(statement)
    const after = await readScans(client)
    return [...before]
      .filter(([name, { scans, file }]) => {
        const now = after.get(name)
        return now !== undefined && (now.scans > scans || now.file !== file)
      })
      .map(([name]) => name)
  } finally {
    await client.end()
  }
}
