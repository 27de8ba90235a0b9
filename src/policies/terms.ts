// What a use by a policy may cost beside what it moves, and which nonce it may have. The developer, who does not own the
// coins, could else burn them as fees, or keep signatures for later.

import type { Chain, Intent, Unsigned } from '../chains/chain.ts'
import { isOpen } from '../chains/intent.ts'
import { AppError } from '../errors.ts'

/** Of what would be chosen here if nothing were fixed. */
const TIMES_MAX = 2n

/** The budget of a policy that is made without one: enough for so many transactions of ordinary size at today's fees. */
const ORDINARY_TRANSACTIONS = 2_500n

const denied = (sentence: string): AppError => new AppError('policy_denied', sentence)

/** A fee budget in base units for a policy whose makers name none. @throws node_unavailable. */
export const usualFeeBudget = async ({ terms }: Pick<Chain, 'terms'>): Promise<bigint> =>
  ORDINARY_TRANSACTIONS * (await terms.ordinaryFee())

type Measured = {
  readonly intent: Intent
  /** The intent with gas and fees left open, as it would be signed. */
  readonly ordinary: Unsigned
}

const excessOf = async ({ terms }: Pick<Chain, 'terms'>, { intent, ordinary }: Measured) =>
  isOpen(intent) ? null : terms.excess({ intent, ordinary, times: TIMES_MAX })

/** Whether gas or fees are beyond twice what would be chosen here. @throws node_unavailable. */
export const isExcessive = async (chain: Pick<Chain, 'terms'>, measured: Measured): Promise<boolean> =>
  (await excessOf(chain, measured)) !== null

/**
 * Refuses gas and fees beyond twice what would be chosen here. @throws policy_denied, node_unavailable.
 */
export const refuseExcess = async (chain: Pick<Chain, 'terms'>, measured: Measured): Promise<void> => {
  const excess = await excessOf(chain, measured)
  if (excess === null) return
  const { field, most } = excess
  throw denied(
    `By a policy, field "unsigned_transaction.${field}" must be at most ${most}: twice what would be chosen here if it were absent.`,
  )
}

/** A signature for a later nonce would outlive the policy. @throws policy_denied. */
export const refuseLaterNonce = ({ nonce }: Intent, next: number): void => {
  if (nonce === undefined || nonce === next) return
  throw denied(`By a policy, a transaction is signed for the next nonce alone, which is ${next}.`)
}
