// Reads from a policy's rules what is certain: the contract, the function, and the most that one transaction can take.
// Everything here is an upper bound, because all rules must match. Pure.

import type { AddressFacts, NodelessChain } from '../../chains/chain.ts'
import { DECODED, isFunctionRule, namesFunction } from '../../vault/language/call-rules.ts'
import { integerIn } from '../../vault/language/rule-values.ts'
import { areOnTypedData, VERIFYING_CONTRACT } from '../../vault/language/typed-data-rules.ts'
import { type ArgumentRule, bare, findFunctionRule } from './evaluate.ts'
import type { Limits } from './limits.ts'
import { type StandardCall, standardCallOf } from './standard-calls.ts'

export type KnownAddress = {
  /** Canonical. */
  readonly address: string
  /** null if the network's node did not answer. */
  readonly facts: AddressFacts | null
  /** Whether it is on a token list of the operator or of the network. If not, its name is only its own claim. */
  readonly isListed: boolean
}

export type Proposal = {
  readonly coin: NodelessChain['coin']
  readonly withoutRecipient: NodelessChain['withoutRecipient']
  readonly network: string
  readonly walletAddress: string
  /** The most transactions that count as one use. */
  readonly batchMax: number
  readonly name: string
  readonly argumentRules: readonly ArgumentRule[]
  readonly expiresAt: Date | null
  readonly maxUses: number | null
  readonly maxTotalValue: bigint | null
  readonly maxTotalFee: bigint
  readonly tokenLimits: Limits['tokenLimits']
  readonly rollingLimits: Limits['rollingLimits']
  /** Each use needs the approval of `of` of `people`; null: uses need no approval. */
  readonly approvers: { readonly of: number; readonly people: number } | null
  /** Whether only the developer says what the function is, because no ABI has it. False if it was not looked up. */
  readonly isFunctionUnknown: boolean
  /** The addresses in the rules, by the rules' values as written. */
  readonly known: ReadonlyMap<string, KnownAddress>
}

export type Token = {
  readonly symbol: string
  readonly decimals: number | null
  readonly standard: AddressFacts['standard']
}

export type Reading = {
  /**
   * `nothing`: a rule names an argument of call data and no rule names the function; or the coins are limited and the
   * policy is on runtime calls, whose coins cannot be counted.
   */
  readonly allows: 'payments' | 'calls' | 'runtime calls' | 'signatures' | 'nothing'
  readonly target: KnownAddress | null
  readonly functionName: string | null
  /** The names of the function's arguments by their places, as rules compare them. */
  readonly names: readonly string[]
  readonly token: Token | null
  /** null unless the function belongs to the standard of `token`. */
  readonly call: StandardCall | null
  /** The most of the coin that one transaction sends; null: no rule limits it. */
  readonly mostSent: bigint | null
  /** The most of the token in one transaction; null: no rule limits it. */
  readonly mostTaken: bigint | null
}

const COIN_TRANSFERS = ['balances.transfer_keep_alive', 'balances.transfer_allow_death']

/** The value to which a rule fixes an argument; null if none does. */
export const fixed = (rules: readonly ArgumentRule[], argument: string): string | null =>
  rules.find((rule) => rule.argument === argument && rule.operator === 'eq')?.value ?? null

/** The name of an argument of call data, as rules compare it; null for other arguments. */
export const nameIn = (rule: ArgumentRule): string | null =>
  rule.argument.startsWith(DECODED) && !isFunctionRule(rule) ? bare(rule.argument.slice(DECODED.length)) : null

/** The value to which a rule fixes an argument of call data; null if none does. */
export const fixedArgument = ({ argumentRules }: Pick<Proposal, 'argumentRules'>, name: string): string | null =>
  argumentRules.find((rule) => nameIn(rule) === name && rule.operator === 'eq')?.value ?? null

export const isAt = ({ names }: Pick<Reading, 'names'>, argument: string, place: number | undefined): boolean =>
  place !== undefined && names[place] === argument

type Named = Pick<Reading, 'functionName'>

/** Whether an argument is the amount of a transfer of the coin by a runtime. */
export const isCoinAmount = ({ functionName }: Named, argument: string): boolean =>
  COIN_TRANSFERS.includes(functionName ?? '') && argument === 'value'

/** Who is paid by a runtime's transfer of the coin; null for another call. */
export const payeeOf = ({ functionName }: Named): 'dest' | null =>
  [...COIN_TRANSFERS, 'balances.transfer_all'].includes(functionName ?? '') ? 'dest' : null

/** The highest integer that a rule lets through; null if it has no upper end. */
const readCap = ({ operator, value }: ArgumentRule): bigint | null => {
  const integer = integerIn(value)
  if (integer === null) return null
  if (operator === 'eq' || operator === 'le') return integer
  return operator === 'lt' ? integer - 1n : null
}

const findCap = (rules: readonly ArgumentRule[]): bigint | null => {
  let lowest: bigint | null = null
  for (const cap of rules.map(readCap)) if (cap !== null && (lowest === null || cap < lowest)) lowest = cap
  return lowest !== null && lowest < 0n ? 0n : lowest
}

const decideAllows = (proposal: Proposal): Reading['allows'] => {
  const { argumentRules: rules, withoutRecipient, maxTotalValue, rollingLimits } = proposal
  if (areOnTypedData(rules)) return 'signatures'
  const reads = rules.some(({ argument }) => argument.startsWith(DECODED))
  if (!reads) return 'payments'
  if (!rules.some(namesFunction)) return 'nothing'
  const hasRecipient = rules.some(({ argument }) => argument === 'to' || argument === 'value')
  if (withoutRecipient === 'creation' || hasRecipient) return 'calls'
  const limitsValue = maxTotalValue !== null || rollingLimits.some((limit) => limit.maxTotalValue !== null)
  return limitsValue ? 'nothing' : 'runtime calls'
}

type Declared = { readonly signature: string; readonly names: readonly string[] }

/** Matches a function without tuple arguments. The functions of the standards have none. */
const FLAT = /^[^()]*\(([^()]*)\)$/

/** An argument without a name, or with the name of an earlier one, has its number. */
const declared = (declaration: string): Declared => {
  const [, list] = FLAT.exec(declaration) ?? []
  if (list === undefined) return { signature: '', names: [] }
  const inputs = list === '' ? [] : list.split(',').map((input) => input.trim().split(' '))
  const names: string[] = []
  for (const [index, [, name = '']] of inputs.entries()) {
    const shown = bare(name)
    names.push(shown === '' || names.includes(shown) ? String(index) : shown)
  }
  return { signature: `${bareName(declaration)}(${inputs.map(([type]) => type).join(',')})`, names }
}

/** A function as rules name it: its bare name, or its whole signature. */
const bareName = (text: string): string => text.split('(')[0] ?? ''

/** NFTs are counted, whatever decimals their contract claims. */
const countNfts = (facts: AddressFacts): Token => (facts.standard === 'erc20' ? facts : { ...facts, decimals: 0 })

export const readProposal = (proposal: Proposal): Reading => {
  const { argumentRules: rules, known } = proposal
  const contract = areOnTypedData(rules) ? VERIFYING_CONTRACT : 'to'
  const target = known.get(fixed(rules, contract) ?? '') ?? null
  const named = findFunctionRule(rules)
  const functionName = named === undefined ? null : bareName(named.value)
  const { signature, names } = declared(named?.declaration ?? '')
  const facts = target?.facts ?? null
  const token = facts === null || facts.standard === 'other' ? null : countNfts(facts)
  const call = token === null ? null : standardCallOf(token.standard, signature)
  const allows = decideAllows(proposal)
  const amounts = rules.filter((rule) => isAt({ names }, nameIn(rule) ?? '', call?.amountAt))
  const coins = rules.filter((rule) =>
    allows === 'runtime calls' ? isCoinAmount({ functionName }, nameIn(rule) ?? '') : rule.argument === 'value',
  )
  const most = { mostSent: findCap(coins), mostTaken: findCap(amounts) }
  return { allows, target, functionName, names, token, call, ...most }
}
