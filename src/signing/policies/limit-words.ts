// Token limits and rolling limits in words. Pure.

import { countedNow } from '../../vault/language/policy-limits.ts'
import type { Limits } from './limits.ts'
import type { Proposal } from './reading.ts'
import { coins, namedWords, tokens } from './rule-words.ts'
import { type Sentence, say } from './sentence.ts'

/** No wallet has so much of a coin (79 billion ether), and some tokens treat this as infinite (UNI: uint96). */
const ENDLESS = 2n ** 96n - 1n

/** null if the limit has no effect. */
export const limited = (amount: bigint | null): bigint | null => (amount === null || amount >= ENDLESS ? null : amount)

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

const describeTime = (seconds: number): string => {
  const [unit, length] = UNITS.find(([, each]) => seconds % each === 0) ?? ['second', 1]
  const count = seconds / length
  return count === 1 ? unit : `${count} ${unit}s`
}

const during = (perSeconds: number | null): string =>
  perSeconds === null ? 'in all' : `in any ${describeTime(perSeconds)}`

type TokenLimit = Limits['tokenLimits'][number]

/** An amount of a limited token. Decimals are known only for ERC-20; show other amounts in base units. */
const describeAmount = (proposal: Proposal, { contractAddress }: TokenLimit, amount: bigint): Sentence => {
  const facts = proposal.known.get(contractAddress)?.facts ?? null
  return facts?.standard === 'erc20' ? tokens(facts, amount) : say`${String(amount)} of the smallest units`
}

const tokenLimitWords = (proposal: Proposal, limit: TokenLimit): Sentence => {
  const most = describeAmount(proposal, limit, BigInt(limit.maxTotal))
  return say`With ${namedWords(proposal, limit.contractAddress)}, it sends or approves at most ${most} ${during(limit.perSeconds)}, and does nothing else.`
}

export const listedLimitWords = (proposal: Proposal): readonly Sentence[] => [
  ...proposal.rollingLimits.flatMap(({ perSeconds, maxTotalValue, maxUses }) => [
    ...(maxUses === null ? [] : [say`At most ${maxUses === 1 ? 'once' : `${maxUses} times`} ${during(perSeconds)}.`]),
    ...(maxTotalValue === null
      ? []
      : [say`It sends at most ${coins(proposal, BigInt(maxTotalValue))} ${during(perSeconds)}.`]),
  ]),
  ...proposal.tokenLimits.map((limit) => tokenLimitWords(proposal, limit)),
]

/** A sentence for each limit: how much of it is used at present. */
export const listedLimitsUsed = (
  proposal: Proposal,
  { limitCounts, now }: { readonly limitCounts: Parameters<typeof countedNow>[1]['counts']; readonly now: Date },
): readonly Sentence[] => {
  const { tokens: taken, rolling } = countedNow(proposal, { counts: limitCounts, at: now })
  const ofRolling = proposal.rollingLimits.flatMap(({ perSeconds, maxTotalValue, maxUses }, index) => {
    const { value, uses } = rolling[index] ?? { value: null, uses: null }
    return [
      ...(uses === null ? [] : [say`Counted ${during(perSeconds)}: ${String(uses)} of ${String(maxUses)} times.`]),
      ...(value === null
        ? []
        : [
            say`Counted ${during(perSeconds)}: ${coins(proposal, value)} of ${coins(proposal, BigInt(maxTotalValue ?? 0))}.`,
          ]),
    ]
  })
  const ofTokens = proposal.tokenLimits.map((limit, index) => {
    const [spent, most] = [taken[index] ?? 0n, BigInt(limit.maxTotal)]
    return say`Counted ${during(limit.perSeconds)}: ${describeAmount(proposal, limit, spent)} of ${describeAmount(proposal, limit, most)}.`
  })
  return [...ofRolling, ...ofTokens]
}

export const limitsOfToken = (proposal: Proposal, address: string | null) => {
  const own = proposal.tokenLimits.filter(({ contractAddress }) => contractAddress === address)
  const inAll = own.find(({ perSeconds }) => perSeconds === null)
  const [first] = own.filter(({ perSeconds, maxTotal }) => perSeconds !== null && limited(BigInt(maxTotal)) !== null)
  return {
    inAll: inAll === undefined ? null : BigInt(inAll.maxTotal),
    rolling:
      first === undefined
        ? null
        : say`${describeAmount(proposal, first, BigInt(first.maxTotal))} ${during(first.perSeconds)}`,
  }
}

export const rollingValueWords = (proposal: Proposal): Sentence | null => {
  for (const { maxTotalValue, perSeconds } of proposal.rollingLimits) {
    const most = limited(maxTotalValue === null ? null : BigInt(maxTotalValue))
    if (most !== null) return say`${coins(proposal, most)} ${during(perSeconds)}`
  }
  return null
}
