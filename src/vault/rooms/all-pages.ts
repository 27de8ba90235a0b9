import type { Db } from '../../../db/client.ts'

const ROWS_A_PAGE = 1_000

/** `after`: the last id of the page before; null for the first page. */
type Page<Id> = { readonly projectId: string | null; readonly after: Id | null; readonly limit: number }

/** All rows of a table that is read in pages. @param projectId null: of all projects. */
export const allPages = async function* <Id, Row extends { readonly id: Id }>(
  db: Db,
  read: (db: Db, page: Page<Id>) => Promise<readonly Row[]>,
  projectId: string | null,
): AsyncGenerator<Row> {
  for (let after: Id | null = null; ; ) {
    const page: readonly Row[] = await read(db, { projectId, after, limit: ROWS_A_PAGE })
    yield* page
    if (page.length < ROWS_A_PAGE) return
    after = page.at(-1)?.id ?? null
  }
}
