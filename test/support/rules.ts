import type { Chain, Intent, ReadCall } from '../../src/chains/chain.ts'
import { findMismatch } from '../../src/signing/policies/evaluate.ts'

/** Whether rules allow transactions. */
export const matches = (...judged: Parameters<typeof findMismatch>): boolean => findMismatch(...judged) === null

/** The call as policies read it, on a Substrate network. */
export const runtimeCallIn = async ({ calls }: Chain, intent: Intent): Promise<ReadCall | null> => {
  if (calls.by !== 'metadata') throw new Error('expected a Substrate network')
  return calls.read(intent)
}
