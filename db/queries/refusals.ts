// The `last_error` of an attempt that nodes refuse: a word for programs, then the node's words for operators. The operators' views
// show what follows the colon. Callers never see a node's words.

import { REFUSALS, type Refusal } from '../words.ts'

/** The words for a signer that cannot pay begin with this. */
const UNPAYABLE = 'insufficient_funds: '

export const writeRefusal = ({ refusal, reason }: { readonly refusal: Refusal; readonly reason: string }): string =>
  `rejected_${refusal}: ${reason}`

/** null without an error, and for an error after which the node may still accept it. */
export const readRefusal = (lastError: string | null): Refusal | null =>
  REFUSALS.find((refusal) => lastError?.startsWith(writeRefusal({ refusal, reason: '' })) === true) ?? null

export const isUnpayable = (lastError: string | null): boolean => lastError?.startsWith(UNPAYABLE) === true
