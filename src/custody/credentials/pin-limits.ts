// How many wrong PINs may come in an hour, over all owners. It stops one PIN from being tried on many owners, which the limit
// of each owner (guard.ts) does not see. Counted in the database, so that more processes and restarts give no fresh tries:
//
//   who asks          counted for                            limit
//   an API key        the key                                n, WRONG_PINS_PER_HOUR
//                     the project and the address            2 n
//                     all keys of the project                5 n
//   a user's session  the user                               n
//                     the address, in whatever project       n
//
// Who has reached one of them has no PIN looked at, not even a right one, until an hour after the first: 429. No owner is
// locked by it. Nobody without an API key of a project counts against the project: anybody may become a user of one, make
// wallets, and be wrong about them. Nor does a stranger count against the address from which a project's servers call, as
// servers of many projects may share one.
//
// A right PIN costs nothing more: the limits are looked up by the statement that charges the guess, and only a wrong PIN is
// counted, before it is told. So PINs that are looked at at the same time may go beyond a limit, by what all processes look
// at at once: eight each, at most.

import type { Db } from '../../../db/client.ts'
import { countTries, type TryLimit } from '../../../db/queries/throttles.ts'
import type { Sealer } from '../sealer.ts'

const WINDOW_SECONDS = 3_600
const OF_ADDRESS = 2
const OF_PROJECT = 5

type Asked = { readonly projectId: string; readonly actor: string; readonly from?: string | undefined }

export type PinLimits = {
  /** Those that count for whoever asks. */
  of(asked: Asked): readonly TryLimit[]
  /** Counts one wrong PIN against each. */
  countWrong(limits: readonly TryLimit[]): Promise<void>
}

export const createPinLimits = (parts: {
  readonly db: Db
  readonly sealer: Sealer
  readonly wrongPinsPerHour: number
}): PinLimits => {
  const { db, wrongPinsPerHour: max } = parts
  const keyOf = parts.sealer.authenticator('wrong pins')
  return {
    of: ({ projectId, actor, from = '' }) => {
      const limits = [{ key: keyOf(['of', projectId, actor]), max }]
      const isUser = actor.startsWith('user:')
      if (!isUser) limits.push({ key: keyOf(['of keys', projectId]), max: max * OF_PROJECT })
      if (from !== '' && isUser) limits.push({ key: keyOf(['from', from]), max })
      if (from !== '' && !isUser) limits.push({ key: keyOf(['from', from, projectId]), max: max * OF_ADDRESS })
      return limits
    },
    countWrong: (limits) => countTries(db, { keys: limits.map(({ key }) => key), windowSeconds: WINDOW_SECONDS }),
  }
}
