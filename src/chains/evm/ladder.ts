// The fee ladder. The key is not available later, when a fee turns out too low. So the same transaction is signed
// several times at once, with the same nonce and rising fees. One more transaction, the cancel, does nothing and has
// the highest fees. The fee cap doubles with each rung. A block charges only its base fee and the tip, so a high cap
// costs nothing until the base fee rises. The tip is always paid in full, so it rises by less. A fee that the caller
// fixed may stay too low for ever, so the cancel's fees then also follow the market.

import { higher, lower } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { EvmUnsigned, Intent, Ladder, LadderRequest, Offer } from '../chain.ts'
import { intrinsicGas } from './intrinsic.ts'
import { assertFees } from './unsigned.ts'

/**
 * The least rise from rung to rung. It is well above the 10 % in both fee fields for which go-ethereum replaces a
 * pooled transaction (core/txpool/legacypool, PriceBump).
 */
const RAISE_PERCENT = 25n
const CAP_FACTOR = 2n
const TIP_RAISE_PERCENT = 50n
/** The top rung offers 2⁵ = 32 times the first. Each rung needs a signature. */
const RUNGS_MAX = 6
/** If the caller fixed a fee, the cancel is above three rungs from the market's fee: 4 times it, and 25 % more. */
const MARKET_RUNGS_OF_A_CANCEL = 3

const raisedBy = (fee: bigint, percent: bigint): bigint => {
  const next = (fee * (100n + percent) + 99n) / 100n
  return next > fee ? next : fee + 1n
}

/** The lowest fees that replace a transaction in every pool. */
const replacing = (unsigned: EvmUnsigned): EvmUnsigned => ({
  ...unsigned,
  maxFeePerGas: raisedBy(unsigned.maxFeePerGas, RAISE_PERCENT),
  maxPriorityFeePerGas: raisedBy(unsigned.maxPriorityFeePerGas, RAISE_PERCENT),
})

/** The next rung, with a fee cap up to the limit; null if the limit leaves no room for one. */
const nextRung = (rung: EvmUnsigned, limit: bigint): EvmUnsigned | null => {
  const least = replacing(rung)
  if (limit < least.maxFeePerGas) return null
  const maxFeePerGas = lower(higher(rung.maxFeePerGas * CAP_FACTOR, least.maxFeePerGas), limit)
  const tip = higher(raisedBy(rung.maxPriorityFeePerGas, TIP_RAISE_PERCENT), least.maxPriorityFeePerGas)
  return { ...rung, maxFeePerGas, maxPriorityFeePerGas: lower(tip, maxFeePerGas) }
}

const rungsFrom = (
  first: EvmUnsigned,
  { limit, rungsMax }: { readonly limit: bigint; readonly rungsMax: number },
): readonly [EvmUnsigned, ...EvmUnsigned[]] => {
  const rungs: [EvmUnsigned, ...EvmUnsigned[]] = [first]
  for (let top = first; rungs.length < rungsMax; ) {
    const next = nextRung(top, limit)
    if (next === null) break
    rungs.push(next)
    top = next
  }
  return rungs
}

/** The highest fee cap with which the signer can pay both the rung and the cancel above it. */
const payableLimit = ({ spendable, worstCost }: LadderRequest, unsigned: EvmUnsigned, cancelGas: bigint): bigint => {
  const gas = higher(unsigned.gasLimit, 1n)
  const ofRung = unsigned.maxFeePerGas + (spendable - worstCost) / gas
  const ofCancel = (spendable * 100n) / (cancelGas * (100n + RAISE_PERCENT))
  return lower(ofRung, ofCancel)
}

/** The least rise of fees that a caller fixes: go-ethereum's own, although other pools may require more. */
const LEAST_RAISE_PERCENT = 10n

/**
 * Raises the fees so that pools accept the transaction as a replacement for all `offers` with its nonce. The fees are
 * the caller's if fixed; otherwise the market's, but at least 25 % above the offers. Pure.
 * @param input.ceilingWei the highest fee cap, unless the caller fixed one. @throws fee_ceiling_reached
 */
export const outbidding = (input: {
  readonly unsigned: EvmUnsigned
  readonly intent: Intent
  readonly offers: readonly Offer[]
  readonly ceilingWei: bigint
}): EvmUnsigned => {
  const { unsigned, intent, offers, ceilingWei } = input
  const cap = offers.reduce((most, { maxFeePerGas }) => higher(most, maxFeePerGas ?? 0n), 0n)
  const tip = offers.reduce((most, { maxPriorityFeePerGas }) => higher(most, maxPriorityFeePerGas ?? 0n), 0n)
  const maxFeePerGas = intent.maxFeePerGas ?? higher(unsigned.maxFeePerGas, raisedBy(cap, RAISE_PERCENT))
  const openTip = lower(higher(unsigned.maxPriorityFeePerGas, raisedBy(tip, RAISE_PERCENT)), maxFeePerGas)
  const raised = { ...unsigned, maxFeePerGas, maxPriorityFeePerGas: intent.maxPriorityFeePerGas ?? openTip }
  assertFees(raised)
  const [leastCap, leastTip] = [raisedBy(cap, LEAST_RAISE_PERCENT), raisedBy(tip, LEAST_RAISE_PERCENT)]
  if (raised.maxFeePerGas < leastCap || raised.maxPriorityFeePerGas < leastTip) {
    throw new AppError(
      'fee_too_low',
      `To take the place of what was sent, "maxFeePerGas" must be at least ${leastCap} and "maxPriorityFeePerGas" at least ${leastTip}.`,
    )
  }
  if (intent.maxFeePerGas === undefined && maxFeePerGas > ceilingWei) {
    throw new AppError(
      'fee_ceiling_reached',
      `What was sent offers nearly as much as this service ever offers, ${ceilingWei} wei per gas: fix "maxFeePerGas", at least ${leastCap}.`,
    )
  }
  return raised
}

type EvmLadder = Omit<Ladder, 'rungs' | 'cancel'> & {
  readonly rungs: readonly [EvmUnsigned, ...EvmUnsigned[]]
  /** A transaction to the sender itself without value or data, with fees above all rungs. */
  readonly cancel: EvmUnsigned
}

/**
 * The transaction at rising fees, up to a ceiling and to what the signer can pay, and the cancel above them. The first
 * rung is the transaction itself, whatever it costs. Pure.
 * @param input.ceilingWei the highest fee cap that a rung may offer.
 */
export const buildLadder = (
  input: Omit<LadderRequest, 'unsigned' | 'atMarket'> & {
    readonly unsigned: EvmUnsigned
    readonly atMarket: EvmUnsigned
    readonly ceilingWei: bigint
  },
): EvmLadder => {
  const { unsigned, atMarket, intent, from, ceilingWei } = input
  const nothing = { to: from, value: 0n, input: '0x' } as const
  const gasLimit = intrinsicGas(nothing)
  const payable = payableLimit(input, unsigned, gasLimit)
  const limit = lower(ceilingWei, payable)
  const isFixed = intent.maxFeePerGas !== undefined || intent.maxPriorityFeePerGas !== undefined
  const rungs = rungsFrom(unsigned, { limit, rungsMax: isFixed ? 1 : RUNGS_MAX })
  const top = rungs.at(-1) ?? unsigned
  const atMost = rungsFrom(unsigned, { limit: ceilingWei, rungsMax: isFixed ? 1 : RUNGS_MAX }).at(-1) ?? unsigned
  const marketTop = rungsFrom(atMarket, { limit, rungsMax: MARKET_RUNGS_OF_A_CANCEL }).at(-1) ?? atMarket
  const above = isFixed
    ? {
        ...top,
        maxFeePerGas: higher(top.maxFeePerGas, marketTop.maxFeePerGas),
        maxPriorityFeePerGas: higher(top.maxPriorityFeePerGas, marketTop.maxPriorityFeePerGas),
      }
    : top
  return {
    rungs,
    cancel: { ...replacing(above), ...nothing, gasLimit },
    isFixed,
    isCutByFunds: top.maxFeePerGas < atMost.maxFeePerGas,
  }
}
