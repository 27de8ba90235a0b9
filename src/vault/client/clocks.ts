// Two clocks: that of the database, which all vaults share, and that of the vault, which the owner of the database
// cannot turn. A time is over when one of them says so, and a lockout ends when both do. They are never far from each
// other.

import { AppError } from '../../platform/errors.ts'

/** If the clocks of a vault and of the database differ by more, no PIN is checked, and `doctor` fails. */
export const CLOCKS_APART_MAX_MS = 10_000
const MS_A_SECOND = 1_000

export type Clocks = { readonly earlier: Date; readonly later: Date }

/**
 * Reads both clocks.
 * @param read asks the database, which says what its clock showed at some moment of the call.
 * @throws unavailable if they differ by more than ten seconds.
 */
export const withClocks = async <Read extends { readonly now: Date } | null>(
  now: () => Date,
  read: () => Promise<Read>,
): Promise<{ readonly found: Read; readonly clocks: Clocks }> => {
  const before = now()
  const found = await read()
  const after = now()
  const database = found?.now ?? after
  const differenceMs = Math.max(before.getTime() - database.getTime(), database.getTime() - after.getTime())
  if (differenceMs > CLOCKS_APART_MAX_MS) {
    const seconds = Math.round(differenceMs / MS_A_SECOND)
    throw new AppError(
      'unavailable',
      `The clocks of the vault and of the database differ by ${seconds} seconds: an operator must set them.`,
      {
        retryAfterSeconds: 30,
      },
    )
  }
  const isBehind = database < after
  return { found, clocks: { earlier: isBehind ? database : after, later: isBehind ? after : database } }
}
