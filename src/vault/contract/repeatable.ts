// What the vault makes, it makes once for an id that the caller chose, and commits by itself. So a caller whose answer
// was lost repeats the call: it finds what the first one made, checks the credentials, and answers the same.

import { violatedConstraint } from '../../../db/trouble.ts'
import { AppError } from '../../platform/errors.ts'

const TRIES_MAX = 4

/** A rotation has made a newer key: begin again. */
export class KeyRotated extends AppError {
  constructor(key: string) {
    super('busy', `The ${key} was changed meanwhile: try again.`)
    this.name = 'KeyRotated'
  }
}

/**
 * Makes something. If a rotation, or another call that made the same or a part of it, came in between, it begins again
 * with what is there now.
 * @param make gets the number of the try, from 1. @param raced the unique constraints by which such a call is noticed.
 */
export const repeatable = async <Made>(
  raced: readonly string[],
  make: (tries: number) => Promise<Made>,
): Promise<Made> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await make(tries)
    } catch (error) {
      const constraint = violatedConstraint(error)
      const isRaced = error instanceof KeyRotated || (constraint !== null && raced.includes(constraint))
      if (!isRaced || tries >= TRIES_MAX) throw error
    }
  }
}

/** The id was used before, and what was made then is not what is asked for now. */
export const madeOtherwise = (thing: string): AppError =>
  new AppError('idempotency_mismatch', `There is another ${thing} with this id.`)
