// The fee ladder. The credential that signs is gone when the fee turns out too low, so the same transaction is signed several
// times at once, with the same nonce and rising fees; and once more as a transaction that does nothing, above them all.
// A fee that the caller fixed may be too low for ever, so the cancel offers what it would if nobody had fixed one.

import type { EvmUnsigned } from '../chain.ts'
import { intrinsicGas } from './intrinsic.ts'
import type { Fees } from './unsigned.ts'

/** go-ethereum replaces a pooled transaction where both fee fields rise by 10 % (core/txpool/legacypool, PriceBump). */
const RAISE_PERCENT = 25n
/** 1.25⁵: the top rung offers about three times the first. */
const RUNGS_MAX = 6

const raised = (fee: bigint): bigint => {
  const next = (fee * (100n + RAISE_PERCENT) + 99n) / 100n
  return next > fee ? next : fee + 1n
}

const raise = (unsigned: EvmUnsigned): EvmUnsigned => ({
  ...unsigned,
  maxFeePerGas: raised(unsigned.maxFeePerGas),
  maxPriorityFeePerGas: raised(unsigned.maxPriorityFeePerGas),
})

/**
 * The transaction at rising fees, itself first: each rung raises both fields by a quarter, up to the network's cap.
 * @param input.fixedFees the caller chose a fee: it is kept, and there is no other rung. Pure.
 */
export const ladderOf = (input: {
  readonly unsigned: EvmUnsigned
  readonly fixedFees: boolean
  readonly maxFeePerGasCapWei: bigint
}): readonly EvmUnsigned[] => {
  const rungs = [input.unsigned]
  while (!input.fixedFees && rungs.length < RUNGS_MAX) {
    const next = raise(rungs.at(-1) ?? input.unsigned)
    if (next.maxFeePerGas > input.maxFeePerGasCapWei) break
    rungs.push(next)
  }
  return rungs
}

const higher = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** A transaction at the higher of two offers, field by field: what replaces it replaces both. Pure. */
export const higherOf = (unsigned: EvmUnsigned, other: Fees): EvmUnsigned => ({
  ...unsigned,
  maxFeePerGas: higher(unsigned.maxFeePerGas, other.maxFeePerGas),
  maxPriorityFeePerGas: higher(unsigned.maxPriorityFeePerGas, other.maxPriorityFeePerGas),
})

/** Uses the nonce and does nothing: to the sender itself, without value or data, above the top rung. Pure. */
export const cancelOf = (input: { readonly top: EvmUnsigned; readonly from: string }): EvmUnsigned => {
  const nothing = { to: input.from, value: 0n, input: '0x' } as const
  return { ...raise(input.top), ...nothing, gasLimit: intrinsicGas(nothing) }
}
