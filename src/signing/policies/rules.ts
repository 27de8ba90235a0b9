// Checks the rules of a new policy. Rules that can never match are refused. On EVM networks the rule on the function is
// compiled: its name is replaced by one function with a selector and arguments, and the other rules are checked against
// these. So an ABI that is added or changed later does not change what the owner agreed to.

import type { CallReader, Chain, CompiledFunction, DeclaredCalls, NodelessChain } from '../../chains/chain.ts'
import { DECODED, isFunctionRule, namesFunction } from '../../vault/language/call-rules.ts'
import { integerIn, isOfKind } from '../../vault/language/rule-values.ts'
import { invalidField } from '../schema.ts'
import { type ArgumentRule, bare } from './evaluate.ts'
import { checkTypedDataRules } from './typed-data-rules.ts'

const nameField = (index: number, member: keyof ArgumentRule): string => `argument_rules.${index}.${member}`

export type RuledChain = Pick<
  NodelessChain,
  'network' | 'typedData' | 'parseAddress' | 'isPrefixedAddress' | 'isCallName'
>

const isOrdered = ({ operator }: ArgumentRule): boolean => operator !== 'eq' && operator !== 'ne'

const checkRule = (chain: RuledChain, rule: ArgumentRule, index: number): void => {
  const { argument, value } = rule
  const at = nameField(index, 'value')
  if (isOrdered(rule) && (argument === 'to' || argument === 'decodedInput.function')) {
    throw invalidField(nameField(index, 'operator'), `must be eq or ne for "${argument}", which is not a number.`)
  }
  // An account is written differently with each SS58 prefix. With the wrong one, `ne` would forbid nothing.
  const isAddress = argument === 'to' || (argument.startsWith(DECODED) && chain.isPrefixedAddress(value))
  const address = isAddress ? chain.parseAddress(value, at) : value
  // Transactions hold a program's address in its canonical text, so its id in hex would never match.
  if (address.toLowerCase() !== value.toLowerCase()) throw invalidField(at, `must be written as ${address} here.`)
  // With another spelling, such as `balances.transferKeepAlive`, `ne` would forbid nothing.
  if (argument.endsWith('.function') && !chain.isCallName(value)) {
    throw invalidField(at, 'must be a call as previews name it, for instance balances.transfer_keep_alive.')
  }
  if ((isOrdered(rule) || argument === 'value') && integerIn(value) === null) {
    throw invalidField(at, 'must be an integer here, in plain decimal digits or 0x hex.')
  }
}

export const checkRules = (chain: RuledChain, rules: readonly ArgumentRule[]): void => {
  if (checkTypedDataRules(chain, rules)) return
  for (const [index, rule] of rules.entries()) checkRule(chain, rule, index)
}

const KIND_WORDS = {
  integer: 'an integer, in plain decimal digits or 0x hex',
  address: 'an address: 0x and 40 hex digits',
  account: 'an address in SS58',
  bytes: 'bytes: 0x and pairs of hex digits',
  bool: 'true or false',
  text: 'a text',
} as const

const checkArgument = (reader: CallReader, rule: ArgumentRule, index: number): void => {
  const kind = reader.kindOf(bare(rule.argument.slice(DECODED.length)))
  if (kind === null) {
    const has = reader.names.length === 0 ? 'it has none' : `its arguments are ${reader.names.join(', ')}`
    throw invalidField(nameField(index, 'argument'), `must be an argument of the function: ${has}.`)
  }
  if (isOrdered(rule) && kind !== 'integer') {
    throw invalidField(nameField(index, 'operator'), `must be eq or ne for "${rule.argument}", which is not a number.`)
  }
  if (!isOfKind(kind, rule.value)) throw invalidField(nameField(index, 'value'), `must be ${KIND_WORDS[kind]}.`)
}

const checkArguments = (calls: DeclaredCalls, rules: readonly ArgumentRule[], compiled: CompiledFunction | null) => {
  const reader = compiled === null ? null : calls.readerOf(compiled)
  for (const [index, rule] of rules.entries()) {
    if (!rule.argument.startsWith(DECODED)) continue
    if (reader === null) {
      throw invalidField(
        nameField(index, 'argument'),
        'needs another rule that names the function: decodedInput.function eq.',
      )
    } else if (!isFunctionRule(rule)) checkArgument(reader, rule, index)
  }
}

const compileFunction = async (
  chain: Pick<Chain, 'parseAddress'>,
  calls: DeclaredCalls,
  rules: readonly ArgumentRule[],
) => {
  const index = rules.findIndex(namesFunction)
  const name = rules[index]?.value
  if (name === undefined) return null
  const second = rules.findLastIndex(namesFunction)
  if (second !== index)
    throw invalidField(nameField(second, 'argument'), 'is a second rule on the function; a policy may have only one.')
  const address = rules.find(({ argument, operator }) => argument === 'to' && operator === 'eq')?.value
  const to = address === undefined ? null : chain.parseAddress(address, 'argument_rules')
  return calls.compile({ name, to, field: nameField(index, 'value') })
}

/** Selector and declaration in a request must be the current ones, so that the owner agrees to what they read. */
const refuseOthers = (asked: readonly ArgumentRule[], agreed: readonly ArgumentRule[]): void => {
  for (const [index, rule] of asked.entries()) {
    for (const member of ['selector', 'declaration'] as const) {
      const right = agreed[index]?.[member]
      if (rule[member] === undefined || rule[member] === right) continue
      throw invalidField(
        nameField(index, member),
        right === undefined ? 'has no meaning here.' : `must be ${right} here, or absent.`,
      )
    }
  }
}

/** On EVM networks the function's rule gets its selector. @throws invalid_input for rules that can never match */
export const compileRules = async (chain: Pick<Chain, 'calls' | 'parseAddress'>, rules: readonly ArgumentRule[]) => {
  const { calls } = chain
  const asked = asAsked(rules)
  const compiled = calls.by === 'declaration' ? await compileFunction(chain, calls, asked) : null
  if (calls.by === 'declaration') checkArguments(calls, asked, compiled)
  const { selector, declaration, isKnown } = compiled ?? { isKnown: true }
  const agreed = asked.map((rule) =>
    namesFunction(rule) && selector !== undefined && declaration !== undefined
      ? { ...rule, selector, declaration }
      : rule,
  )
  refuseOthers(rules, agreed)
  // A rule that names a function of no known ABI has its full signature.
  return { rules: agreed, isFunctionUnknown: !isKnown }
}

/** Rules without what compiling added. Pure. */
export const asAsked = (rules: readonly ArgumentRule[]): readonly ArgumentRule[] =>
  rules.map(({ argument, operator, value }) => ({ argument, operator, value }))
