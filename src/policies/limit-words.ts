// The limits on tokens and those that roll, in words. Pure.

import { countedNow } from '../custody/policy-limits.ts'
import type { Limits } from './limits.ts'
import type { Proposal } from './reading.ts'
import { addressWords, coins, tokens } from './rule-words.ts'
import { code, type Sentence, say } from './sentence.ts'

/**
 * From here on a limit limits nothing: nobody has so much of a coin (79 billion ether), and some tokens take such an allowance
 * as endless (UNI's Uni.sol: uint96).
 */
const ENDLESS = 2n ** 96n - 1n

/** null where a limit limits nothing. */
export const limited = (amount: bigint | null): bigint | null => (amount === null || amount >= ENDLESS ? null : amount)

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** Exact: in the longest unit that fits. */
const timeOf = (seconds: number): string => {
  const [unit, length] = UNITS.find(([, each]) => seconds % each === 0) ?? ['second', 1]
  const count = seconds / length
  return count === 1 ? unit : `${count} ${unit}s`
}

/** In all, or in any time of some length. */
const during = (perSeconds: number | null): string => (perSeconds === null ? 'in all' : `in any ${timeOf(perSeconds)}`)

type TokenLimit = Limits['tokenLimits'][number]

/** An amount of what a limit counts. Only of a token of ERC-20 anybody knows how many units are one. */
const amountOf = (proposal: Proposal, { contractAddress }: TokenLimit, amount: bigint): Sentence => {
  const facts = proposal.known.get(contractAddress)?.facts ?? null
  return facts?.standard === 'erc20' ? tokens(facts, amount) : say`${String(amount)} of the smallest units`
}

const whichToken = (proposal: Proposal, { contractAddress }: TokenLimit): Sentence => {
  const known = proposal.known.get(contractAddress)
  return known === undefined ? say`${code(contractAddress)}` : addressWords(proposal, known)
}

const tokenLimitWords = (proposal: Proposal, limit: TokenLimit): Sentence => {
  const most = amountOf(proposal, limit, BigInt(limit.maxTotal))
  return say`With ${whichToken(proposal, limit)}, it sends or approves at most ${most} ${during(limit.perSeconds)}, and does nothing else.`
}

/** A sentence for each limit. */
export const listedLimitWords = (proposal: Proposal): readonly Sentence[] => [
  ...proposal.rollingLimits.flatMap(({ perSeconds, maxTotalValue, maxUses }) => [
    ...(maxUses === null ? [] : [say`At most ${maxUses === 1 ? 'once' : `${maxUses} times`} ${during(perSeconds)}.`]),
    ...(maxTotalValue === null
      ? []
      : [say`It sends at most ${coins(proposal, BigInt(maxTotalValue))} ${during(perSeconds)}.`]),
  ]),
  ...proposal.tokenLimits.map((limit) => tokenLimitWords(proposal, limit)),
]

/** What counts at present of each limit. */
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
    return say`Counted ${during(limit.perSeconds)}: ${amountOf(proposal, limit, spent)} of ${amountOf(proposal, limit, most)}.`
  })
  return [...ofRolling, ...ofTokens]
}

/** The limits on the contract that a policy is about: in all, and the first that rolls, as words. */
export const limitsOfToken = (proposal: Proposal, address: string | null) => {
  const own = proposal.tokenLimits.filter(({ contractAddress }) => contractAddress === address)
  const inAll = own.find(({ perSeconds }) => perSeconds === null)
  const [first] = own.filter(({ perSeconds, maxTotal }) => perSeconds !== null && limited(BigInt(maxTotal)) !== null)
  return {
    inAll: inAll === undefined ? null : BigInt(inAll.maxTotal),
    rolling:
      first === undefined
        ? null
        : say`${amountOf(proposal, first, BigInt(first.maxTotal))} ${during(first.perSeconds)}`,
  }
}

/** The first limit on the value that rolls, as words. */
export const rollingValueWords = (proposal: Proposal): Sentence | null => {
  for (const { maxTotalValue, perSeconds } of proposal.rollingLimits) {
    const most = limited(maxTotalValue === null ? null : BigInt(maxTotalValue))
    if (most !== null) return say`${coins(proposal, most)} ${during(perSeconds)}`
  }
  return null
}
