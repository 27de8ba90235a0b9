// Rules and the reading of call data, by examples. property.test.ts draws both at random.

import { describe, expect, test } from 'bun:test'
import { type AbiFunction, type Address, encodeFunctionData, type Hex, parseAbi, toFunctionSelector } from 'viem'
import type { AssetStandard } from '../../db/words.ts'
import { RULE_OPERATORS } from '../../db/words.ts'
import type { AbiInput, AddedAbiItem, CallValue, ReadCall } from '../../src/chains/chain.ts'
import { readCall } from '../../src/chains/evm/read-call.ts'
import { type ArgumentRule, type CheckedTransaction, mismatchOf } from '../../src/policies/evaluate.ts'
import { matches } from '../support/rules.ts'

const TOKEN: Address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const OTHER: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

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
