// The fees of a transaction, and the ordinary fees to compare them with. Policies bound fees by this.

import type { Intent, Unsigned } from './intent.ts'

/** A field that a caller fixed too high, and the highest value that is allowed. */
export type Excess = {
  readonly field: 'gasLimit' | 'maxFeePerGas' | 'maxPriorityFeePerGas' | 'gasPrice'
  readonly most: bigint
}

export type FeeRules = {
  /** Whether the fees that an intent fixes are within the network's ceiling. Pure. */
  isWithinFeeCap(intent: Intent): boolean
  /**
   * Finds a field that the intent fixes above `times` its ordinary value, or a gas price above the ordinary fee cap; null if
   * there is none.
   * @param input.ordinary the transaction for the same intent with gas and fees left open.
   */
  excess(input: {
    readonly intent: Intent
    readonly ordinary: Unsigned
    readonly times: bigint
  }): Promise<Excess | null>
  /** The fees per gas that a transaction offers, in wei; null if the runtime sets the fee. Pure. */
  feesOf(unsigned: Unsigned): Required<Pick<Intent, 'maxFeePerGas' | 'maxPriorityFeePerGas'>> | null
  /** The most that a transaction pays for gas, from its own fields; 0 if the runtime sets the fee. Pure. */
  gasFee(unsigned: Unsigned): bigint
  /** The most that the network takes beside gas: a layer 1 fee, or a runtime's fee and tip. */
  surcharge(unsigned: Unsigned): Promise<bigint>
  /** The fee that a transaction of ordinary size may pay now. */
  ordinaryFee(): Promise<bigint>
}
