// All refusals of what a network does not offer are made here. What a network never has is a part of its type that is
// null. What only its node knows (a runtime's pallets, the chain's contracts) is refused after asking it.

import { AppError } from '../platform/errors.ts'

/** @param refusal one sentence: which network, or the runtime or node of which network, lacks what. */
export const notProvided = (refusal: string): AppError => new AppError('not_implemented', refusal)

/** Returns an optional part of a network, or refuses. */
export const provided = <Part>(part: Part | null | undefined, refusal: string): Part => {
  if (part === null || part === undefined) throw notProvided(refusal)
  return part
}
