// Rules become what is judged when a policy is made: one function, with its selector and its arguments.
// property.test.ts draws them at random.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import {
  type AbiFunction,
  type Address,
  encodeFunctionData,
  type Hex,
  hexToBytes,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import type { AssetStandard } from '../../db/words.ts'
import type { AbiInput, AddedAbiItem, ReadCall } from '../../src/chains/chain.ts'
import { createEvmChain } from '../../src/chains/evm/chain.ts'
import { evmNetworkRow } from '../../src/platform/networks.ts'
import type { ArgumentRule } from '../../src/signing/policies/evaluate.ts'
import { compileRules } from '../../src/signing/policies/rules.ts'
import { startFakeNode } from '../chains/evm/fake-node.ts'
import { createMemory } from '../chains/evm/memory.ts'
import { fundedAccount } from '../support/chains.ts'
import { allowingPolicy, unrevokedOf } from './oracle/judge.ts'
import { NO_LIMITS } from './oracle/limits.ts'
import type { Policy } from './oracle/oracle.ts'

const TOKEN: Address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const OTHER: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const APPROVE = 'approve(address,uint256)'

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const node = startFakeNode({})
afterAll(() => node.stop())

/** What is known of functions; the node knows only the code of contracts. */
let items: readonly AddedAbiItem[] = []
let memory = createMemory()
const chainNow = () =>
  createEvmChain({
    ...{ row, rpcUrl: node.rpcUrl },
    memory: {
      ...memory,
      readAbiItems: async ({ selectors, name }) =>
        items.filter((each) => selectors.includes(each.selector) || each.name === name),
    },
  })

const standardOf = (address: string, standard: AssetStandard) =>
  memory.kept.set(address, { isContract: true, standard, name: '', symbol: '', decimals: 0 })

const codeIs = (...declarations: readonly string[]) =>
  node.behave(({ method }) => {
    if (method === 'eth_chainId') return { result: `0x${row.chainId.toString(16)}` }
    const pushes = declarations.map((each) => `63${toFunctionSelector(each).slice(2)}14`)
    return method === 'eth_getCode' ? { result: `0x6080${pushes.join('')}` } : undefined
  })

beforeEach(() => {
  items = []
  memory = createMemory()
  standardOf(TOKEN, 'other')
  standardOf(OTHER, 'other')
  codeIs()
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

const rule = (argument: string, operator: ArgumentRule['operator'], value: string): ArgumentRule => ({
  argument,
  operator,
  value,
})

const compiled = async (value: string, to: string | null, ...rules: readonly ArgumentRule[]) => {
  const of = to === null ? [] : [rule('to', 'eq', to)]
  const { rules: all } = await compileRules(chainNow(), [...of, rule('decodedInput.function', 'eq', value), ...rules])
  const { selector = '', declaration = '' } = all.find((each) => each.selector !== undefined) ?? {}
  return { selector, declaration }
}

const declared = async (value: string, to: string | null = TOKEN) => (await compiled(value, to)).declaration

/** The sentence of a refusal. */
const refusal = async (...input: Parameters<typeof compiled>): Promise<string> => {
  try {
    return `taken: ${(await compiled(...input)).declaration}`
  } catch (error) {
    return (error as Error).message
  }
}

const read = async (value: string, input: Hex, to: string | null = TOKEN): Promise<ReadCall | null> => {
  const { calls } = chainNow()
  if (calls.by !== 'declaration') throw new Error('expected an EVM network')
  return calls.readerOf(await compiled(value, to))?.read(input) ?? null
}

const ERC20 = parseAbi(['function transfer(address to, uint256 value)'])
const transfer = (to: Address, value: bigint) =>
  encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [to, value] })

describe('a function', () => {
  test('is compiled from its name or its whole signature, with its selector and its arguments', async () => {
    const expected = { selector: '0xa9059cbb', declaration: 'transfer(address to, uint256 value)' }
    for (const to of [null, TOKEN])
      for (const value of ['transfer', 'transfer(address,uint256)']) expect(await compiled(value, to)).toEqual(expected)
  })

  test('that is unknown needs its whole signature, and its arguments are numbered', async () => {
    expect(await refusal('knock', null)).toContain('not known: write its signature, such as knock(address,uint256)')
    const isUnknown = async (value: string) =>
      (await compileRules(chainNow(), [rule('decodedInput.function', 'eq', value)])).isFunctionUnknown
    expect(await isUnknown('knock(bytes32)')).toBe(true)
    expect(await isUnknown('transfer(address,uint256)')).toBe(false)
    expect(await declared('knock(uint256,(bool,string)[])')).toBe('knock(uint256, (bool, string)[])')
  })

  test.each([
    ['knock(uint)', 'must be written as knock(uint256)'],
    ['knock(uint256, bool)', 'must be written as knock(uint256,bool)'],
    ['knock(uint256 door)', 'must be written as knock(uint256)'],
    ['knock(uint255)', 'must be a function'],
    ['knock(tuple)', 'must be a function'],
    ['knock(uint256))', 'must be a function'],
    ['knock(()', 'must be a function'],
    ['knock(uint256,)', 'must be a function'],
    ['transfer to', 'must be a function'],
    ['', 'must be a function'],
  ])('is not %p', async (value, sentence) => {
    expect(await refusal(value, null)).toContain(sentence)
  })

  test('with overloads needs a whole signature, and the answer lists them', async () => {
    expect(await refusal('safeTransferFrom', null)).toBe(
      'Field "argument_rules.0.value" names several functions: write the one that is meant, of safeTransferFrom(address,address,uint256), safeTransferFrom(address,address,uint256,bytes), safeTransferFrom(address,address,uint256,uint256,bytes).',
    )
    standardOf(TOKEN, 'erc721')
    expect(await refusal('safeTransferFrom', TOKEN)).not.toContain('uint256,uint256,bytes')
    expect(await declared('safeTransferFrom(address,address,uint256)')).toBe(
      'safeTransferFrom(address from, address to, uint256 tokenId)',
    )
    standardOf(TOKEN, 'erc1155')
    expect(await declared('safeTransferFrom')).toBe(
      'safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
    )
  })

  test("with overloads is the only one whose selector is in the contract's code", async () => {
    standardOf(TOKEN, 'erc721')
    codeIs('function safeMint(address, string)', 'function mint(uint256, uint256)')
    expect(await declared('safeMint')).toBe('safeMint(address to, string uri)')
    expect(await refusal('safeMint', null)).toContain('several functions')
    codeIs('function safeMint(address, string)', 'function safeMint(address)')
    expect(await refusal('safeMint', TOKEN)).toContain('of safeMint(address), safeMint(address,string)')
  })

  test('comes from the ABI that the operator bound to the contract, not from its standard', async () => {
    standardOf(TOKEN, 'erc721')
    items = added(['function mint(address who, uint8 kind)'], TOKEN)
    expect(await declared('mint')).toBe('mint(address who, uint8 kind)')
    // For another contract it is one of many.
    expect(await refusal('mint', OTHER)).toContain('mint(address,uint8)')
    expect(await refusal('mint', null)).toContain('mint(address,uint8)')
  })

  test("has the argument names of the contract's own declaration, and numbers if there is none", async () => {
    const value = APPROVE
    const [erc20, erc721] = ['approve(address spender, uint256 value)', 'approve(address approved, uint256 tokenId)']
    expect(await declared(value)).toBe('approve(address, uint256)')
    standardOf(TOKEN, 'erc20')
    expect(await declared(value)).toBe(erc20)
    standardOf(TOKEN, 'erc721')
    expect(await declared(value)).toBe(erc721)
    items = added(['function approve(address _guy, uint256 wad)'], TOKEN)
    expect(await declared(value)).toBe('approve(address guy, uint256 wad)')
    expect(await declared(value, OTHER)).toBe('approve(address, uint256)')
  })

  test('has no argument name that two declarations give to different arguments', async () => {
    items = added([
      'function move(address one, address two, (uint8 amount, uint8 odd) how)',
      'function move(address two, address one, (uint8 amount, uint8 even) how)',
    ])
    expect(await declared('move')).toBe('move(address, address, (uint8 amount, uint8) how)')
  })

  test('is refused if another one with its selector is known, unless the contract decides', async () => {
    // Found by search: it has the selector of transfer.
    const colliding = 'function many_msg_babbage(bytes1)'
    expect(toFunctionSelector(colliding)).toBe('0xa9059cbb')
    for (const bound of [undefined, OTHER]) {
      items = added([colliding], bound)
      for (const value of ['transfer', 'transfer(address,uint256)', 'many_msg_babbage'])
        expect(await refusal(value, null)).toContain('has the selector of')
      expect(await refusal('transfer', OTHER)).toContain('has the selector of many_msg_babbage(bytes1)')
    }
    standardOf(TOKEN, 'erc20')
    expect(await declared('transfer')).toBe('transfer(address to, uint256 value)')
    items = added([colliding], TOKEN)
    expect(await refusal('transfer', TOKEN)).toContain('has the selector of many_msg_babbage(bytes1)')
    expect(await declared('many_msg_babbage')).toBe('many_msg_babbage(bytes1)')
  })

  test('can be sent in compiled form if that is correct', async () => {
    const [named] = (await compileRules(chainNow(), [rule('decodedInput.function', 'eq', 'transfer')])).rules
    if (named === undefined) throw new Error('expected a rule')
    const again = (other: Partial<ArgumentRule>) =>
      compileRules(chainNow(), [{ ...named, ...other }]).then(
        ({ rules: [compiledAgain] }) => compiledAgain,
        (error: Error) => error.message,
      )
    expect(await again({})).toEqual(named)
    expect(await again({ declaration: 'transfer(address value, uint256 to)' })).toBe(
      'Field "argument_rules.0.declaration" must be transfer(address to, uint256 value) here, or absent.',
    )
    expect(await again({ selector: '0x00000000' })).toContain('must be 0xa9059cbb here')
    const other = { ...rule('value', 'eq', '0'), selector: '0xa9059cbb' }
    expect(await compileRules(chainNow(), [other]).catch((error: Error) => error.message)).toContain('has no meaning')
  })

  test('can be named once in a policy, and rules on arguments need it', async () => {
    expect(await refusal('transfer', null, rule('decodedInput.function', 'eq', 'approve'))).toContain(
      'a policy may have only one',
    )
    const without = [rule('decodedInput.value', 'le', '1')]
    const sentence = await compileRules(chainNow(), without).then(
      () => 'taken',
      (error: Error) => error.message,
    )
    expect(sentence).toContain('needs another rule that names the function')
  })
})

describe('a rule on an argument', () => {
  const DECLARATION =
    'function place((address maker, int128 amount, bytes4 tag, bool open, string note, uint8[] ids) _order, bytes data, address[2] parties)'

  test.each([
    ['order.maker', 'eq', OTHER, null],
    ['order.maker', 'eq', '5Dfhf', 'an address'],
    ['order.maker', 'ne', '14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q', 'an address'],
    ['order.maker', 'lt', '5', 'must be eq or ne'],
    ['order.amount', 'gt', '-5', null],
    ['order.amount', 'eq', 'five', 'an integer'],
    ['order.tag', 'eq', '0x01020304', null],
    ['order.tag', 'eq', '0x0', 'pairs of hex digits'],
    ['order.open', 'eq', 'true', null],
    ['order.open', 'eq', '1', 'true or false'],
    ['order.note', 'ne', 'any', null],
    ['order.ids.length', 'le', '3', null],
    ['order.ids.7', 'eq', '3', null],
    ['order.ids.07', 'eq', '3', 'must be an argument of the function: its arguments are order, data, parties'],
    ['order.ids', 'eq', '3', 'must be an argument'],
    ['_order.__maker', 'eq', OTHER, null],
    ['order', 'eq', '3', 'must be an argument'],
    ['parties.1', 'eq', OTHER, null],
    ['parties.2', 'eq', OTHER, 'must be an argument'],
    ['2.1', 'eq', OTHER, 'must be an argument'],
    ['data.length', 'eq', '3', 'must be an argument'],
    ['nothing', 'ne', '3', 'must be an argument'],
  ] as const)('%p %s %p', async (argument, operator, value, sentence) => {
    items = added([DECLARATION])
    const said = await refusal('place', null, rule(`decodedInput.${argument}`, operator, value))
    if (sentence === null) expect(said).toStartWith('taken')
    else expect(said).toContain(sentence)
  })
})

describe('call data is read', () => {
  const value = (call: ReadCall | null, name: string) => call?.values.get(name)?.value ?? null

  test('by the function of the rule, with values by name', async () => {
    const call = await read('transfer', transfer(OTHER, 7n))
    expect([call?.functionName, call?.signature]).toEqual(['transfer', 'transfer(address,uint256)'])
    expect([value(call, 'to'), value(call, 'value')]).toEqual([OTHER, 7n])
    expect(await read(APPROVE, transfer(OTHER, 7n))).toBeNull()
  })

  test('with the length of a list, so that a rule can limit it', async () => {
    const declarations = ['function place((address maker, uint8[] ids) _order, (bool, string key) how)']
    items = added(declarations)
    const abi = parseAbi(declarations)
    const placed = [{ maker: OTHER, ids: [3, 2] }, [true, 'k']]
    const call = await read('place', encodeFunctionData({ abi, args: placed as never }))
    expect([value(call, 'order.ids.length'), value(call, 'order.ids.1')]).toEqual([2n, 2n])
    expect([value(call, 'how.0'), value(call, 'how.key')]).toEqual(['true', 'k'])
  })

  test.each([
    ['nothing behind the selector', '0xa9059cbb'],
    ['a byte too many', `${transfer(OTHER, 7n)}00`],
    ['a word too many', `${transfer(OTHER, 7n)}${'00'.repeat(32)}`],
    ['a byte too few', transfer(OTHER, 7n).slice(0, -2)],
    ['dirt above the address', transfer(OTHER, 7n).replace('0xa9059cbb00', '0xa9059cbb01')],
    ['another selector', '0x12345678'],
    ['no selector', '0x1234'],
    ['nothing', '0x'],
  ] as const)('not at all with %s', async (_what, data) => {
    expect(await read('transfer', data as Hex)).toBeNull()
  })

  test('by the agreed function, even if an ABI is added later', async () => {
    const { calls } = chainNow()
    if (calls.by !== 'declaration') throw new Error('expected an EVM network')
    const agreed = await compiled('transfer', TOKEN)
    items = added(['function transfer(address value, uint256 to)', 'function many_msg_babbage(bytes1)'], TOKEN)
    standardOf(TOKEN, 'erc721')
    const call = calls.readerOf(agreed)?.read(transfer(OTHER, 7n)) ?? null
    expect([value(call, 'to'), value(call, 'value')]).toEqual([OTHER, 7n])
  })
})

test('if two policies name the arguments of a function differently, each is judged by its own names', async () => {
  standardOf(TOKEN, 'erc20')
  standardOf(OTHER, 'erc721')
  const chain = chainNow()
  const policyOf = (to: string, argument: string): Policy => ({
    rules: [rule('to', 'eq', to), rule('decodedInput.function', 'eq', APPROVE), rule(argument, 'eq', '5')],
    isExpired: false,
    uses: 0,
    maxUses: null,
    spentValue: 0n,
    maxTotalValue: null,
    limits: NO_LIMITS,
  })
  const policies = [policyOf(TOKEN, 'decodedInput.value'), policyOf(OTHER, 'decodedInput.tokenId')]
  const use = {
    chain,
    publicKey: hexToBytes(fundedAccount(3).publicKey),
    unrevoked: await unrevokedOf({ chain, policies }),
  }
  const abi = parseAbi(['function approve(address, uint256)'])
  const call = (to: string, amount: bigint) => ({
    to,
    value: 0n,
    input: encodeFunctionData({ abi, args: [TOKEN, amount] }),
  })
  expect(await allowingPolicy(use, [call(TOKEN, 5n)])).toBe(0)
  expect(await allowingPolicy(use, [call(OTHER, 5n)])).toBe(1)
  expect(await allowingPolicy(use, [call(OTHER, 6n)])).toBeNull()
})
