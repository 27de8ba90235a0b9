/**
 * The settings of each connection that say what a statement means. They win over `alter role` and `alter database`. PostgreSQL
 * looks names up in pg_catalog before this path, and in temporary tables last. A query that row-level security would filter fails.
 */
export const MEANING = { search_path: 'public,pg_temp', row_security: 'off' } as const
