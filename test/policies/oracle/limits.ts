// Limits on tokens, and in a rolling time, by what docs/custody.md says of them ("Limits on tokens, and in a rolling
// time"), with the time of every use that was before. This file takes no code from `src`.

import { decodeFunctionData, encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Call } from './oracle.ts'
import type { Random } from './random.ts'

/** `perSeconds`: null for all uses together. */
export type TokenLimit = { readonly contract: string; readonly max: bigint; readonly perSeconds: number | null }
export type RollingLimit = {
  readonly perSeconds: number
  readonly maxValue: bigint | null
  readonly maxUses: number | null
}

/** A use that was charged before. `tokens`: by contract. */
type PastUse = {
  readonly secondsAgo: number
  readonly value: bigint
  readonly tokens: Readonly<Record<string, bigint>>
}

export type Limits = {
  readonly tokenLimits: readonly TokenLimit[]
  readonly rollingLimits: readonly RollingLimit[]
  /** Oldest first. */
  readonly past: readonly PastUse[]
}

export const NO_LIMITS: Limits = { tokenLimits: [], rollingLimits: [], past: [] }

const COUNTED = parseAbi([
  'function transfer(address, uint256 amount)',
  'function transferFrom(address, address, uint256 amount)',
  'function approve(address, uint256 amount)',
  'function increaseAllowance(address, uint256 amount)',
  'function permit(address, address, uint256 amount, uint256, uint8, bytes32, bytes32)',
])

/** The amount of a call; null if the documentation says that it is refused. */
const amountOf = ({ input }: Call): bigint | null => {
  const data = input as Hex
  try {
    const { functionName, args } = decodeFunctionData({ abi: COUNTED, data })
    if (encodeFunctionData({ abi: COUNTED, functionName, args } as never) !== data.toLowerCase()) return null
    const values: readonly unknown[] = args
    const amount = values.find((each) => typeof each === 'bigint')
    return typeof amount === 'bigint' ? amount : null
  } catch {
    return null
  }
}

const isWithin = ({ secondsAgo }: PastUse, perSeconds: number | null): boolean =>
  perSeconds === null || secondsAgo <= perSeconds

const spentOf = ({ past }: Limits, { contract, perSeconds }: Omit<TokenLimit, 'max'>): bigint =>
  past.reduce((sum, each) => (isWithin(each, perSeconds) ? sum + (each.tokens[contract] ?? 0n) : sum), 0n)

const valueSpentOf = ({ past }: Limits, perSeconds: number): bigint =>
  past.reduce((sum, each) => (isWithin(each, perSeconds) ? sum + each.value : sum), 0n)

const usesOf = ({ past }: Limits, perSeconds: number): number =>
  past.filter((each) => isWithin(each, perSeconds)).length

const callsOf = (contract: string, calls: readonly Call[]): readonly Call[] =>
  calls.filter(({ to }) => to?.toLowerCase() === contract.toLowerCase())

/** Whether one more use is within all limits. */
export const areWithin = (limits: Limits, calls: readonly Call[]): boolean => {
  const tokensAreWithin = limits.tokenLimits.every((limit) => {
    let sum = spentOf(limits, limit)
    for (const call of callsOf(limit.contract, calls)) {
      const amount = amountOf(call)
      if (amount === null) return false
      sum += amount
    }
    return sum <= limit.max
  })
  const value = calls.reduce((sum, call) => sum + call.value, 0n)
  return (
    tokensAreWithin &&
    limits.rollingLimits.every(({ perSeconds, maxValue, maxUses }) => {
      if (maxValue !== null && calls.some(({ to }) => to === null)) return false
      if (maxValue !== null && valueSpentOf(limits, perSeconds) + value > maxValue) return false
      return maxUses === null || usesOf(limits, perSeconds) + 1 <= maxUses
    })
  )
}

/** Lengths, and ages that count or do not: none is between a length and a sixteenth more, where both are right. */
const LENGTHS = [60, 3_600] as const
const AGES = [1, 30, 59, 65, 1_800, 3_599, 3_830, 1_000_000] as const

const ETHER = 10n ** 18n

/** Limits for some calls: mostly with just enough left, or a little less or more. */
export const limitsFor = (random: Random, calls: readonly Call[]): Limits => {
  const contracts = [...new Set(calls.flatMap(({ to }) => (to?.startsWith('0x') ? [to] : [])))]
  const isCounted = (contract: string) => callsOf(contract, calls).every((call) => amountOf(call) !== null)
  const limited = contracts.filter((each) => random.isLikely(isCounted(each) ? 60 : 5))
  const count = random.one([0, 0, 1, 2, 3])
  const ages = Array.from({ length: count }, () => random.one(AGES)).toSorted((one, other) => other - one)
  const past = ages.map((secondsAgo) => ({
    ...{ secondsAgo, value: BigInt(random.below(3)) * ETHER },
    tokens: Object.fromEntries(limited.map((each) => [each, BigInt(random.below(5))])),
  }))
  const none: Limits = { ...NO_LIMITS, past }
  /** At least what was spent already. */
  const enough = (spent: bigint, need: bigint) => spent + need + random.one(need === 0n ? [0n, 1n] : [0n, 0n, 1n, -1n])
  const value = calls.reduce((sum, call) => sum + call.value, 0n)
  return {
    past,
    tokenLimits: limited.map((contract) => {
      const of = { contract, perSeconds: random.one([null, ...LENGTHS]) }
      const need = callsOf(contract, calls).reduce((sum, call) => sum + (amountOf(call) ?? 0n), 0n)
      return { ...of, max: enough(spentOf(none, of), need) }
    }),
    rollingLimits: LENGTHS.filter(() => random.isLikely(12)).map((perSeconds) => ({
      perSeconds,
      maxValue: random.isLikely(30) ? null : enough(valueSpentOf(none, perSeconds), value),
      maxUses: usesOf(none, perSeconds) + random.one([1, 1, 2, 0]),
    })),
  }
}
