import type { FreezeScope } from '../../../db/words.ts'
import { AppError } from '../../errors.ts'

/**
 * An operator's freeze. Whoever opens a key reads it with the row that it opens, so that it holds on every process from
 * the next request on; and it is judged before a credential is, so that nobody is charged for a guess.
 * @throws frozen, which says what is frozen, and not why.
 */
export const refuseFrozen = (scope: FreezeScope | null): void => {
  if (scope !== null) throw new AppError('frozen', `This ${scope} is frozen: nothing of it is signed, made or opened.`)
}
