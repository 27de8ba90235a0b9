// Random policies for a use: rules that the use meets, and some that are changed so that it often does not.

import { RULE_OPERATORS } from '../../../db/words.ts'
import { limitsFor } from './limits.ts'
import type { Call, Policy, Reading, Rule, Value } from './oracle.ts'
import type { Random } from './random.ts'

const spelled = (random: Random, integer: bigint): string => {
  if (integer < 0n || random.isLikely(70)) return String(integer)
  return random.one([`0x${integer.toString(16)}`, `0x${integer.toString(16).toUpperCase()}`, `00${integer}`])
}

const otherCase = (text: string): string => `0x${text.slice(2).toUpperCase()}`

const changedText = (random: Random, text: string): string =>
  random.one([
    text.slice(0, -1),
    `${text}0`,
    `${text} `,
    text.toUpperCase(),
    text.toLowerCase(),
    text.replace(/[0-9a-f](?=[^x]*$)/, '3'),
    '',
    '0',
    '1',
    '-1',
    '+1',
    '1e3',
    '0x',
    'true',
    'NaN',
  ])

/** A rule that a value meets. */
const metBy = (random: Random, argument: string, value: Value): Rule => {
  if (value.kind !== 'integer') {
    const isHex = value.kind === 'address' || value.kind === 'bytes'
    if (random.isLikely(15)) return { argument, operator: 'ne', value: changedText(random, value.text) }
    return { argument, operator: 'eq', value: isHex && random.isLikely(20) ? otherCase(value.text) : value.text }
  }
  const operator = random.one(RULE_OPERATORS)
  const near = { eq: 0n, ne: 1n, gt: -1n, ge: random.one([0n, -1n]), lt: 1n, le: random.one([0n, 1n]) }[operator]
  return { argument, operator, value: spelled(random, value.integer + near) }
}

const OTHER_NAMES = [
  'to',
  'value',
  'amount',
  'length',
  'function',
  'calls.length',
  'calls.0.function',
  'data',
  'dest',
  '0',
]

/** Off by one, or with the operator beside it. */
const shifted = (random: Random, rule: Rule): Rule => {
  const beside = { eq: 'eq', ne: 'ne', gt: 'ge', ge: 'gt', lt: 'le', le: 'lt' } as const
  if (random.isLikely(50)) return { ...rule, operator: beside[rule.operator] }
  return { ...rule, value: String(BigInt(rule.value) + random.one([1n, -1n])) }
}

const changed = (random: Random, rule: Rule): Rule => {
  const { argument, operator, value } = rule
  if (/^-?[0-9]+$/.test(value) && random.isLikely(70)) return shifted(random, rule)
  return random.one<() => Rule>([
    () => ({ ...rule, value: changedText(random, value) }),
    () => ({ ...rule, operator: random.one(RULE_OPERATORS) }),
    () => ({ argument, operator: operator === 'eq' ? 'ne' : 'eq', value }),
    () => ({ ...rule, argument: `decodedInput.${random.one(OTHER_NAMES)}` }),
    () => ({ ...rule, argument: argument.toUpperCase() }),
    () => ({ ...rule, argument: argument.replace(/[0-9]+/, (digits) => `0${digits}`) }),
    () => ({ ...rule, argument: argument.replace(/(?<=\.)([a-z])/, '_$1') }),
    () => ({ ...rule, argument: `${argument}.0` }),
    () => ({ ...rule, argument: argument.replace(/\.[^.]*$/, '') }),
  ])()
}

const ownArguments = (call: Call, reading: Reading | null): readonly (readonly [string, Value])[] => [
  ...(call.to === null
    ? []
    : ([
        ['to', { kind: call.to.startsWith('0x') ? 'address' : 'account', text: call.to }],
        ['value', { kind: 'integer', integer: call.value }],
      ] as const)),
  ...[...(reading?.values ?? [])].flatMap(([path, value]) =>
    value === null ? [] : [[`decodedInput.${path}`, value] as const],
  ),
]

/** What makes policies: readers of calls, of which the first is right and the others are mistaken. */
type Reader = (call: Call) => Reading | null
export type Readers = readonly [Reader, ...Reader[]]

const readingFor = (random: Random, [read, ...mistaken]: Readers, call: Call): Reading | null => {
  if (call.input === '0x') return null
  const right = read(call)
  if (right !== null && random.isLikely(70)) return right
  const others = mistaken.flatMap((each) => each(call) ?? [])
  return others.length === 0 ? right : random.one(others)
}

/** Rules that were made for a call, and mostly still fit it. */
const rulesFor = (random: Random, readers: Readers, call: Call): readonly Rule[] => {
  const reading = readingFor(random, readers, call)
  const known = ownArguments(call, reading)
  const about = random.some(known, random.one([0, 1, 1, 2, 3]))
  const isBound = call.to !== null && random.isLikely(50)
  const recipient: readonly Rule[] = isBound ? [{ argument: 'to', operator: 'eq', value: call.to ?? '' }] : []
  const rules = about.map(([argument, value]) => metBy(random, argument, value))
  const name = reading?.name ?? random.one(['transfer', 'balances.transfer_keep_alive'])
  const isWhole = reading?.signature !== undefined && random.isLikely(50)
  const naming: Rule = { argument: 'decodedInput.function', operator: 'eq', value: isWhole ? reading.signature : name }
  const isNamed = reading !== null ? !random.isLikely(8) : random.isLikely(8)
  const all = isNamed ? [...recipient, ...rules, naming] : [...recipient, ...rules]
  const drawn = all.map((rule) => (random.isLikely(5) ? changed(random, rule) : rule))
  return drawn.length > 0 ? drawn : [{ argument: 'value', operator: 'ge', value: '0' }]
}

const limited = (random: Random, calls: readonly Call[]): Omit<Policy, 'rules'> => {
  const total = calls.reduce((sum, { value }) => sum + value, 0n)
  const uses = random.below(3)
  const spentValue = BigInt(random.below(3)) * 10n ** 18n
  return {
    isExpired: random.isLikely(4),
    uses,
    maxUses: random.isLikely(80) ? null : uses + random.one([0, 1, 2]),
    spentValue,
    maxTotalValue: random.isLikely(80) ? null : spentValue + total + random.one(total === 0n ? [0n] : [0n, -1n, 1n]),
    limits: limitsFor(random, calls),
  }
}

/** Some policies of one wallet, oldest first, made for the calls of a use. */
export const policiesFor = (random: Random, readers: Readers, calls: readonly Call[]): readonly Policy[] => {
  return Array.from({ length: random.one([1, 1, 2, 3]) }, () => {
    const rules = rulesFor(random, readers, random.one(calls))
    return { rules, ...limited(random, calls) }
  })
}
