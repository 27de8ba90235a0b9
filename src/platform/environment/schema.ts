import type { Db } from '../../../db/client.ts'
import { missingColumns } from '../../../db/queries/server.ts'
import { NotReadyYet } from '../errors.ts'

/** @throws NotReadyYet if the database lacks columns that this version uses: it is older than the code, or much newer. */
export const requireSchema = async (db: Db): Promise<void> => {
  const [first, ...others] = await missingColumns(db)
  if (first === undefined) return
  const further = others.length === 0 ? '' : ` and ${others.length} more`
  throw new NotReadyYet(
    `The database does not have the schema of this version (it lacks ${first}${further}): run "bun run cli db migrate" with this version.`,
  )
}
