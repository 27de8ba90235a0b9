import { AppError } from '../errors.ts'

/**
 * What a network may lack, where it is there: the one place that refuses what a network does not do.
 * @param refusal one sentence: which network lacks what. @throws not_implemented (501).
 */
export const provided = <Part>(part: Part | null | undefined, refusal: string): Part => {
  if (part === null || part === undefined) throw new AppError('not_implemented', refusal)
  return part
}
