// How new some rows must be at least. A MAC cannot tell an earlier state of a row that somebody wrote back; whoever has seen
// the later one can. Of rows that were never changed there is nothing to remember.

import { type JournalTable, keyOf, type RowImage } from '../../../db/queries/custody/journal.ts'

/** A number that only grows, by table; null where nothing was lost by an earlier state; undefined where nothing is learned. */
const AGES: Partial<Record<JournalTable, (row: Readonly<Record<string, unknown>>) => number | null | undefined>> = {
  user_keys: ({ version }) => (version === 1 ? null : Number(version)),
  // Without a wrong PIN no earlier count is lower.
  pin_guesses: ({ fails, total, revision }) => (fails === 0 && total === 0 ? null : Number(revision)),
  // How many owner locks it has: control that is shared stays shared.
  keyrings: ({ more }) => (Number(more) > 1 ? Number(more) : undefined),
  policies: ({ uses, revoked_at }) => (revoked_at === null ? Number(uses) || null : Number.MAX_SAFE_INTEGER),
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
    see: (image: RowImage): void => {
      const age = AGES[image.table]?.(JSON.parse(image.text))
      if (age === undefined) return
      const key = keyOf(image)
      if (age === null) ages.delete(key)
      else ages.set(key, Math.max(age, ages.get(key) ?? 0))
    },
    /** @param key the values of the row's key. @returns 0 where nothing is known. */
    floorOf: (table: JournalTable, key: readonly string[]): number => ages.get([table, ...key].join('\n')) ?? 0,
  }
}
