// A policy in words, for the owner of the wallet: what it allows, its limits, the most that it can cost, and its
// dangers. The words are made from the values to which the owner agrees with the PIN. Pure.

import type { UnrevokedPolicy } from '../../vault/contract/vault.ts'
import { areOnTypedData, PRIMARY_TYPE } from '../../vault/language/typed-data-rules.ts'
import { limited, limitsOfToken, listedLimitsUsed, listedLimitWords, rollingValueWords } from './limit-words.ts'
import { fixed, fixedArgument, type Proposal, payeeOf, type Reading, readProposal, type Token } from './reading.ts'
import { coins, mayWords, namedWords, tokens, unitsOf } from './rule-words.ts'
import type { PolicyWords } from './schema.ts'
import { code, name, type Sentence, say, time } from './sentence.ts'
import { isNamedLikeApproval } from './standard-calls.ts'

const TAKES = /permit|approv|allowance|authori[sz]|delegat|order|transfer|withdraw/i

const signatureCost = ({ coin, tokenLimits }: Proposal): Sentence => {
  const counted = tokenLimits.length === 0 ? '' : ', except for the tokens that are limited'
  return say`It sends no ${coin.symbol} and pays no fees. What others take by the signatures is not counted${counted}.`
}

const signatureWarnings = (proposal: Proposal, { target }: Reading): readonly Sentence[] => {
  const later = say`What was signed can be used also after this has ended.`
  if (!TAKES.test(fixed(proposal.argumentRules, PRIMARY_TYPE) ?? '')) return [later]
  const spender = fixed(proposal.argumentRules, 'typedData.message.spender')
  const whom = spender === null ? say`anybody` : namedWords(proposal, spender)
  const { inAll, rolling } = limitsOfToken(proposal, target?.address ?? null)
  const bound = inAll === null && rolling === null ? 'without a limit' : 'up to the limit above'
  return [say`It can let ${whom} take tokens or NFTs from this wallet, ${bound}.`, later]
}

type Spent = {
  readonly uses: number
  readonly spentValue: bigint
  readonly spentFee: bigint
  readonly limitCounts: UnrevokedPolicy['limitCounts']
}

const lower = (one: bigint | null, other: bigint | null): bigint | null => {
  if (one === null || other === null) return one ?? other
  return one < other ? one : other
}

/** The most that all uses can sum up to, if one transaction takes at most `each`; null: no limit. */
const inAll = ({ maxUses, batchMax }: Proposal, each: bigint | null): bigint | null => {
  if (each === 0n) return 0n
  return each === null || maxUses === null ? null : each * BigInt(maxUses) * BigInt(batchMax)
}

const sentInAll = (proposal: Proposal, reading: Reading): bigint | null => {
  if (reading.allows === 'nothing' || reading.allows === 'signatures') return 0n
  return limited(lower(proposal.maxTotalValue, inAll(proposal, reading.mostSent)))
}

/** Substrate calls that contain other calls, or let other accounts make calls. */
const CARRIES = /^(?:utility|proxy|multisig|sudo)\./

const takenInAll = (
  proposal: Proposal,
  { token, call, mostTaken, target }: Reading,
): { readonly token: Token; readonly most: bigint | null; readonly rolling: Sentence | null } | null => {
  const takes = call !== null && ['sends', 'destroys', 'approves'].includes(call.effect)
  if (token?.standard !== 'erc20' || !takes) return null
  const limits = limitsOfToken(proposal, target?.address ?? null)
  return { token, most: limited(lower(inAll(proposal, mostTaken), limits.inAll)), rolling: limits.rolling }
}

/** Whether the rules allow `setApprovalForAll` only to withdraw an approval. */
const endsApproval = (proposal: Proposal, { call, names }: Reading): boolean =>
  call?.effect === 'approves all' && fixedArgument(proposal, names[call.approvedAt ?? -1] ?? '') === 'false'

const takesNfts = (proposal: Proposal, reading: Reading): boolean => {
  const { token, call } = reading
  if (token === null || token.standard === 'erc20' || endsApproval(proposal, reading)) return false
  return call !== null && call.effect !== 'makes' && call.effect !== 'disapproves'
}

/** Whether it is a runtime call other than a transfer of the coin. */
const isUnknownRuntimeCall = (reading: Reading): boolean =>
  reading.allows === 'runtime calls' && payeeOf(reading) === null

const isLimited = ({ most, rolling }: { readonly most: bigint | null; readonly rolling: Sentence | null }): boolean =>
  most !== null || rolling !== null

const costOfCoins = (proposal: Proposal, sent: bigint | null): Sentence => {
  const fee = limited(proposal.maxTotalFee)
  const { symbol } = proposal.coin
  const rolling = rollingValueWords(proposal)
  if (sent === null && fee !== null && rolling !== null) {
    return say`At most ${rolling} that it sends, and ${coins(proposal, fee)} for fees in all.`
  }
  if (sent === null || fee === null) return say`All ${symbol} in this wallet.`
  if (sent === 0n) return say`At most ${coins(proposal, fee)}, for fees. It sends no ${symbol}.`
  return say`At most ${coins(proposal, sent + fee)} in all: ${coins(proposal, sent)} that it sends, and ${coins(proposal, fee)} for fees.`
}

const costOfTokens = (proposal: Proposal, reading: Reading): Sentence => {
  const taken = takenInAll(proposal, reading)
  if (taken !== null) {
    const { token, most, rolling } = taken
    if (most === null && rolling !== null) return say` And at most ${rolling}.`
    return most === null ? say` And all ${unitsOf(token)} in this wallet.` : say` And at most ${tokens(token, most)}.`
  }
  if (takesNfts(proposal, reading)) return say` And NFTs of this collection.`
  if (isUnknownRuntimeCall(reading)) return say` Everything else that this call can take is not counted.`
  const isKnown = reading.allows !== 'calls' || reading.call !== null
  return isKnown ? say`` : say` Tokens and NFTs that the contract takes are not counted.`
}

const approverWords = ({ approvers }: Proposal): readonly Sentence[] => {
  if (approvers === null) return []
  const { of, people } = approvers
  return [say`Each time ${String(of)} of ${String(people)} of the developer's users must approve it first.`]
}

const limitWords = (proposal: Proposal, now: Date): readonly Sentence[] => {
  const { maxUses, batchMax, maxTotalValue, maxTotalFee, expiresAt, coin } = proposal
  const isSigning = areOnTypedData(proposal.argumentRules)
  const batches = batchMax > 1 && !isSigning ? ` Each time can be up to ${batchMax} transactions at once.` : ''
  const times = maxUses === 1 ? 'Once.' : `At most ${maxUses} times.`
  const end = expiresAt !== null && expiresAt <= now ? say`It ended: ` : say`Until `
  return [
    say`${maxUses === null ? 'Any number of times.' : times}${batches}`,
    expiresAt === null ? say`Without an end, until you take it back.` : say`${end}${time(expiresAt)}.`,
    ...(maxTotalValue === null ? [] : [say`It sends at most ${coins({ coin }, maxTotalValue)} in all.`]),
    ...(isSigning ? [] : [say`Fees of at most ${coins({ coin }, maxTotalFee)} in all.`]),
    ...listedLimitWords(proposal),
    ...approverWords(proposal),
  ]
}

const describeFixed = (proposal: Proposal, { names }: Reading, place: number | undefined): Sentence | null => {
  const name = names[place ?? -1]
  const fixed = name === undefined ? null : fixedArgument(proposal, name)
  return fixed === null ? null : namedWords(proposal, fixed)
}

const approvalWarnings = (proposal: Proposal, reading: Reading): readonly Sentence[] => {
  const { token, call, functionName } = reading
  const later = 'also after this has ended'
  if (call === null) {
    if (functionName === null || !isNamedLikeApproval(functionName)) return []
    return [say`It can let somebody take tokens or NFTs from this wallet, without a limit, ${later}.`]
  }
  const whom = describeFixed(proposal, reading, call.spenderAt) ?? say`anybody`
  if (call.effect === 'approves all') {
    return endsApproval(proposal, reading)
      ? []
      : [say`It can let ${whom} take every NFT of this collection from this wallet, ${later}.`]
  }
  if (call.effect !== 'approves' || token === null) return []
  if (token.standard !== 'erc20') return [say`It can let ${whom} take NFTs from this wallet, ${later}.`]
  const taken = takenInAll(proposal, reading)
  const bound = taken !== null && isLimited(taken) ? 'up to the limit above' : 'all of them, without a limit'
  const how = limited(reading.mostTaken) === null ? bound : 'up to the amount above each time'
  return [say`It can let ${whom} take ${unitsOf(token)} from this wallet, ${how}, ${later}.`]
}

const nftWarnings = (proposal: Proposal, reading: Reading): readonly Sentence[] => {
  const effect = reading.call?.effect
  if (!takesNfts(proposal, reading) || (effect !== 'sends' && effect !== 'destroys')) return []
  const does = effect === 'destroys' ? 'destroy' : 'give away'
  return [say`It can ${does} NFTs of this collection that are in this wallet.`]
}

const tokenWarnings = (proposal: Proposal, reading: Reading): readonly Sentence[] => {
  const { call } = reading
  const taken = takenInAll(proposal, reading)
  const isEndless = taken !== null && !isLimited(taken) && call?.effect !== 'approves'
  const isToAnybody = call?.effect === 'sends' && describeFixed(proposal, reading, call.recipientAt) === null
  return [
    ...(isEndless ? [say`No limit says how many ${unitsOf(taken.token)} it takes: it can be all.`] : []),
    ...nftWarnings(proposal, reading),
    ...(isToAnybody ? [say`No rule says who gets what it sends: it can be anybody.`] : []),
    ...approvalWarnings(proposal, reading),
  ]
}

const targetWarning = (proposal: Proposal, reading: Reading): readonly Sentence[] => {
  const { allows, target } = reading
  if (target !== null) return []
  const payee = payeeOf(reading)
  const paysAnybody = payee !== null && fixedArgument(proposal, payee) === null
  if (allows === 'payments' || paysAnybody) return [say`No rule says who is paid: it can be anybody.`]
  if (allows !== 'calls') return []
  return [say`No rule says which contract it calls: it can be any, also one that is made to harm you.`]
}

const describeWarnings = (proposal: Proposal, reading: Reading): readonly Sentence[] => {
  const { symbol } = proposal.coin
  if (reading.allows === 'nothing') return []
  if (reading.allows === 'signatures') {
    return [...(proposal.expiresAt === null ? [say`It has no end.`] : []), ...signatureWarnings(proposal, reading)]
  }
  const carries = CARRIES.test(reading.functionName ?? '')
  return [
    ...(proposal.expiresAt === null ? [say`It has no end.`] : []),
    ...(sentInAll(proposal, reading) === null && rollingValueWords(proposal) === null
      ? [say`No limit says how much ${symbol} it sends: it can be all that is in this wallet.`]
      : []),
    ...(limited(proposal.maxTotalFee) === null ? [say`No limit says how much it spends on fees.`] : []),
    ...targetWarning(proposal, reading),
    ...(carries ? [say`This call can hold other calls: it can do anything that this wallet can do.`] : []),
    ...(!carries && isUnknownRuntimeCall(reading)
      ? [
          say`The limits above count only coins and fees. This call can take more: tokens, NFTs, or rights over this wallet.`,
        ]
      : []),
    ...(proposal.isFunctionUnknown
      ? [
          say`This service does not know the function. Its name is what the developer says, and it may do something else.`,
        ]
      : []),
    ...tokenWarnings(proposal, reading),
  ]
}

const usedWords = (proposal: Proposal, spent: Spent, now: Date): readonly Sentence[] => {
  const { uses, spentValue, spentFee, limitCounts } = spent
  const { maxUses, maxTotalValue, maxTotalFee } = proposal
  const times = uses === 1 ? 'once' : `${uses} times`
  const sent = coins(proposal, spentValue)
  return [
    uses === 0 ? say`Not used yet.` : say`Used ${times}${maxUses === null ? '' : `, of at most ${maxUses}`}.`,
    ...(uses === 0
      ? []
      : [
          maxTotalValue === null ? say`Sent: ${sent}.` : say`Sent: ${sent} of ${coins(proposal, maxTotalValue)}.`,
          say`Counted for fees: ${coins(proposal, spentFee)} of ${coins(proposal, maxTotalFee)}.`,
          ...listedLimitsUsed(proposal, { limitCounts, now }),
        ]),
  ]
}

/** @param input.spent null before the policy exists. */
export const policyWords = (
  proposal: Proposal,
  { now, spent }: { readonly now: Date; readonly spent: Spent | null },
): PolicyWords => {
  const reading = readProposal(proposal)
  const sent = sentInAll(proposal, reading)
  return {
    name: name(proposal.name),
    wallet: say`${code(proposal.walletAddress)} on ${proposal.network}`,
    may: [...mayWords(proposal, reading)],
    limits: [...limitWords(proposal, now)],
    cost:
      reading.allows === 'signatures'
        ? signatureCost(proposal)
        : say`${costOfCoins(proposal, sent)}${costOfTokens(proposal, reading)}`,
    warnings: [...describeWarnings(proposal, reading)],
    used: spent === null ? [] : [...usedWords(proposal, spent, now)],
  }
}
