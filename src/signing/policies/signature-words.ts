// The words of a policy on typed data. Pure.

import { areOnTypedData, PRIMARY_TYPE } from '../../vault/language/typed-data-rules.ts'
import { limitsOfToken } from './limit-words.ts'
import type { Proposal, Reading } from './reading.ts'
import { namedWords } from './rule-words.ts'
import { type Sentence, say } from './sentence.ts'

/** Names of types by which others can take something. */
const TAKES = /permit|approv|allowance|authori[sz]|delegat|order|transfer|withdraw/i

/** Whether a policy is on typed data. */
export const signsTypedData = ({ argumentRules }: Pick<Proposal, 'argumentRules'>): boolean =>
  areOnTypedData(argumentRules)

/** What a policy on typed data can cost besides fees, which it has none of. */
export const signatureCost = ({ coin, tokenLimits }: Proposal): Sentence => {
  const counted = tokenLimits.length === 0 ? '' : ', except for the tokens that are limited'
  return say`It sends no ${coin.symbol} and pays no fees. What others take by the signatures is not counted${counted}.`
}

export const signatureWarnings = (proposal: Proposal, { target }: Reading): readonly Sentence[] => {
  const fixed = (argument: string) =>
    proposal.argumentRules.find((rule) => rule.argument === argument && rule.operator === 'eq')?.value
  const later = say`What was signed can be used also after this has ended.`
  if (!TAKES.test(fixed(PRIMARY_TYPE) ?? '')) return [later]
  const spender = fixed('typedData.message.spender')
  const whom = spender === undefined ? say`anybody` : namedWords(proposal, spender)
  const { inAll, rolling } = limitsOfToken(proposal, target?.address ?? null)
  const bound = inAll === null && rolling === null ? 'without a limit' : 'up to the limit above'
  return [say`It can let ${whom} take tokens or NFTs from this wallet, ${bound}.`, later]
}
