import { AppError } from '../errors.ts'

/**
 * Returns an optional part of a network. All refusals of operations that a network does not support are made here.
 * @param refusal one sentence: which network lacks what.
 */
export const provided = <Part>(part: Part | null | undefined, refusal: string): Part => {
  if (part === null || part === undefined) throw new AppError('not_implemented', refusal)
  return part
}
