// The evaluator against a simple reference with another decoder (viem's) and another comparison, written from the description.

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type AbiFunction,
  type Address,
  decodeFunctionData,
  encodeFunctionData,
  type Hex,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import type { AssetStandard } from '../../db/words.ts'
import { RULE_OPERATORS } from '../../db/words.ts'
import type { AbiInput, AddedAbiItem, CallValue, ReadCall } from '../../src/chains/chain.ts'
import { readCall } from '../../src/chains/evm/read-call.ts'
import { type ArgumentRule, type CheckedTransaction, mismatchOf } from '../../src/policies/evaluate.ts'
import { matches } from '../support/rules.ts'

const RUNS = 1_500
const TOKEN: Address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const OTHER: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const ADDRESSES = [TOKEN, OTHER, '0x00000000000000000000000000000000000000aa'] as const

const rule = (argument: string, operator: ArgumentRule['operator'], value: string): ArgumentRule => ({
  argument,
  operator,
  value,
})

type Parameter = {
  readonly name?: string | undefined
  readonly type: string
  readonly components?: readonly Parameter[]
}

const inputOf = ({ name = '', type, components }: Parameter): AbiInput => ({
  name,
  type,
  ...(components === undefined ? {} : { components: components.map(inputOf) }),
})

/** The ABI items that the operator added, by declaration. */
const added = (declarations: readonly string[], to?: string): readonly AddedAbiItem[] =>
  (parseAbi(declarations) as readonly AbiFunction[]).map((item) => ({
    name: item.name,
    inputs: item.inputs.map(inputOf),
    selector: toFunctionSelector(item),
    isGeneral: to === undefined,
    addresses: to === undefined ? [] : [to],
  }))

const read = (
  input: Hex,
  known: { readonly items?: readonly AddedAbiItem[]; readonly standard?: AssetStandard; readonly to?: string } = {},
): Promise<ReadCall | null> => {
  const { items = [], standard = 'other', to = TOKEN } = known
  const fact = { isContract: true, standard, name: '', symbol: '', decimals: 0 }
  return readCall(
    {
      network: 'Ethereum',
      memory: { readAbiItems: async ({ selectors }) => items.filter(({ selector }) => selectors.includes(selector)) },
      facts: async (addresses) => new Map(addresses.map((address) => [address, fact])),
    },
    { to, input },
  )
}

const judged = (call: ReadCall | null, rest: Partial<CheckedTransaction> = {}): CheckedTransaction => ({
  ...{ to: TOKEN, value: 0n, call, isCall: call !== null },
  ...rest,
})

const ERC20 = parseAbi([
  'function transfer(address to, uint256 value)',
  'function approve(address spender, uint256 value)',
])
const transfer = (to: Address, value: bigint) =>
  encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [to, value] })
const approve = (to: Address, value: bigint) =>
  encodeFunctionData({ abi: ERC20, functionName: 'approve', args: [to, value] })

const ODD = [
  'struct Order { address maker; int128 amount; bytes4 tag; bool open; string note; uint8[] ids; }',
  'function place(Order _order, bytes data, address[2] parties)',
]

// The reference.

const KNOWN: readonly AbiFunction[] = [ERC20[0], ...(parseAbi(ODD) as readonly AbiFunction[])]

type Found = { readonly type: string; readonly value: unknown }

const decoded = (input: Hex): { readonly item: AbiFunction; readonly args: readonly unknown[] } | null => {
  for (const item of KNOWN) {
    if (!input.startsWith(toFunctionSelector(item))) continue
    try {
      const { args = [] } = decodeFunctionData({ abi: [item], data: input })
      return encodeFunctionData({ abi: [item], args }) === input ? { item, args } : null
    } catch {
      return null
    }
  }
  return null
}

const at = (
  parameters: readonly Parameter[],
  values: unknown,
  [name = '', ...rest]: readonly string[],
): Found | null => {
  const index = parameters.findIndex((each) => each.name?.replace(/^_/, '') === name.replace(/^_/, ''))
  const parameter = parameters[index]
  if (parameter === undefined) return null
  const own = Array.isArray(values) ? values[index] : (values as Record<string, unknown>)[parameter.name ?? '']
  return deeper(parameter, own, rest)
}

const deeper = (parameter: Parameter, value: unknown, path: readonly string[]): Found | null => {
  const { type, components = [] } = parameter
  const [index, ...rest] = path
  if (type.endsWith(']')) {
    const item =
      index !== undefined && /^(0|[1-9][0-9]*)$/.test(index) ? (value as unknown[])[Number(index)] : undefined
    return item === undefined ? null : deeper({ ...parameter, type: type.replace(/\[[0-9]*\]$/, '') }, item, rest)
  }
  if (type === 'tuple') return at(components, value, path)
  return index === undefined ? { type, value } : null
}

const found = ({ argument }: ArgumentRule, { to, value, input }: Sent): Found | null => {
  if (argument === 'to') return { type: 'address', value: to }
  if (argument === 'value') return { type: 'uint256', value }
  const call = decoded(input)
  if (call === null) return null
  const path = argument.split('.').slice(1)
  return path.join() === 'function' ? { type: 'string', value: call.item.name } : at(call.item.inputs, call.args, path)
}

const agrees = (each: ArgumentRule, sent: Sent): boolean => {
  const argument = found(each, sent)
  if (argument === null) return false
  const [has, wants] = [String(argument.value), each.value]
  const isEquality = each.operator === 'eq' || each.operator === 'ne'
  if (argument.type.includes('int')) {
    if (!/^(-?\d+|0x[\da-f]+)$/i.test(wants)) return false
    const difference = BigInt(has) - BigInt(wants)
    return {
      eq: difference === 0n,
      ne: difference !== 0n,
      gt: difference > 0n,
      ge: difference >= 0n,
      lt: difference < 0n,
      le: difference <= 0n,
    }[each.operator]
  }
  if (!isEquality) return false
  if (argument.type === 'address' && !/^0x[\da-f]{40}$/i.test(wants)) return false
  if (argument.type.startsWith('bytes') && !/^0x([\da-f]{2})*$/i.test(wants)) return false
  if (argument.type === 'bool' && wants !== 'true' && wants !== 'false') return false
  const same = argument.type === 'string' ? has === wants : has.toLowerCase() === wants.toLowerCase()
  return each.operator === 'eq' ? same : !same
}

// Random transactions and rules from a small set of values, so that they often match.

type Sent = { readonly to: Address; readonly value: bigint; readonly input: Hex }

const address = fc.constantFrom(...ADDRESSES)
const small = fc.bigInt({ min: -2n, max: 3n })
const natural = fc.bigInt({ min: 0n, max: 3n })
const texts = fc.constantFrom('', 'a', 'A', '1', '0x01', 'transfer')
const hexBytes = fc.constantFrom('0x', '0x01', '0xab', '0xabcd')

const order = fc.record({
  maker: address,
  amount: small,
  tag: fc.constantFrom('0x00000001', '0xabcdef00'),
  open: fc.boolean(),
  note: texts,
  ids: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
})

const call: fc.Arbitrary<Hex> = fc.oneof(
  fc.tuple(address, natural).map(([to, value]) => transfer(to, value)),
  fc
    .tuple(order, hexBytes, fc.tuple(address, address))
    .map((args) => encodeFunctionData({ abi: parseAbi(ODD) as readonly AbiFunction[], functionName: 'place', args })),
)

/** Unchanged, cut, extended, or with one byte changed. */
const input: fc.Arbitrary<Hex> = fc.oneof(
  { weight: 6, arbitrary: call },
  { weight: 2, arbitrary: fc.constant<Hex>('0x') },
  { weight: 1, arbitrary: fc.constantFrom<Hex>('0xdeadbeef', '0xa9059cbb') },
  { weight: 1, arbitrary: fc.tuple(call, fc.nat()).map(([data, cut]) => data.slice(0, 2 + 2 * (cut % 40)) as Hex) },
  { weight: 1, arbitrary: fc.tuple(call, hexBytes).map(([data, more]) => `${data}${more.slice(2)}` as Hex) },
  {
    weight: 2,
    arbitrary: fc.tuple(call, fc.nat(), fc.constantFrom('00', '01', 'ff')).map(([data, place, byte]) => {
      const from = 10 + 2 * (place % ((data.length - 10) / 2))
      return `${data.slice(0, from)}${byte}${data.slice(from + 2)}` as Hex
    }),
  },
)

const paths = [
  'to',
  'value',
  'decodedInput.function',
  'decodedInput.to',
  'decodedInput._to',
  'decodedInput.value',
  'decodedInput.order',
  'decodedInput.order.maker',
  'decodedInput.order.amount',
  'decodedInput.order.tag',
  'decodedInput.order.open',
  'decodedInput.order.note',
  'decodedInput.order.ids',
  'decodedInput.order.ids.0',
  'decodedInput.order.ids.1',
  'decodedInput.order.ids.01',
  'decodedInput.data',
  'decodedInput.parties.1',
  'decodedInput.parties.2',
  'decodedInput.nothing',
]

const named = fc.oneof(
  small.map(String),
  natural.map((value) => `0x${value.toString(16)}`),
  address.chain((each) => fc.constantFrom(each, each.toLowerCase(), `0x${each.slice(2).toUpperCase()}`)),
  texts,
  hexBytes,
  fc.constantFrom('true', 'false', 'place', '0xABCDEF00', '0x00000001', '0xABCD', '1.0', ' 1', '1e0', '+1'),
)

const mostlyOne = <Item>(item: fc.Arbitrary<Item>) =>
  fc.oneof({ weight: 3, arbitrary: item.map((one) => [one]) }, { weight: 2, arbitrary: fc.tuple(item, item) })

const rules = mostlyOne(
  fc.record({
    argument: fc.oneof(fc.constantFrom(...paths), fc.constantFrom(...paths.slice(0, 4))),
    operator: fc.oneof(fc.constant('eq' as const), fc.constantFrom(...RULE_OPERATORS)),
    value: named,
    /** The value is the first transaction's, if it has one. */
    isIts: fc.constantFrom(true, true, false),
  }),
)
const sent = fc.record({ to: address, value: natural, input })
/** Longer batches repeat some elements; otherwise rules would hardly ever match all. */
const alike = fc.tuple(sent, sent).chain((pair) => fc.array(fc.constantFrom(...pair), { minLength: 3, maxLength: 5 }))
const sents = fc.oneof({ weight: 5, arbitrary: mostlyOne(sent) }, { weight: 1, arbitrary: alike })

/** Add a rule on the function, because without one call data is hardly ever allowed. */
const isNamedMostly = fc.constantFrom(true, true, true, true, false)

test("random rules on random transactions give the reference's result", async () => {
  const items = added(ODD)
  let [agreed, refused] = [0, 0]
  await fc.assert(
    fc.asyncProperty(rules, sents, isNamedMostly, async (drawn, transactions, isNamed) => {
      const [firstOne] = transactions
      const own = firstOne === undefined ? undefined : decoded(firstOne.input)?.item.name
      const naming: ArgumentRule = { argument: 'decodedInput.function', operator: 'eq', value: own ?? '' }
      const free = drawn.map(({ isIts, ...each }) => {
        const its = transactions[0] === undefined || !isIts ? null : found({ ...each }, transactions[0])
        return its === null || typeof its.value === 'object' ? each : { ...each, value: String(its.value) }
      })
      const all = isNamed && own !== undefined ? [...free, naming] : free
      // Call data needs a rule on the function, even if all other rules match.
      const isFree = transactions.every((each) => each.input === '0x')
      const names = all.some((one) => one.argument === 'decodedInput.function' && one.operator === 'eq')
      const expected = (isFree || names) && transactions.every((each) => all.every((one) => agrees(one, each)))
      const read_ = await Promise.all(
        transactions.map(async ({ to, value, input: data }) => ({
          to,
          value,
          isCall: data !== '0x',
          call: await read(data, { items, to }),
        })),
      )
      if (expected) agreed += 1
      else refused += 1
      expect(matches(all, read_)).toBe(expected)
    }),
    { numRuns: RUNS, seed: 20_250_102 },
  )
  // Both outcomes are common.
  expect(Math.min(agreed, refused)).toBeGreaterThan(RUNS / 20)
})

describe('rules', () => {
  const plain = judged(null, { value: 100n })

  test('must all match, for every transaction', () => {
    const [yes, no] = [rule('value', 'le', '100'), rule('value', 'lt', '100')]
    expect(mismatchOf([yes], [plain])).toBe(null)
    expect(mismatchOf([yes, no], [plain])).toBe(1)
    expect(mismatchOf([yes], [plain, judged(null, { value: 101n })])).toBe(0)
    expect(matches([], [plain])).toBe(false)
    expect(matches([yes], [])).toBe(false)
  })

  test('never match a contract creation', () => {
    expect(matches([rule('value', 'ge', '0')], [judged(null, { to: null })])).toBe(false)
  })

  test('never match call data without a rule on its function, readable or not', () => {
    const call: ReadCall = { functionName: 'f', values: new Map([['a', { kind: 'integer', value: 1n }]]) }
    const anything = [rule('value', 'ge', '0'), rule('to', 'eq', TOKEN)]
    for (const each of [judged(call), judged(null, { isCall: true })]) {
      expect(matches(anything, [each])).toBe(false)
      expect(matches([...anything, rule('decodedInput.function', 'ne', 'g')], [each])).toBe(false)
      // One such transaction in a batch is enough for a refusal.
      expect(matches(anything, [plain, each])).toBe(false)
    }
    expect(matches([...anything, rule('decodedInput.a', 'eq', '1')], [judged(call)])).toBe(false)
    const named = [...anything, rule('decodedInput.function', 'eq', 'f')]
    expect(matches(named, [judged(call)])).toBe(true)
    expect(matches(named, [judged(null, { isCall: true })])).toBe(false)
    expect(matches(named, [judged(call), plain])).toBe(false)
  })

  test.each([
    ['100', 'eq', true],
    ['0x64', 'eq', true],
    ['0100', 'eq', true],
    ['0x64', 'ne', false],
    ['99', 'gt', true],
    ['100', 'gt', false],
    ['100', 'ge', true],
    ['101', 'lt', true],
    ['100', 'lt', false],
    ['100', 'le', true],
    ['-1', 'gt', true],
    ['9', 'lt', false],
    ['1e2', 'ge', false],
    ['100 ', 'ne', false],
    ['', 'ne', false],
    ['a hundred', 'ne', false],
  ] as const)('compare integers: 100 with %p by %s is %p', (value, operator, expected) => {
    expect(matches([rule('value', operator, value)], [plain])).toBe(expected)
  })

  test('compare addresses case-insensitively, and only for equality', () => {
    for (const value of [TOKEN, TOKEN.toLowerCase(), `0x${TOKEN.slice(2).toUpperCase()}`]) {
      expect(matches([rule('to', 'eq', value)], [plain])).toBe(true)
      expect(matches([rule('to', 'ne', value)], [plain])).toBe(false)
      for (const operator of ['gt', 'ge', 'lt', 'le'] as const)
        expect(matches([rule('to', operator, value)], [plain])).toBe(false)
    }
    expect(matches([rule('to', 'ne', OTHER)], [plain])).toBe(true)
    expect(matches([rule('to', 'ne', 'nobody')], [plain])).toBe(false)
  })

  test.each([
    ['tag', '0xABcdef00', true],
    ['tag', '0xabcdef01', false],
    ['tag', 'abcdef00', null],
    ['tag', '0xabcdef0', null],
    ['open', 'true', true],
    ['open', 'false', false],
    ['open', '1', null],
    ['note', 'Text', true],
    ['note', 'text', false],
    ['note', '', false],
    ['_maker', TOKEN, true],
    ['maker', OTHER, false],
    ['order.__inner', '-3', true],
    ['order._inner', '3', false],
    ['order', '3', null],
    ['nothing', '3', null],
  ] as const)('compare by kind of value: %s with %p is %p', (path, value, equal) => {
    const values = new Map<string, CallValue>([
      ['tag', { kind: 'bytes', value: '0xabcdef00' }],
      ['open', { kind: 'bool', value: 'true' }],
      ['note', { kind: 'text', value: 'Text' }],
      ['maker', { kind: 'address', value: TOKEN }],
      ['order.inner', { kind: 'integer', value: -3n }],
    ])
    const transaction = judged({ functionName: 'f', values })
    // null: neither equal nor unequal, because the kinds differ.
    const named = rule('decodedInput.function', 'eq', 'f')
    expect(matches([named, rule(`decodedInput.${path}`, 'eq', value)], [transaction])).toBe(equal === true)
    expect(matches([named, rule(`decodedInput.${path}`, 'ne', value)], [transaction])).toBe(equal === false)
  })

  test('on call data never match if there is none, `ne` included', () => {
    for (const operator of RULE_OPERATORS) {
      expect(matches([rule('decodedInput.function', operator, 'burn')], [plain])).toBe(false)
      expect(matches([rule('decodedInput.value', operator, '7')], [plain])).toBe(false)
    }
  })
})

describe('call data is read', () => {
  const value = (call: ReadCall | null, name: string) => call?.values.get(name)?.value ?? null

  test('by its one known signature, with values by name', async () => {
    const call = await read(transfer(OTHER, 7n))
    expect(call?.functionName).toBe('transfer')
    expect([value(call, 'to'), value(call, 'value')]).toEqual([OTHER, 7n])
  })

  test('with the length of a list, so that a rule can limit it', async () => {
    const placed = { maker: OTHER, amount: 1n, tag: '0x00000000', open: true, note: '', ids: [3, 2] }
    const abi = parseAbi(ODD) as readonly AbiFunction[]
    const data = encodeFunctionData({ abi, functionName: 'place', args: [placed, '0x', [TOKEN, OTHER]] })
    const call = await read(data, { items: added(ODD) })
    expect([value(call, 'order.ids.length'), value(call, 'order.ids.1')]).toEqual([2n, 2n])
  })

  test.each([
    ['nothing behind the selector', '0xa9059cbb'],
    ['a byte too many', `${transfer(OTHER, 7n)}00`],
    ['a word too many', `${transfer(OTHER, 7n)}${'00'.repeat(32)}`],
    ['a byte too few', transfer(OTHER, 7n).slice(0, -2)],
    ['dirt above the address', transfer(OTHER, 7n).replace('0xa9059cbb00', '0xa9059cbb01')],
    ['an unknown selector', '0x12345678'],
    ['no selector', '0x1234'],
    ['nothing', '0x'],
  ] as const)('not at all with %s', async (_what, data) => {
    expect(await read(data as Hex)).toBeNull()
  })

  test('not for a contract creation', async () => {
    const context = {
      network: 'Ethereum',
      memory: { readAbiItems: async () => [] },
      facts: async () => new Map(),
    } as const
    expect(await readCall(context, { to: null, input: transfer(OTHER, 7n) })).toBeNull()
  })

  test('not if the operator has added another signature with the selector, for any contract', async () => {
    // Found by search: it has the selector of transfer.
    const colliding = 'function many_msg_babbage(bytes1)'
    expect(toFunctionSelector(colliding)).toBe('0xa9059cbb')
    expect(await read(transfer(OTHER, 7n), { items: added([colliding]) })).toBeNull()
    expect(await read(transfer(OTHER, 7n), { items: added([colliding], OTHER) })).toBeNull()
    expect(await read(transfer(OTHER, 7n), { items: added(['function other(bytes1)']) })).not.toBeNull()
    // The arguments fit both signatures.
    const fitting = added(['function other(bytes32, int256)'], OTHER).map((item) => ({
      ...item,
      selector: '0xa9059cbb',
    }))
    expect(await read(transfer(OTHER, 7n), { items: fitting })).toBeNull()
    expect(await read(transfer(OTHER, 7n), { items: fitting, to: OTHER })).toBeNull()
  })

  test('with the ABIs that the operator added, for any contract', async () => {
    const abi = parseAbi(['function open(uint256 _door, (bool, string key) how)'])
    const data = encodeFunctionData({ abi, args: [5n, [true, 'k']] as never })
    const declared = ['function open(uint256 _door, (bool, string key) how)']
    expect(await read(data)).toBeNull()
    for (const to of [undefined, TOKEN, OTHER]) {
      const call = await read(data, { items: added(declared, to) })
      expect(call?.functionName).toBe('open')
      expect([value(call, 'door'), value(call, 'how.0'), value(call, 'how.key')]).toEqual([5n, 'true', 'k'])
    }
  })

  test("with the called contract's own names if declarations of one signature differ in names", async () => {
    const data = approve(OTHER, 7n)
    const names = async (known: Parameters<typeof read>[1]) => [...((await read(data, known))?.values.keys() ?? [])]
    expect(await names({ standard: 'erc20' })).toEqual(['spender', 'value'])
    expect(await names({ standard: 'erc721' })).toEqual(['approved', 'tokenId'])
    // It is unknown which declaration is right, so neither name matches.
    expect(await names({ standard: 'other' })).toEqual([])
    const bound = added(['function approve(address guy, uint256 wad)'], TOKEN)
    expect(await names({ standard: 'erc20', items: bound })).toEqual(['guy', 'wad'])
    expect(await names({ standard: 'erc20', items: bound, to: OTHER })).toEqual(['spender', 'value'])
  })

  test('and a name that two declarations give to different values matches nothing', async () => {
    const items = added([
      'function move(address one, address two, uint8 amount)',
      'function move(address two, address one, uint8 amount)',
    ])
    const data = encodeFunctionData({
      abi: parseAbi(['function move(address, address, uint8)']),
      args: [TOKEN, OTHER, 1],
    })
    expect([...((await read(data, { items }))?.values.keys() ?? [])]).toEqual(['amount'])
  })
})
