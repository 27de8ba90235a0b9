// What a record of a journal holds.

import type { AuditJson } from '../../../../db/queries/vault/audit.ts'
import { type JournalTable, type RowImage, type RowsWith, readImage } from '../../../../db/queries/vault/journal.ts'
import type { ControlMode } from '../../../../db/words.ts'
import type { JournalHead } from './journal-file.ts'

/** What the vault made or signed, for the API, which writes the rows about it. The vault does not read `about`. */
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
  readonly at: string
  readonly rows?: readonly RowImage[]
  readonly audit?: readonly AuditJson[]
  readonly notes?: readonly Note[]
}

/** Kept with each row that it seals: the vault that made the key may have been killed before its journal had it. */
export const projectKeyRow = (key: { readonly projectId: string; readonly version: number }): RowsWith => ({
  table: 'project_keys',
  where: { project_id: key.projectId, version: String(key.version) },
})

/** Text of a line with a right MAC. The first record is the journal's head (`JournalHead`), without a time. */
export const readRecord = (text: string): JournalRecord => JSON.parse(text) as JournalRecord

// How new some rows must be at least. A MAC cannot detect that an attacker put back an earlier state of a row; a vault
// that has written the later one can. What a vault writes raises the floor at the commit, whatever the table shows
// afterwards. Rows that were never changed need no floor, with two exceptions. A used approval must exist: without its
// row it could be used again. And the first list of delegates has an earlier state: none.

/** Whether a row needs no floor, because no earlier state of the row would have another effect. */
const AS_GOOD_AS_NEW: Partial<Record<JournalTable, (row: Readonly<Record<string, unknown>>) => boolean>> = {
  developer_keys: ({ version }) => version === 1,
  user_keys: ({ version }) => version === 1,
  user_key_locks: ({ version }) => version === 1,
  // Without a wrong PIN no earlier count is lower.
  pin_guesses: ({ fails, total }) => fails === 0 && total === 0,
  // It has one lock. Control that is shared stays shared.
  keyrings: ({ more }) => Number(more) <= 1,
  // Absent: the lock was never put under policies.
  owner_locks: ({ version }) => version === 1,
  policies: ({ uses, revoked_at }) => uses === 0 && revoked_at === null,
  used_approvals: () => false,
  delegate_lists: () => false,
  freeze_lists: ({ version }) => version === 1,
}

export type Floors = ReturnType<typeof createFloors>

type Age = readonly [key: string, age: number]

export const createFloors = () => {
  const ages = new Map<string, number>()
  return {
    all: (): readonly Age[] => [...ages],
    learn: (learned: readonly Age[]): void => {
      for (const [key, age] of learned) ages.set(key, age)
    },
    raise: (image: RowImage): void => {
      const isAsGoodAsNew = AS_GOOD_AS_NEW[image.table]
      if (isAsGoodAsNew === undefined || image.isSeen) return
      const { row, key, age } = readImage(image)
      // Another request's later change may have been noted first.
      if (age < (ages.get(key) ?? 0)) return
      if (isAsGoodAsNew(row)) ages.delete(key)
      else ages.set(key, age)
    },
    /** @param key the values of the row's key. @returns 0 where nothing is known. */
    floorOf: (table: JournalTable, key: readonly string[]): number => ages.get([table, ...key].join('\n')) ?? 0,
  }
}
