import { mismatchOf } from '../../src/policies/evaluate.ts'

/** Whether rules allow transactions. */
export const matches = (...judged: Parameters<typeof mismatchOf>): boolean => mismatchOf(...judged) === null
