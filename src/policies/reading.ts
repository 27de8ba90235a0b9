// What the rules of a policy fix, as far as it can be said with certainty: the contract, the function, and the most that one
// transaction can take. Everything here is an upper bound, because all rules must match. Pure.

import type { AddressFacts, NodelessChain } from '../chains/chain.ts'
import { type ArgumentRule, bare, DECODED, integerIn, namesFunction } from './evaluate.ts'
import type { Limits } from './limits.ts'
import { type StandardCall, standardCallOf } from './standard-calls.ts'

/** An address in a rule. */
export type KnownAddress = {
  /** Canonical. */
  readonly address: string
  /** null if the network's node did not answer. */
  readonly facts: AddressFacts | null
  /** Whether a list of the operator or the known tokens of the network have it. Otherwise its name is only what it says of itself. */
  readonly isListed: boolean
}

/** What a policy allows, before it is said. */
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
  /** How many of how many people must approve each use; null: nobody. */
  readonly approvers: { readonly of: number; readonly people: number } | null
  /** Whether nothing but the developer's own words says what the function is. False where that was not looked up. */
  readonly isFunctionUnknown: boolean
  /** By a rule's value as it is written. */
  readonly known: ReadonlyMap<string, KnownAddress>
}

export type Token = { readonly symbol: string; readonly decimals: number; readonly standard: AddressFacts['standard'] }

export type Reading = {
  /**
   * `nothing`: a rule names an argument of call data and none the function; or the coins of runtime calls are limited, which
   * cannot be counted.
   */
  readonly allows: 'payments' | 'calls' | 'runtime calls' | 'nothing'
  readonly target: KnownAddress | null
  /** The bare name. */
  readonly functionName: string | null
  /** The names of the function's arguments by their places, as rules compare them. */
  readonly names: readonly string[]
  /** The contract of `target`, if it is a token or a collection. */
  readonly token: Token | null
  /** null unless the function is one of the standard of `token`. */
  readonly call: StandardCall | null
  /** The most of the coin that one transaction sends; null: no rule limits it. */
  readonly mostSent: bigint | null
  /** The most of the token in one transaction; null: no rule limits it. */
  readonly mostTaken: bigint | null
}

const COIN_TRANSFERS = ['balances.transfer_keep_alive', 'balances.transfer_allow_death']

const FUNCTION = `${DECODED}function`

const fixed = (rules: readonly ArgumentRule[], argument: string): string | null =>
  rules.find((rule) => rule.argument === argument && rule.operator === 'eq')?.value ?? null

/** The name of an argument of call data, as rules compare it; null for the others. */
export const nameIn = ({ argument }: ArgumentRule): string | null =>
  argument.startsWith(DECODED) && argument !== FUNCTION ? bare(argument.slice(DECODED.length)) : null

/** The value to which a rule fixes an argument of call data; null if none does. */
export const fixedArgument = ({ argumentRules }: Pick<Proposal, 'argumentRules'>, name: string): string | null =>
  argumentRules.find((rule) => nameIn(rule) === name && rule.operator === 'eq')?.value ?? null

/** Whether an argument stands at a place of the function. */
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
const capOf = ({ operator, value }: ArgumentRule): bigint | null => {
  const integer = integerIn(value)
  if (integer === null) return null
  if (operator === 'eq' || operator === 'le') return integer
  return operator === 'lt' ? integer - 1n : null
}

const capBy = (rules: readonly ArgumentRule[]): bigint | null => {
  let lowest: bigint | null = null
  for (const cap of rules.map(capOf)) if (cap !== null && (lowest === null || cap < lowest)) lowest = cap
  return lowest !== null && lowest < 0n ? 0n : lowest
}

const allowedBy = (proposal: Proposal): Reading['allows'] => {
  const { argumentRules: rules, withoutRecipient, maxTotalValue, rollingLimits } = proposal
  const reads = rules.some(({ argument }) => argument.startsWith(DECODED))
  if (!reads) return 'payments'
  if (!rules.some(namesFunction)) return 'nothing'
  const hasRecipient = rules.some(({ argument }) => argument === 'to' || argument === 'value')
  if (withoutRecipient === 'creation' || hasRecipient) return 'calls'
  const limitsValue = maxTotalValue !== null || rollingLimits.some((limit) => limit.maxTotalValue !== null)
  return limitsValue ? 'nothing' : 'runtime calls'
}

type Declared = { readonly signature: string; readonly names: readonly string[] }

/** A function whose arguments are no tuples: those of the standards have none. */
const FLAT = /^[^()]*\(([^()]*)\)$/

/**
 * The signature and the names of a compiled function's arguments. An argument without a name, or with the name of an earlier
 * one, has its number.
 */
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

export const readingOf = (proposal: Proposal): Reading => {
  const { argumentRules: rules, known } = proposal
  const target = known.get(fixed(rules, 'to') ?? '') ?? null
  const named = rules.find(namesFunction)
  const functionName = named === undefined ? null : bareName(named.value)
  const { signature, names } = declared(named?.declaration ?? '')
  const facts = target?.facts ?? null
  const token = facts === null || facts.standard === 'other' ? null : facts
  const call = token === null ? null : standardCallOf(token.standard, signature)
  const allows = allowedBy(proposal)
  const amounts = rules.filter((rule) => isAt({ names }, nameIn(rule) ?? '', call?.amountAt))
  const coins = rules.filter((rule) =>
    allows === 'runtime calls' ? isCoinAmount({ functionName }, nameIn(rule) ?? '') : rule.argument === 'value',
  )
  const most = { mostSent: capBy(coins), mostTaken: capBy(amounts) }
  return { allows, target, functionName, names, token, call, ...most }
}
