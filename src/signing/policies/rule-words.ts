// The rules of a policy in words. A function outside the standards is shown as written: its meaning is never guessed.
// Pure.

import type { RuleOperator } from '../../../db/words.ts'
import { displayAmount } from '../../platform/amount.ts'
import { unreachable } from '../../platform/errors.ts'
import { DECODED } from '../../vault/language/call-rules.ts'
import { integerIn } from '../../vault/language/rule-values.ts'
import { PRIMARY_TYPE, parseMessagePath, VERIFYING_CONTRACT } from '../../vault/language/typed-data-rules.ts'
import type { ArgumentRule } from './evaluate.ts'
import {
  isAt,
  isCoinAmount,
  type KnownAddress,
  nameIn,
  type Proposal,
  payeeOf,
  type Reading,
  type Token,
} from './reading.ts'
import { code, name, place, type Sentence, say } from './sentence.ts'

/** The exact number, with its digits in groups of three. */
const grouped = (amount: string): string => {
  const [whole = '', fraction] = amount.split('.')
  const digits = whole.replace(/\B(?=(?:[0-9]{3})+$)/g, ',')
  return fraction === undefined ? digits : `${digits}.${fraction}`
}

export const coins = ({ coin }: Pick<Proposal, 'coin'>, amount: bigint): string =>
  `${grouped(displayAmount(amount, coin.decimals))} ${coin.symbol}`

export const unitsOf = ({ symbol }: Pick<Token, 'symbol'>): Sentence =>
  symbol === '' ? say`tokens` : say`${name(symbol)}`

/** An amount of a token; in base units if the token does not say its decimals. */
export const tokens = (token: Pick<Token, 'symbol' | 'decimals'>, amount: bigint): Sentence =>
  token.decimals === null
    ? say`${grouped(amount.toString())} base units of ${unitsOf(token)}`
    : say`${grouped(displayAmount(amount, token.decimals))} ${unitsOf(token)}`

/** An address with its known name. An unlisted contract may claim any name, and the words say so. */
const addressWords = (proposal: Pick<Proposal, 'walletAddress'>, known: KnownAddress): Sentence => {
  const { address, facts, isListed } = known
  if (address === proposal.walletAddress) return say`this wallet itself, ${code(address)}`
  if (facts === null) return say`${code(address)}`
  if (!facts.isContract) return say`the account ${code(address)}`
  const called = facts.name === '' ? facts.symbol : facts.name
  if (called === '') return say`the contract ${code(address)}, which has no name`
  const symbol = facts.symbol === '' || facts.symbol === called ? say`` : say` (${name(facts.symbol)})`
  if (isListed) return say`${name(called)}${symbol}, ${code(address)}`
  return say`the contract ${code(address)}, which calls itself “${name(called)}”${symbol}`
}

/** The value of a rule, as an address with its known name if it is one. */
export const namedWords = (proposal: Proposal, value: string): Sentence => {
  const known = proposal.known.get(value)
  return known === undefined ? say`${code(value)}` : addressWords(proposal, known)
}

const COMPARED: Readonly<Record<RuleOperator, string>> = {
  eq: 'is',
  ne: 'is not',
  gt: 'is more than',
  ge: 'is at least',
  lt: 'is less than',
  le: 'is at most',
}

const SENT: Readonly<Record<RuleOperator, string>> = {
  eq: 'exactly',
  ne: 'any amount but',
  gt: 'more than',
  ge: 'at least',
  lt: 'less than',
  le: 'at most',
}

const recipientWords = (proposal: Proposal, reading: Reading, { operator, value }: ArgumentRule): Sentence => {
  const whom = namedWords(proposal, value)
  const preposition = reading.allows === 'payments' ? 'to' : 'with'
  return operator === 'eq' ? say`Only ${preposition} ${whom}.` : say`Not ${preposition} ${whom}.`
}

const functionWords = (reading: Reading, { operator, value, declaration }: ArgumentRule): Sentence => {
  if (operator !== 'eq') return say`Not by the function ${code(value)}.`
  const does = reading.call === null ? '' : `, which ${reading.call.does}`
  return say`Only by the function ${code(declaration ?? value)}${does}.`
}

const valueWords = (proposal: Proposal, { operator, value }: ArgumentRule): Sentence => {
  const amount = integerIn(value)
  if (amount === null || amount < 0n) return say`Only if the value ${COMPARED[operator]} ${code(value)}.`
  if (amount === 0n && (operator === 'eq' || operator === 'le'))
    return say`Without sending any ${proposal.coin.symbol}.`
  return say`Each transaction sends ${SENT[operator]} ${coins(proposal, amount)}.`
}

const personWords = (
  reading: Reading,
  { operator }: ArgumentRule,
  person: { name: string; shown: Sentence },
): Sentence | null => {
  const { call } = reading
  const { name: argument, shown } = person
  if (operator === 'eq' && argument === payeeOf(reading)) return say`Only to ${shown}.`
  if (operator !== 'eq' || call === null) return null
  if (isAt(reading, argument, call.spenderAt)) return say`Only ${shown} may then take it.`
  if (!isAt(reading, argument, call.recipientAt)) return null
  return call.effect === 'makes' ? say`Only for ${shown}.` : say`Only to ${shown}.`
}

const argumentWords = (proposal: Proposal, reading: Reading, rule: ArgumentRule): Sentence => {
  const { argument, operator, value } = rule
  const path = argument.slice(DECODED.length)
  const compared = COMPARED[operator]
  const amount = integerIn(value)
  const bareName = nameIn(rule) ?? ''
  if (amount !== null && amount >= 0n) {
    if (reading.token !== null && isAt(reading, bareName, reading.call?.amountAt)) {
      return say`Only if the amount (${code(path)}) ${compared} ${tokens(reading.token, amount)}.`
    }
    if (isCoinAmount(reading, bareName)) {
      return say`Only if the amount (${code(path)}) ${compared} ${coins(proposal, amount)}.`
    }
  }
  const shown = operator === 'eq' || operator === 'ne' ? namedWords(proposal, value) : say`${code(value)}`
  const person = personWords(reading, rule, { name: bareName, shown })
  return person ?? say`Only if ${code(path)} ${compared} ${value === '' ? 'empty' : shown}.`
}

const typedDataRuleWords = (proposal: Proposal, rule: ArgumentRule): Sentence => {
  const { argument, operator, value } = rule
  if (argument === PRIMARY_TYPE) return say`Only typed data of the type ${code(value)}.`
  if (argument === VERIFYING_CONTRACT) return say`Only for ${namedWords(proposal, value)}.`
  const path = parseMessagePath(rule)?.join('.') ?? argument
  return say`Only if ${place(path)} ${COMPARED[operator]} ${value === '' ? 'empty' : namedWords(proposal, value)}.`
}

const ruleWords = (proposal: Proposal, reading: Reading, rule: ArgumentRule): Sentence => {
  if (reading.allows === 'signatures') return typedDataRuleWords(proposal, rule)
  if (rule.argument === 'to') return recipientWords(proposal, reading, rule)
  if (rule.argument === 'value') return valueWords(proposal, rule)
  return nameIn(rule) === null ? functionWords(reading, rule) : argumentWords(proposal, reading, rule)
}

const kindWords = ({ coin, network }: Proposal, { allows }: Reading): Sentence => {
  switch (allows) {
    case 'payments':
      return say`Pay ${coin.symbol}. It may not call contracts.`
    case 'calls':
      return say`Call a contract.`
    case 'runtime calls':
      return say`Call ${network} itself.`
    case 'signatures':
      return say`Sign typed data for a contract. It may not send transactions.`
    case 'nothing':
      return say`Nothing: no transaction can match all of this.`
    default:
      return unreachable(allows)
  }
}

/** What a policy allows: first the kind of transaction, then a sentence for each rule. */
export const mayWords = (proposal: Proposal, reading: Reading): readonly Sentence[] => [
  kindWords(proposal, reading),
  ...proposal.argumentRules.map((rule) => ruleWords(proposal, reading, rule)),
]
