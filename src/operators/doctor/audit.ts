// Whether the audit is still archived, where somebody has begun to archive it.

import type { Queryable } from '../../../db/client.ts'
import { readNewestCheckpoint } from '../../../db/queries/doctor.ts'
import { type Finding, findingsOf } from './finding.ts'

/** A quarter: `audit archive` leaves the rows of the last 30 days. */
const AGE_WARNING_DAYS = 92

/** Looks at the newest checkpoint. The files of the archive are elsewhere: `audit verify --archive` checks them. */
export const checkArchive = async (db: Queryable): Promise<readonly Finding[]> => {
  const { ok, warning, unchecked } = findingsOf('audit archive')
  const newest = await readNewestCheckpoint(db)
  if (newest === null) return [unchecked('no audit row was archived yet')]
  const found = `the newest checkpoint is of ${newest.createdAt}, for rows before ${newest.before}`
  if (newest.ageDays <= AGE_WARNING_DAYS) return [ok(found)]
  return [
    warning(
      found,
      'Run "bun run cli audit archive" again, or let the job that runs it say when it fails: until then the audit grows in the database.',
    ),
  ]
}
