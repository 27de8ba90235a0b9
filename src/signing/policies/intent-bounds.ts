// Limits on the fees and the nonce of a use by a policy. The developer does not own the coins, and could otherwise burn
// them as fees or keep signatures for later.

import type { Chain, Intent, Unsigned } from '../../chains/chain.ts'
import { isOpen } from '../../chains/intent.ts'
import { AppError } from '../../platform/errors.ts'

/** How many times the gas and fees that we would choose are allowed. */
const TIMES_MAX = 2n

/** The default fee budget of a policy, as a number of ordinary transactions at current fees. */
const ORDINARY_TRANSACTIONS = 2_500n

export const denied = (sentence: string): AppError => new AppError('policy_denied', sentence)

export const usualFeeBudget = async ({ feeRules }: Pick<Chain, 'feeRules'>): Promise<bigint> =>
  ORDINARY_TRANSACTIONS * (await feeRules.ordinaryFee())

type Measured = {
  readonly intent: Intent
  /** The intent as it would be signed with the gas and fees that we choose. */
  readonly ordinary: Unsigned
}

const findExcess = async ({ feeRules }: Pick<Chain, 'feeRules'>, { intent, ordinary }: Measured) =>
  isOpen(intent) ? null : feeRules.excess({ intent, ordinary, times: TIMES_MAX })

/** Whether gas or fees are more than twice what we would choose, or a gas price is more than our fee cap. */
export const isExcessive = async (chain: Pick<Chain, 'feeRules'>, measured: Measured): Promise<boolean> =>
  (await findExcess(chain, measured)) !== null

export type FieldOf = (name: keyof Intent) => string

/** Refuses gas and fees for which `isExcessive` is true. */
export const refuseExcess = async (
  chain: Pick<Chain, 'feeRules'>,
  {
    fieldOf = (name) => `unsigned_transaction.${name}`,
    ...measured
  }: Measured & { readonly fieldOf?: FieldOf | undefined },
): Promise<void> => {
  const excess = await findExcess(chain, measured)
  if (excess === null) return
  const { field, most } = excess
  const which =
    field === 'gasPrice' ? 'the "maxFeePerGas" that is chosen' : 'twice the value that is chosen if it is absent'
  throw denied(`Under a policy, field "${fieldOf(field)}" must be at most ${most}: ${which}.`)
}

/** Refuses later nonces, because such a signature would outlive the policy. */
export const refuseLaterNonce = ({ nonce }: Intent, next: number): void => {
  if (nonce === undefined || nonce === next) return
  throw denied(`Under a policy, only the next nonce can be used, which is ${next}.`)
}
