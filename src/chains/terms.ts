// What a transaction may cost beside what it moves, and what would be ordinary: by this a policy bounds fees.

import type { Intent, Unsigned } from './intent.ts'

/** A field that a caller fixed too high, and the most that would be right. */
export type Excess = {
  readonly field: 'gasLimit' | 'maxFeePerGas' | 'maxPriorityFeePerGas'
  readonly most: bigint
}

export type Terms = {
  /** Whether the fees that an intent fixes are no higher than the network's ceiling. Pure. */
  isWithinFeeCap(intent: Intent): boolean
  /**
   * Finds what an intent fixes beyond so many times what is ordinary.
   * @param input.ordinary the same intent with gas and fees left open. @throws node_unavailable.
   */
  excess(input: {
    readonly intent: Intent
    readonly ordinary: Unsigned
    readonly times: bigint
  }): Promise<Excess | null>
  /** What a transaction offers per gas, in wei; null where the runtime sets the fee. Pure. */
  feesOf(unsigned: Unsigned): Required<Pick<Intent, 'maxFeePerGas' | 'maxPriorityFeePerGas'>> | null
  /** The most that a transaction pays for gas by its own fields; 0 where the runtime sets the fee. Pure. */
  gasFee(unsigned: Unsigned): bigint
  /** What the network may take beside that: a fee for layer 1, or the fee that a runtime sets, and a tip. @throws node_unavailable. */
  surcharge(unsigned: Unsigned): Promise<bigint>
  /** What a transaction of ordinary size may pay now. @throws node_unavailable. */
  ordinaryFee(): Promise<bigint>
}
