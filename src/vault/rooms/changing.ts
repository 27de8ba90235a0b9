// A change of the rows that open keys, in one transaction. Afterwards the vault knows what it wrote, whatever the table shows, and the
// rows are read once more before anybody is told that the change is done. A use of a key goes without this: what it wrote is
// compared, and the next use finds out if it was taken back.

import type { Tx } from '../../../db/client.ts'
import type { RowImage } from '../../../db/queries/custody/journal.ts'
import { requireKept } from '../../../db/queries/custody/proofs.ts'
import type { CustodyCtx } from './ctx.ts'

type Wrote = (...images: readonly RowImage[]) => void

/**
 * Commits a change.
 * @param change hands the rows that it has written to `wrote`. @throws NotWritten if the database did not keep one of them.
 */
export const changing = async <Result>(
  { db, journal }: Pick<CustodyCtx, 'db' | 'journal'>,
  change: (tx: Tx, wrote: Wrote) => Promise<Result>,
): Promise<Result> => {
  const written: RowImage[] = []
  const result = await db.transaction((tx) => {
    tx.afterCommit(() => journal.wrote(...written))
    return change(tx, (...images) => void written.push(...images))
  })
  if (written.length > 0) await requireKept(db, written)
  return result
}
