// The lists of freezes as the vault writes them.

import { eq, sql } from 'drizzle-orm'
import type { Tx } from '../../client.ts'
import { freezeLists } from '../../schema.ts'
import { type FreezeListRow, freezeListColumns } from '../freezes.ts'
import type { RowImage } from './journal.ts'
import { proofOf, provenImage } from './proofs.ts'

const { id, mac } = freezeLists

/** A list, which stays so until the transaction ends. */
export const lockFreezeList = async (tx: Tx, listId: string): Promise<FreezeListRow | null> => {
  const [row] = await tx.select(freezeListColumns).from(freezeLists).where(eq(id, listId)).for('update')
  return row ?? null
}

/**
 * Writes a list over the one with the MAC `before`; null if there was none.
 * @returns null if nothing was written. @throws NotWritten
 */
export const writeFreezeList = async (
  tx: Tx,
  { before, ...row }: FreezeListRow & { readonly before: Uint8Array | null },
): Promise<RowImage | null> => {
  const written = await tx
    .insert(freezeLists)
    .values(row)
    .onConflictDoUpdate({
      target: id,
      set: { freezes: row.freezes, version: row.version, mac: row.mac, updatedAt: sql`now()` },
      setWhere: before === null ? sql`false` : eq(mac, before),
    })
    .returning(proofOf(freezeLists, row))
  return provenImage(freezeLists, row, written)
}
