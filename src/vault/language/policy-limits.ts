// Token limits and rolling limits of policies. Pure: the vault decides with this code, and APIs predict its decisions
// with it.
//
// A rolling limit counts in slots of a sixteenth of its time. The present slot and the sixteen before it count: so all
// that is younger than the time, and perhaps what is a little older. If a clock goes back, the newest slot stays the
// present one.

import type { PolicyTerms } from '../../../db/queries/vault/policies.ts'
import type { Tokens } from './token-calls.ts'

type Limits = Pick<PolicyTerms, 'tokenLimits' | 'rollingLimits'>

/** Amounts by slot, oldest first. At most 17. */
type Count = readonly (readonly [slot: number, amount: string])[]

/** `uses`: 0 for more of a use that was counted before. */
type Use = { readonly value: bigint; readonly uses: number; readonly tokens: Tokens }

type Limit = {
  readonly kind: 'token' | 'rolling'
  readonly max: bigint
  readonly perSeconds: number | null
  amountOf(use: Use): bigint
}

const SLOTS = 16
const MS = 1_000

export const contractOf = ({ contractAddress }: Limits['tokenLimits'][number]): string =>
  contractAddress.slice(2).toLowerCase()

/** The limits in the order of their counts. The order must never change. */
const limitsOf = ({ tokenLimits, rollingLimits }: Limits): readonly Limit[] => [
  ...tokenLimits.map((limit): Limit => {
    const { maxTotal, perSeconds } = limit
    const contract = contractOf(limit)
    return { kind: 'token', max: BigInt(maxTotal), perSeconds, amountOf: ({ tokens }) => tokens.get(contract) ?? 0n }
  }),
  ...rollingLimits.flatMap(({ perSeconds, maxTotalValue, maxUses }) =>
    [
      ...(maxTotalValue === null ? [] : [{ max: BigInt(maxTotalValue), amountOf: ({ value }: Use) => value }]),
      ...(maxUses === null ? [] : [{ max: BigInt(maxUses), amountOf: ({ uses }: Use) => BigInt(uses) }]),
    ].map((limit): Limit => ({ kind: 'rolling', perSeconds, ...limit })),
  ),
]

type Moment = { readonly count: Count; readonly at: Date }

const presentOf = ({ perSeconds }: Pick<Limit, 'perSeconds'>, { count, at }: Moment) => {
  const slotMs = perSeconds === null ? Number.POSITIVE_INFINITY : Math.ceil((perSeconds * MS) / SLOTS)
  const slot = Math.max(Math.floor(at.getTime() / slotMs), count.at(-1)?.[0] ?? 0)
  const counting = count.filter(([each]) => each >= slot - SLOTS)
  return { slot, counting, total: counting.reduce((sum, [, amount]) => sum + BigInt(amount), 0n) }
}

const after = (limit: Limit, { count, at, amount }: Moment & { readonly amount: bigint }): Count | null => {
  // Counts are kept even if the clock is wrong now.
  if (amount === 0n) return count
  const { slot, counting, total } = presentOf(limit, { count, at })
  if (total + amount > limit.max) return null
  const inSlot = counting.at(-1)?.[0] === slot ? BigInt(counting.at(-1)?.[1] ?? 0) : 0n
  return [...counting.filter(([each]) => each !== slot), [slot, String(inSlot + amount)]]
}

type Counted = { readonly counts: readonly Count[]; readonly at: Date }

export const areRolling = ({ tokenLimits, rollingLimits }: Limits): boolean =>
  rollingLimits.length > 0 || tokenLimits.some(({ perSeconds }) => perSeconds !== null)

/** The counts after a use, or the kind of the first limit that has too little left. */
export const countUse = (
  limits: Limits,
  { counts, at, use }: Counted & { readonly use: Use },
): readonly Count[] | Limit['kind'] => {
  const next: Count[] = []
  for (const [place, limit] of limitsOf(limits).entries()) {
    const counted = after(limit, { count: counts[place] ?? [], at, amount: limit.amountOf(use) })
    if (counted === null) return limit.kind
    next.push(counted)
  }
  return next
}

/** The amounts that count at a time, for each limit of both lists; null for what a rolling limit does not limit. */
export const countedNow = (limits: Limits, { counts, at }: Counted) => {
  const totals = limitsOf(limits).map((limit, place) => presentOf(limit, { count: counts[place] ?? [], at }).total)
  const next = (): bigint => totals.shift() ?? 0n
  return {
    tokens: limits.tokenLimits.map(next),
    rolling: limits.rollingLimits.map(({ maxTotalValue, maxUses }) => ({
      value: maxTotalValue === null ? null : next(),
      uses: maxUses === null ? null : next(),
    })),
  }
}
