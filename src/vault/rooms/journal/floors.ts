// How new some rows must be at least. A MAC cannot detect that a row was replaced by an earlier state of it; a vault that has written
// the later one can. What a vault writes raises the floor at the commit, by the values that it wrote: what the table shows
// afterwards counts for nothing. Rows that were never changed need no floor. A used approval never changes either, but its row must
// exist: without it the approval could be used again. Of a list of delegates even the first version has an earlier state: none.

import { type JournalTable, type RowImage, readImage } from '../../../../db/queries/custody/journal.ts'

/** Whether a row needs no floor, because no earlier state of it would have another effect. */
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
    /** All that was learned. */
    all: (): readonly Age[] => [...ages],
    learn: (learned: readonly Age[]): void => {
      for (const [key, age] of learned) ages.set(key, age)
    },
    /** Raises the floor of a row that a vault has written. */
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
