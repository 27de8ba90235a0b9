// A change of the rows that open keys, in one transaction. Afterwards the vault knows what it wrote, whatever the table
// shows, and reads the rows once more before it answers. A use of a key needs no such reading: the next use notices if
// its row was put back.

import type { Tx } from '../../../db/client.ts'
import type { RowImage } from '../../../db/queries/vault/journal.ts'
import { requireKept } from '../../../db/queries/vault/proofs.ts'
import type { RoomCtx } from './ctx.ts'

type Wrote = (...images: readonly RowImage[]) => void

/** @param change hands the rows that it has written to `wrote`. @throws NotWritten if the database did not keep one. */
export const changing = async <Result>(
  { db, journal }: Pick<RoomCtx, 'db' | 'journal'>,
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
