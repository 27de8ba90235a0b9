// What a record of a journal holds.

import type { AuditJson } from '../../../../db/queries/custody/audit.ts'
import type { RowImage, RowsWith } from '../../../../db/queries/custody/journal.ts'
import type { ControlMode } from '../../../../db/words.ts'
import type { JournalHead } from './journal-file.ts'

/** What was made or signed, for those who write the rows that are not custody's. `about` is theirs: custody does not read it. */
export type Note =
  | {
      readonly kind: 'transaction'
      /** In what was signed, one after the other: what can be sent, and the hash by which the chain knows it. */
      readonly attempts: readonly { readonly raw: string; readonly hash: string }[]
      readonly about: string
      readonly at: string
    }
  | {
      readonly kind: 'wallet'
      readonly wallet: Readonly<Record<'id' | 'projectId' | 'ownerId' | 'network' | 'keyringId', string>> & {
        readonly controlMode: ControlMode
      }
      /** In hex. */
      readonly publicKey: string
      readonly about: string
      readonly at: string
    }
  | {
      readonly kind: 'project'
      readonly projectId: string
      /** Whether it has a developer key. */
      readonly isActive: boolean
      readonly about: string
      readonly at: string
    }

export type JournalRecord = {
  /** Only in the first record of a journal that was compacted. */
  readonly floors?: JournalHead['floors']
  /** When it was written, by the vault's clock. */
  readonly at: string
  readonly rows?: readonly RowImage[]
  readonly audit?: readonly AuditJson[]
  readonly notes?: readonly Note[]
}

/**
 * The key under which new rows of a project are sealed, as the journal names it. It is kept with each of them: the vault that made
 * the key may have been killed before its journal had it.
 */
export const projectKeyRow = (of: { readonly projectId: string; readonly version: number }): RowsWith => ({
  table: 'project_keys',
  where: { project_id: of.projectId, version: String(of.version) },
})

/**
 * Only lines with a right MAC are read, so this is what was written. The first record is the journal's head (`JournalHead`), which
 * has neither a time nor anything to replay.
 */
export const readRecord = (text: string): JournalRecord => JSON.parse(text) as JournalRecord
